#!/usr/bin/env python3
"""Runs test programs side by side, one for each processor: most tests wait, for processes or for a limit, and a program's
last test makes all other programs wait where they are run one after the other, as `cargo test` does.

    cargo test --workspace --tests --no-run --message-format=json-render-diagnostics | tests/side_by_side.py

Tests are named as they end, so that what hangs is among what is named last; all else that a program prints comes in one
piece when the program ends.
"""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

# Of a line of two programs, none is readable.
PRINTING = Lock()


def programs(messages):
    """The test programs among cargo's messages, and whether cargo built everything."""
    found, is_built = [], False
    for line in messages:
        message = json.loads(line) if line.startswith("{") else {}
        if message.get("reason") == "build-finished":
            is_built = message["success"]
        elif message.get("reason") == "compiler-artifact" and message["profile"]["test"] and message["executable"]:
            found.append((message["executable"], message["manifest_path"]))
    # What has the most in it takes longest: begun last, it would run alone at the end.
    found.sort(key=lambda program: -os.path.getsize(program[0]))
    return found, is_built


def environment(manifest):
    """What `cargo test` sets for a program of this package."""
    return os.environ | {"CARGO_MANIFEST_DIR": str(Path(manifest).parent), "CARGO_MANIFEST_PATH": manifest}


def run(program):
    """Runs a test program in its package's folder; its exit status."""
    executable, manifest = program
    rest = [f"     Running {os.path.relpath(executable)}\n"]
    process = subprocess.Popen(
        [executable], cwd=Path(manifest).parent, env=environment(manifest),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    for line in process.stdout:
        if line.startswith("test ") and not line.startswith("test result:"):
            with PRINTING:
                print(line, end="", flush=True)
        else:
            rest.append(line)
    status = process.wait()
    if status < 0:
        rest.append(f"error: the program was ended by signal {-status}\n")
    with PRINTING:
        print("".join(rest), end="", flush=True)
    return status


def main():
    found, is_built = programs(sys.stdin)
    if not is_built or not found:
        sys.exit("error: the tests could not be built: what cargo says is above")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        statuses = list(pool.map(run, found))
    failed = [executable for (executable, _), status in zip(found, statuses) if status]
    for executable in failed:
        print(f"error: tests of {os.path.relpath(executable)} failed: their names are above", flush=True)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
