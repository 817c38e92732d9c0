#!/usr/bin/env python3
"""Has each fault of job.py happen under `whycrash run`, and says whether rank and cause came out right.

    tests/faults/run.py WHYCRASH PYTHON [FAULT…]

PYTHON is one with torch; no GPU is needed. One row a fault; ends with 1 when one of them is wrong.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import time

JOB = pathlib.Path(__file__).with_name("job.py")
RANK = 2
# The cause that each fault must get, and the signal where one ends the rank.
EXPECTED = {
    "exception": ("py-user-exception", None),
    "async-exception": ("py-user-exception", None),
    "handler-exception": ("py-user-exception", None),
    "abort": ("abrt-called", "SIGABRT"),
    "held-gil": ("dist-gil-hang", None),
    "segfault": ("seg-user-ctypes", "SIGSEGV"),
    "sigint": ("op-interrupted", "SIGINT"),
    "sigkill": ("kill-sigkill", "SIGKILL"),
    "sigterm": ("op-terminated", "SIGTERM"),
    "sigstop": ("hang-stopped", None),
    "sleep": ("dist-rank-missing", None),
}


def happen(whycrash, python, fault, folder):
    report = folder / "report"
    job = [python, "-m", "torch.distributed.run", "--nproc-per-node", "4", "--standalone"]
    job += [str(JOB), "--fault", fault, "--rank", str(RANK)]
    run = [whycrash, "run", "--quiet", "--wait", "120s", "--hang-after", "12s", "--output", str(report), "--", *job]
    begin = time.monotonic()
    status = subprocess.run(run, cwd=folder, capture_output=True).returncode
    seconds = time.monotonic() - begin
    diagnose = [whycrash, "diagnose", "--format", "json", str(report)]
    document = json.loads(subprocess.run(diagnose, capture_output=True, check=True).stdout)
    return status, seconds, document, (folder / "report.hang").exists()


def judged(fault, document):
    cause, signal = EXPECTED[fault]
    crash = document["evidence"].get("crash", {})
    findings = document["findings"]
    best = findings[0] if findings else {"cause": None, "explanation": ""}
    right_rank = crash.get("rank") == RANK and crash.get("signal") == signal
    named = f"ank {RANK}" in best["explanation"]
    return right_rank, best["cause"] == cause, named, crash, best


def main():
    whycrash, python, *faults = sys.argv[1:]
    # The jobs run in folders of their own.
    whycrash = str(pathlib.Path(whycrash).resolve())
    wrong = 0
    for fault in faults or EXPECTED:
        with tempfile.TemporaryDirectory() as folder:
            status, seconds, document, hung = happen(whycrash, python, fault, pathlib.Path(folder))
        rank, cause, named, crash, best = judged(fault, document)
        wrong += not (rank and cause and named)
        words = {True: "right", False: "WRONG"}
        print(
            f"{fault:18} rank {words[rank]} ({crash.get('rank')}, {crash.get('signal') or crash.get('exit_code')}) "
            f"cause {words[cause]} ({best['cause']}) named {words[named]} "
            f"status {status}, {seconds:.0f} s{', report while it hung' if hung else ''}",
            flush=True,
        )
        if not (rank and cause and named):
            print(f"    {document['report'].get('title')}\n    {best['explanation']}", flush=True)
    print(f"{len(faults or EXPECTED) - wrong} of {len(faults or EXPECTED)} right")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
