#!/bin/sh
# What `make run` ends in: starts the server on loopback with a store of its own, really crashes two programs, shows why,
# and stays in the foreground with the web UI up. RUN_ONCE=1 ends after the two diagnoses: exit 0 only if both are right.
#
# WHYCRASH_LISTEN (127.0.0.1:7311) and WHYCRASH_DATA (./whycrash-data) are the server's own settings.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
bin=${BIN:-${CARGO_TARGET_DIR:-$here/../target}/debug}
listen=${WHYCRASH_LISTEN:-127.0.0.1:7311}
url=http://$listen

echo "run: starting the server, and crashing a small Python program and a small C program" >&2
RUST_LOG=${RUST_LOG:-warn} "$bin/whycrash-server" --listen "$listen" --data "${WHYCRASH_DATA:-$here/../whycrash-data}" &
server=$!
trap 'kill $server 2>/dev/null || true; wait $server 2>/dev/null || true' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

tries=0
until curl -fs "$url/readyz" >/dev/null; do
    kill -0 $server 2>/dev/null || { echo "run: the server did not start; is another one using $listen?" >&2; exit 1; }
    tries=$((tries + 1))
    [ $tries -lt 300 ] || { echo "run: the server did not get ready within 30 seconds" >&2; exit 1; }
    sleep 0.1
done

status=0
WHYCRASH=$bin/whycrash "$here/demo.sh" --server "$url" || status=$?
[ "${RUN_ONCE:-0}" = 0 ] || exit $status

printf '\nthe web UI: %s   (Ctrl-C ends the server)\n' "$url"
wait $server
