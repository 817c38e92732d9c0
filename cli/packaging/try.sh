#!/usr/bin/env bash
# Installs each thing that cli/packaging/dist.sh made, away from this machine's own, and has it report a crash.
#   cli/packaging/try.sh FOLDER
set -euo pipefail
dist=$(realpath "$1")
house=$(mktemp -d)
trap 'rm -rf "$house"' EXIT
export HOME=$house XDG_STATE_HOME=$house/state XDG_CACHE_HOME=$house/cache XDG_CONFIG_HOME=$house/config
unset "${!WHYCRASH_@}" PYTHONPATH
say() { printf 'dist: %s\n' "$*" >&2; }

cat >"$house/crash.py" <<'PYTHON'
import ctypes, sys
if "install" in sys.argv:
    import whycrash
    whycrash.install("--output", sys.argv[2], "--wait", "60s")
print("about to read", flush=True)
ctypes.string_at(0)
PYTHON

# reported NAME REPORT SAID COMMAND…: it ends by SIGSEGV, keeps a report and, if it diagnoses, says why.
reported() {
  local name=$1 report=$2 said=$3 status=0
  shift 3
  "$@" >"$house/out" 2>"$house/err" || status=$?
  if [ $status != 139 ] || ! grep -q SIGSEGV "$report/context.json" || ! grep -q "$said" "$house/err"; then
    say "$name: ended with $status, and not with a report of it:"
    cat "$house/err" >&2
    return 1
  fi
  say "$name reports a crash"
}

# The program of a package, in a root of its own.
for deb in "$dist"/*.deb; do
  name=$(basename "$deb" | cut -d_ -f1)
  root=$house/$name
  dpkg --extract "$deb" "$root"
  "$root/usr/bin/whycrash" --version | grep -q '^whycrash '
  gzip -t "$root"/usr/share/man/man1/whycrash-run.1.gz
  bash -n "$root/usr/share/bash-completion/completions/whycrash"
  said=$([ "$name" = whycrash ] && echo ctypes || echo 'Kept in')
  reported "$(basename "$deb")" "$house/report-$name" "$said" \
    "$root/usr/bin/whycrash" run --wait 60s --output "$house/report-$name" -- python3 "$house/crash.py"
done
for tarball in "$dist"/*.tar.zst; do
  mkdir "$house/tarball" && tar --extract --file "$tarball" -C "$house/tarball" --strip-components=1
  "$house/tarball/bin/whycrash" licenses --format json >/dev/null
  rm -r "$house/tarball"
  say "$(basename "$tarball") runs"
done

wheel=$(echo "$dist"/*.whl)
python3 -m venv "$house/venv"
"$house/venv/bin/pip" install --quiet --disable-pip-version-check --no-index "$wheel"
reported "$(basename "$wheel")" "$house/by-command" ctypes \
  "$house/venv/bin/whycrash" run --wait 60s --output "$house/by-command" -- "$house/venv/bin/python" "$house/crash.py"
reported 'whycrash.install()' "$house/by-code" ctypes \
  "$house/venv/bin/python" "$house/crash.py" install "$house/by-code"
