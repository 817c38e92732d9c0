#!/bin/sh
# Really crashes a small Python program and a small C program under `whycrash run`, shows both diagnoses, and checks
# that each names the right cause and proves it.
#
#   tests/demo.sh [--server URL]
#
# WHYCRASH names the binary to use; without it, the one in the target folder.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
whycrash=${WHYCRASH:-${CARGO_TARGET_DIR:-$here/../target}/debug/whycrash}
programs=$here/reproducers/demo
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The check: exit 0 only if the best finding names the cause and cites something.
right='
import json, sys
document, cause = json.load(sys.stdin), sys.argv[1]
best = next(iter(document["findings"]), None)
found = best["cause"] if best else "no cause at all"
if found != cause:
    sys.exit(f"demo: expected {cause}, but the diagnosis names {found}")
if not best["citations"]:
    sys.exit(f"demo: nothing is cited for {cause}")
'

# crash NAME CAUSE COMMAND…: runs the command under whycrash and checks what it says.
crash() {
    name=$1 cause=$2
    shift 2
    printf '\n$ whycrash run -- %s\n' "$*"
    status=0
    (cd "$scratch" && "$whycrash" run --output "$scratch/$name" $server -- "$@") || status=$?
    # 139 is how a shell says: killed by signal 11, a segmentation fault.
    if [ "$status" -ne 139 ]; then
        echo "demo: $name ended with $status instead of a segmentation fault" >&2
        return 1
    fi
    "$whycrash" diagnose --format json "$scratch/$name" | python3 -c "$right" "$cause"
}

server=
if [ "${1:-}" = --server ]; then
    server="--server ${2:?--server needs an address}"
fi

cc -g -O1 -pthread -o "$scratch/reduce" "$programs/reduce.c"
failed=0
crash python seg-user-ctypes python3 "$programs/segfault.py" || failed=1
crash c seg-null-deref "$scratch/reduce" || failed=1
exit $failed
