#!/bin/sh
# Builds the built-in plugins (and the hostile ones that the tests need) into plugins/builtin/dist, and compiles them for
# this architecture. Run it again after a change; it does only what is missing.
set -eu

here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
target=wasm32-unknown-unknown
plugins=$here/builtin
dist=$plugins/dist
# A target directory of their own: other compiler, other flags.
built=${WHYCRASH_PLUGIN_TARGET_DIR:-${CARGO_TARGET_DIR:+$CARGO_TARGET_DIR/plugins}}
built=${built:-$plugins/target}

say() { echo "plugins: $*" >&2; }

# wasm-component-ld and the linker it drives come with every rustup toolchain.
tools=$(rustc --print sysroot)/lib/rustlib/$(rustc -vV | sed -n 's/^host: //p')/bin

build() {
    PATH=$tools/gcc-ld:$tools:$PATH CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=$tools/wasm-component-ld \
        CARGO_TARGET_DIR=$built cargo build --manifest-path "$plugins/Cargo.toml" --locked --release --target $target "$@"
}

has_target() { [ -d "$(rustc --print target-libdir --target $target)" ]; }

# 1. The target is installed. 2. rustup may install it. 3. Debian's rustc-web builds it from its own library source: compiler and
# library source have to match, so that compiler is used and not the one on PATH.
if ! has_target && [ "${RUSTUP_AUTO_INSTALL:-1}" != 0 ] && command -v rustup >/dev/null; then
    say "installing the $target target"
    rustup target add $target || say "rustup could not; trying the system's compiler"
fi
if has_target; then
    build
else
    if [ ! -x /usr/bin/rustc ] || [ ! -d /usr/lib/rustlib/src/rust/library ]; then
        command -v apt-get >/dev/null || { say "no $target target, and no way to get one: run 'rustup target add $target'"; exit 1; }
        say "installing rustc-web and rust-web-src"
        apt-get install -y --no-install-recommends rustc-web rust-web-src >&2 ||
            { say "could not install them: as root, run 'apt-get install rustc-web rust-web-src'"; exit 1; }
    fi
    RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 build -Z build-std=std,panic_abort
fi

# Puts a file in place only when it changed, so that nothing that embeds it is built again for nothing.
place() { cmp -s "$1" "$2" || { mkdir -p "$(dirname "$2")" && cp "$1" "$2.new" && mv "$2.new" "$2"; }; }

for manifest in "$plugins"/*/Cargo.toml "$plugins"/hostile/*/Cargo.toml; do
    folder=$(dirname "$manifest")
    name=$(basename "$folder" | tr - _)
    case $folder in
        */hostile/*) place "$built/$target/release/$name.wasm" "$dist/hostile/$(basename "$folder").wasm" ;;
        *) place "$built/$target/release/$name.wasm" "$dist/$(basename "$folder").wasm" ;;
    esac
done

# Built with the whole workspace selected, so that dependencies get the features that every later build wants too.
say "compiling them ahead (builds the host first; minutes when its dependencies are new)"
cd "$here/.."
cargo build --locked --workspace --bin whycrash-precompile
"${CARGO_TARGET_DIR:-target}/debug/whycrash-precompile" "$dist"/*.wasm
say "built $(ls "$dist"/*.wasm | wc -l) plugins into ${dist#"$PWD"/}"
