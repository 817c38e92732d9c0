"""Runs the plugin in `app.py` on this machine: `python3 -m whycrash.native ANSWER [EVIDENCE]` writes what it says about itself,
and of the report that `whycrash plugin case` wrote down, as JSON. `whycrash plugin test` runs this."""

import json
import os
import signal
import sys
from typing import Any, Dict, List

from .running import Failure, Plugin
from .testing import CaseReport

# Seconds of processor time that a run may take: the sandbox, which is slower, would have stopped it by then.
_SECONDS = 10
# Lines and characters that are kept of what is logged, as in the sandbox.
_LINES = 100
_CALLS = 10_000
_CHARACTERS = 4096


class TooLong(BaseException):
    """The time that a run may take is over."""


class _Log:
    def __init__(self) -> None:
        self.lines: List[str] = []
        self._calls = 0

    def __call__(self, line: str) -> None:
        self._calls += 1
        if self._calls > _CALLS:
            raise Failure(f"it logged more than {_CALLS} lines")
        if len(self.lines) < _LINES:
            self.lines.append(line[:_CHARACTERS])


def _answer(said: Dict[str, Any], evidence: List[str], log: _Log) -> None:
    plugin = Plugin("app")
    said["about"] = plugin.about(log)
    for path in evidence:
        said["diagnosis"] = plugin.diagnose(CaseReport.of_file(path), log)


def _stop(*_: Any) -> None:
    raise TooLong(f"it ran for more than {_SECONDS} seconds: is there a loop without an end?")


def main(answer: str, *evidence: str) -> None:
    log, said = _Log(), {}  # type: ignore[var-annotated]
    signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, _SECONDS)
    try:
        _answer(said, list(evidence), log)
    except Failure as failure:
        said["error"] = str(failure)
    signal.setitimer(signal.ITIMER_PROF, 0)
    with open(answer, "w", encoding="utf-8", errors="replace") as file:
        json.dump({**said, "log": log.lines}, file)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main(*sys.argv[1:])
    os._exit(0)
