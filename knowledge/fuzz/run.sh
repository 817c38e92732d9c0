#!/usr/bin/env bash
# Runs fuzz targets, each for the given number of seconds: run.sh SECONDS [TARGET…] (all of them by default).
#
# No nightly compiler is needed: without a sanitizer, coverage is all that libFuzzer wants, and stable has that behind
# RUSTC_BOOTSTRAP. Panics, hangs and memory out of proportion (see src/heap.rs) are found without one.
set -euo pipefail
cd "$(dirname "$0")"
seconds=$1
shift
../../.ci/setup fuzz
export RUSTC_BOOTSTRAP=1
[ $# -gt 0 ] || set -- $(cargo fuzz list --fuzz-dir .)

./seed.sh "$PWD/seeds"
cargo fuzz build --fuzz-dir . --sanitizer none
failed=
for target in "$@"; do
  mkdir -p "corpus/$target" "seeds/$target"
  echo "fuzz: $target for $seconds seconds" >&2
  cargo fuzz run --fuzz-dir . --sanitizer none "$target" "corpus/$target" "seeds/$target" -- \
    -max_total_time="$seconds" -max_len=100000 -rss_limit_mb=2048 -timeout=10 -print_final_stats=1 || failed+=" $target"
done
[ -z "$failed" ] || { echo "fuzz: failed:$failed" >&2; exit 1; }
