#!/usr/bin/env bash
# Makes what is handed out, in target/dist: a tarball and a Debian package of the whole program and of the collector
# alone, and a Python wheel of the whole; then tries each.
#
# The programs are linked for this machine's glibc, or for the one that GLIBC names, such as 2.28: that takes zig's linker,
# which comes from PyPI into target/dist/tools, and knows which functions each version has.
set -euo pipefail
cd "$(dirname "$0")/../.."
GLIBC=${GLIBC:-native}
target=${CARGO_TARGET_DIR:-$PWD/target}
dist=$target/dist
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
machine=$(uname -m)
say() { printf 'dist: %s\n' "$*" >&2; }

# What a stripped program may take, in MiB: a little more than it does, so that growth is seen.
declare -A most=([whycrash]=25 [whycrash-collector]=8)
declare -A features=([whycrash]="" [whycrash-collector]=--no-default-features)
declare -A about=(
  [whycrash]='says why a GPU training job crashed, with proof'
  [whycrash-collector]='keeps and sends what a GPU training job leaves when it crashes'
)

tools() {
  [ -x "$dist/tools/bin/pip" ] || python3 -m venv "$dist/tools"
  [ $# -eq 0 ] || "$dist/tools/bin/pip" install --quiet --disable-pip-version-check "$@"
}

# build NAME: the program, stripped, in $dist/NAME/whycrash.
build() {
  local arguments=(--profile packaging --locked -p whycrash --bin whycrash) link=()
  [ -z "${features[$1]}" ] || arguments+=("${features[$1]}")
  [ "$GLIBC" = native ] || link=(-C "linker=$dist/tools/cc")
  # What stands behind -- is for the program alone, so that both share what they are built of.
  cargo rustc "${arguments[@]}" -- "${link[@]}"
  install -D -m 755 "$target/packaging/whycrash" "$dist/$1/whycrash"
}

# check NAME: its size, and what it asks of the machine.
check() {
  local program=$dist/$1/whycrash bytes
  bytes=$(stat -c %s "$program")
  say "$1: $((bytes >> 10)) KiB, needs glibc $(cli/packaging/glibc.sh "$program" "${GLIBC/native/}")"
  [ "$bytes" -le $((most[$1] << 20)) ] || { say "$1 takes more than ${most[$1]} MiB"; return 1; }
}

# tree NAME: what is installed below /usr, in $dist/NAME/tree.
tree() {
  local tree=$dist/$1/tree program=$dist/$1/whycrash shell
  rm -rf "$tree"
  install -D -m 755 -t "$tree/bin" "$program"
  "$program" man --to "$tree/share/man/man1"
  gzip -9n "$tree"/share/man/man1/*
  declare -A place=(
    [bash]=bash-completion/completions/whycrash [zsh]=zsh/vendor-completions/_whycrash
    [fish]=fish/vendor_completions.d/whycrash.fish
  )
  for shell in "${!place[@]}"; do
    mkdir -p "$(dirname "$tree/share/${place[$shell]}")"
    "$program" completions "$shell" >"$tree/share/${place[$shell]}"
  done
  install -D -m 644 -t "$tree/share/doc/$1" README.md LICENSE-MIT LICENSE-APACHE docs/collector.md
  "$program" licenses >"$tree/share/doc/$1/copyright"
  "$program" licenses --format cyclonedx >"$tree/share/doc/$1/sbom.cdx.json"
}

tarball() {
  tar --create --zstd --owner=0 --group=0 --sort=name --transform "s|^\.|$1-$version-$machine|" \
    --file "$dist/$1-$version-$machine.tar.zst" -C "$dist/$1/tree" .
}

deb() {
  local root=$dist/$1/deb architecture other needed
  architecture=$(dpkg --print-architecture)
  needed=$(cli/packaging/glibc.sh "$dist/$1/whycrash")
  other=$([ "$1" = whycrash ] && echo whycrash-collector || echo whycrash)
  rm -rf "$root"
  mkdir -p "$root/DEBIAN" "$root/usr"
  cp -r "$dist/$1/tree/." "$root/usr"
  cat >"$root/DEBIAN/control" <<CONTROL
Package: $1
Version: $version
Architecture: $architecture
Maintainer: The whycrash authors <whycrash@example.org>
Installed-Size: $(du -sk "$root/usr" | cut -f1)
Depends: libc6 (>= $needed)
Conflicts: $other
Section: utils
Priority: optional
Description: ${about[$1]}
 Runs a job, changes nothing about it, and keeps what it leaves when it dies or hangs.
CONTROL
  dpkg-deb --root-owner-group --build "$root" "$dist/${1}_${version}_$architecture.deb" >/dev/null
}

wheel() {
  local needed
  needed=$(cli/packaging/glibc.sh "$dist/whycrash/whycrash")
  install -D -m 755 "$dist/whycrash/whycrash" cli/packaging/python/built/whycrash
  rm -f "$dist"/whycrash-*.whl
  WHYCRASH_PLATFORM=manylinux_${needed/./_}_$machine "$dist/tools/bin/pip" wheel --quiet --disable-pip-version-check \
    --no-deps --wheel-dir "$dist" cli/packaging/python
}

mkdir -p "$dist"
tools $([ "$GLIBC" = native ] || echo ziglang)
printf '#!/bin/sh\nexec %q -m ziglang cc -target %s-linux-gnu.%s "$@"\n' "$dist/tools/bin/python" "$machine" "$GLIBC" \
  >"$dist/tools/cc"
chmod +x "$dist/tools/cc"
for name in whycrash whycrash-collector; do
  say "building $name (minutes)"
  build "$name"
  check "$name"
  tree "$name"
  tarball "$name"
  deb "$name"
done
wheel
cli/packaging/try.sh "$dist"
say "in $dist:"
ls -sh "$dist" | grep -E 'whycrash.*(zst|deb|whl)$'
