#!/usr/bin/env bash
# Repeats a newcomer's first minutes, as root: `make run`, then `make test`, in a clean clone of the last commit inside
# a bare Debian that debootstrap makes, with package lists that are out of date. Of this machine it sees the Rust
# toolchain (read-only) and how to reach package registries, nothing else. Prints what each step took.
#
#   tests/fresh.sh [SUITE…]        bookworm and trixie by default
#
# STEPS ("run test") are the make targets; MIRROR is where Debian comes from, by default where this machine's does.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)

# 1. Outside: mounts and processes of their own for each suite, so that none of them stays, however it ends.
if [ "${1:-}" != --inside ]; then
  [ "$(id -u)" = 0 ] || { echo "fresh: run this as root: it makes a chroot" >&2; exit 1; }
  cd "$root" && . .ci/install.sh
  have debootstrap && [ -e /usr/share/keyrings/debian-archive-keyring.gpg ] ||
    packages debootstrap debian-archive-keyring
  [ $# -gt 0 ] || set -- bookworm trixie
  failed=
  for suite in "$@"; do
    house=$(mktemp -d "${TMPDIR:-/var/tmp}/whycrash-fresh.XXXXXX")
    trap 'rm -rf --one-file-system "$house"' EXIT
    unshare --mount --pid --fork --kill-child -- "$root/tests/fresh.sh" --inside "$suite" "$house" || failed+=" $suite"
    rm -rf --one-file-system "$house"
  done
  [ -z "$failed" ] || { echo "fresh: failed:$failed" >&2; exit 1; }
  exit 0
fi

# 2. Inside.
suite=$2 house=$3
say() { printf 'fresh: %s: %s\n' "$suite" "$*" >&2; }

# timed NAME COMMAND…
timed() {
  local name=$1 start=$SECONDS status=0
  shift
  "$@" || status=$?
  say "$name: $(((SECONDS - start) / 60)) min $(((SECONDS - start) % 60)) s, exit status $status"
  return $status
}

# The Debian archive that this machine's own packages come from.
# shellcheck disable=SC2016 # The fields are apt's.
mirror=${MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' | sed -n 's|^\(.*/debian\)/*$|\1|p' | head -n 1)}
[ -n "$mirror" ] || { say "name a Debian mirror: MIRROR=http://… tests/fresh.sh"; exit 1; }

bare_debian() {
  # It was made for its owner alone, and in there it is the root: users of the machine must get through it.
  chmod 755 "$house"
  debootstrap --variant=minbase --include=make,ca-certificates "$suite" "$house" "$mirror" >"$house/log" ||
    { tail -n 20 "$house/log" >&2; return 1; }
  # The lists are from before these were added: they know no update.
  printf 'deb %s\n' "$mirror $suite main" "$mirror $suite-updates main" "$mirror-security $suite-security main" \
    >"$house/etc/apt/sources.list"
  apt-config dump | grep -E '^Acquire::(https?::|Check-)' >"$house/etc/apt/apt.conf.d/99host" || true
}

# Names, certificates and settings that reach the package registries from here.
registries() {
  local file
  for file in /etc/resolv.conf /etc/hosts /usr/local/share/ca-certificates/*.crt /etc/pip.conf /etc/npmrc ~/.npmrc \
    ~/.config/pip/pip.conf ~/.pip/pip.conf; do
    [ ! -f "$file" ] || install -D -m 644 "$file" "$house$file"
  done
  chroot "$house" update-ca-certificates >/dev/null 2>&1
  file=${CARGO_HOME:-$HOME/.cargo}/config.toml
  [ ! -f "$file" ] || install -D -m 644 "$file" "$house/root/.cargo/config.toml"
  env | grep -iE '^(https?|no|all)_proxy=' || true
  env | grep -E '^(SSL_CERT_(FILE|DIR)|NODE_EXTRA_CA_CERTS|PIP_(CERT|INDEX_URL|EXTRA_INDEX_URL))=' || true
  env | grep -E '^(npm_config|NPM_CONFIG|CARGO_HTTP|CARGO_REGISTRIES)_[A-Za-z_]+=' || true
}

mounts() {
  mount -t proc proc "$house/proc"
  mount --rbind /dev "$house/dev"
  mkdir -p "$house/opt/rust"
  mount --bind "$(rustc --print sysroot)" "$house/opt/rust"
  mount -o remount,bind,ro "$house/opt/rust"
}

# A port that nobody uses now; the network is this machine's.
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# inside COMMAND…
inside() {
  env -i HOME=/root PATH=/opt/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
    TERM=dumb RUN_ONCE=1 WHYCRASH_LISTEN="127.0.0.1:$port" "${settings[@]}" chroot "$house" "$@"
}

timed debootstrap bare_debian
mapfile -t settings < <(registries)
mounts
port=$(free_port)
git clone -q "file://$root" "$house/root/whycrash"
for step in ${STEPS:-run test}; do
  timed "make $step" inside make --no-print-directory -C /root/whycrash "$step"
done
