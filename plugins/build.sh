#!/bin/sh
# Builds the built-in plugins (and the hostile ones that the tests need) into plugins/builtin/dist, and compiles them
# for this architecture. Run it again after a change; it does only what is missing.
set -eu

here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
target=wasm32-unknown-unknown
plugins=$here/builtin
dist=$plugins/dist
# A target directory of their own: other compiler, other flags.
built=${WHYCRASH_PLUGIN_TARGET_DIR:-${CARGO_TARGET_DIR:+$CARGO_TARGET_DIR/plugins}}
built=${built:-$plugins/target}
cd "$here/.."
. .ci/install.sh

# wasm-component-ld and the linker it drives come with every rustup toolchain.
tools=$(rustc --print sysroot)/lib/rustlib/$(rustc -vV | sed -n 's/^host: //p')/bin
[ -x "$tools/wasm-component-ld" ] ||
    fail "$tools has no wasm-component-ld: use a Rust toolchain of rustup's (https://rustup.rs), then run make again"

# What compiles the plugins ahead is built beside all the rest, much of which waits for the network. With the whole
# workspace selected, so that dependencies get the features that every later build wants too.
cargo build -q --locked --workspace --bin pack-plugins &
compiler_ahead=$!
trap 'kill $compiler_ahead 2>/dev/null || true' EXIT
trap 'exit 130' INT TERM

# Components alone. Cargo compiles what they depend on, the standard library included, to bitcode for the linker; with a
# library among the targets it would make object code as well. Tests of authors' projects reuse what is built here.
build_all() {
    PATH=$tools/gcc-ld:$tools:$PATH CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=$tools/wasm-component-ld \
        CARGO_TARGET_DIR=$built cargo build -q --manifest-path "$plugins/Cargo.toml" --locked --release \
        --workspace --exclude whycrash-plugin --target $target "$@"
}

has_target() { [ -d "$(rustc --print target-libdir --target $target)" ]; }

# Debian's compiler builds the target from its own library source: both have to be there, of one version, and new
# enough. Its package is rustc-web, or plain rustc where that is here.
minimum=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$plugins/Cargo.toml")
debian_rust_is_ready() {
    for compiler in rustc-web:rust-web-src rustc:rust-src; do
        compiler_version=$(version_of "${compiler%:*}")
        if at_least "$compiler_version" "$minimum" && [ "$compiler_version" = "$(version_of "${compiler#*:}")" ]; then
            return 0
        fi
    done
    return 1
}

install_debian_rust() {
    if at_least "$(version_of rustc)" "$minimum"; then
        packages rustc rust-src
    elif [ -e /usr/bin/rustc ] && ! dpkg-query -S /usr/bin/rustc >/dev/null 2>&1; then
        fail "/usr/bin/rustc is no package's and has no $target target: run 'rustup target add $target', or remove it"
    else
        packages rustc-web rust-web-src
    fi
    debian_rust_is_ready ||
        fail "this system's rustc is older than $minimum or not of its source's version: run 'rustup target add $target'"
}

# 1. The target is installed. 2. rustup may install it. 3. Debian's compiler builds it, and not the one on PATH, whose
# library source is not here.
if ! has_target && [ "${RUSTUP_AUTO_INSTALL:-1}" != 0 ] && have rustup; then
    say "installing the $target target (rustup)"
    rustup target add $target || say "rustup could not; trying the system's compiler"
fi
if has_target; then
    say "compiling the plugins to WebAssembly (half a minute the first time)"
    build_all
else
    have apt-get ||
        fail "no $target target, and no way to get one: run 'rustup target add $target', then run make again"
    debian_rust_is_ready || install_debian_rust
    compiler=$(/usr/bin/rustc --version | cut -d' ' -f1,2)
    say "compiling the plugins to WebAssembly with $compiler (a minute the first time)"
    # Without what prints backtraces: no plugin has a file to read symbols from.
    RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 build_all -Z build-std=std,panic_abort -Z build-std-features=
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

say "compiling them ahead, as soon as the compiler for that is built (minutes the first time)"
wait $compiler_ahead
trap - EXIT
"${CARGO_TARGET_DIR:-target}/debug/pack-plugins" "$dist"/*.wasm
