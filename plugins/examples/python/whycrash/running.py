"""How a plugin is run, natively and in the sandbox alike: what it prints is logged, and what it raises is told with the
lines of its own source."""

import builtins
import importlib
import io
import itertools
import os
import sys
import time
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple

from .answer import WrongAnswer, plain_answer, plain_info
from .report import Report

# The folder of this library: its frames are nobody's but its own.
_LIBRARY = os.path.dirname(__file__)
# Frames of a traceback that are told at most, and characters of one that goes on for ever.
_FRAMES = 30
_MESSAGE_CHARACTERS = 2000
# What a plugin has none of, by what it would ask for.
_ABSENT = {
    "clock": [(time, "time sleep time_ns monotonic monotonic_ns perf_counter perf_counter_ns process_time")],
    "file": [(builtins, "open"), (io, "open"), (os, "open stat listdir scandir mkdir remove rename system")],
    "randomness": [(os, "urandom getrandom")],
}


class Failure(Exception):
    """A plugin failed; the text says how, with the lines of its source."""


class Plugin:
    """A plugin's module, and what stands in its files."""

    def __init__(self, name: str) -> None:
        self._folder = str(Path(_LIBRARY).parent)
        try:
            self._module: ModuleType = importlib.import_module(name)
        except BaseException as error:
            raise Failure(f"{name}.py can not be loaded:\n{self.told(error)}") from None
        self._sources = _sources(self._folder)

    def about(self, log: Callable[[str], None]) -> Dict[str, Any]:
        """What it says about itself."""
        return self._call(log, lambda: plain_info(self._function("about")()))

    def diagnose(self, report: Any, log: Callable[[str], None]) -> Dict[str, Any]:
        """What it says of a report."""
        return self._call(log, lambda: plain_answer(self._function("diagnose")(Report(report))))

    def _function(self, name: str) -> Callable[..., Any]:
        function = getattr(self._module, name, None)
        if not callable(function):
            raise WrongAnswer(f"{self._module.__name__}.py has no function {name}()")
        return function

    def _call(self, log: Callable[[str], None], call: Callable[[], Dict[str, Any]]) -> Dict[str, Any]:
        lines = _Lines(log)
        before, sys.stdout, sys.stderr = (sys.stdout, sys.stderr), lines, lines  # type: ignore[assignment]
        withheld = _withhold()
        try:
            return call()
        except BaseException as error:
            raise Failure(self.told(error)) from None
        finally:
            lines.end()
            for owner, name, function in withheld:
                setattr(owner, name, function)
            sys.meta_path.remove(_NO_IMPORTS)  # type: ignore[arg-type]
            sys.stdout, sys.stderr = before

    def told(self, error: BaseException) -> str:
        """An exception with its traceback, as Python tells it, in the files of the plugin."""
        parts: List[str] = []
        chain: Optional[BaseException] = error
        while chain is not None and len(parts) < 4:
            parts.insert(0, self._told_alone(chain))
            chain = chain.__cause__ or (None if chain.__suppress_context__ else chain.__context__)
        return "\n\nafterwards:\n\n".join(parts)

    def _told_alone(self, error: BaseException) -> str:
        if isinstance(error, WrongAnswer):
            return str(error)
        frames = _repeated(self._frames(error.__traceback__))
        left_out = len(frames) - _FRAMES
        if left_out > 0:
            half = _FRAMES // 2
            frames[half:-half] = [f"  … {left_out} frames more"]
        if isinstance(error, SyntaxError) and error.filename:
            mark = f"    {(error.text or '').rstrip()}"
            frames.append(f'  File "{self._path(error.filename)}", line {error.lineno}\n{mark}')
        head = ["Traceback (most recent call last):"] if frames else []
        message = error.msg if isinstance(error, SyntaxError) else str(error)
        said = f": {message[:_MESSAGE_CHARACTERS]}" if message else ""
        return "\n".join([*head, *frames, f"{type(error).__name__}{said}"])

    def _frames(self, traceback: Optional[TracebackType]) -> Iterator[str]:
        while traceback is not None:
            code = traceback.tb_frame.f_code
            is_ours = code.co_filename.startswith(_LIBRARY) or "importlib" in code.co_filename
            if not is_ours:
                where = f'  File "{self._path(code.co_filename)}", line {traceback.tb_lineno}, in {code.co_name}'
                line = self._line(code.co_filename, traceback.tb_lineno)
                yield f"{where}\n    {line}" if line else where
            traceback = traceback.tb_next

    def _path(self, file: str) -> str:
        return file[len(self._folder) :].lstrip("/") if file.startswith(self._folder) else file

    def _line(self, file: str, number: int) -> str:
        lines = getattr(self, "_sources", None) or _sources(self._folder)
        lines = lines.get(file, [])
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""


def _repeated(frames: Iterable[str]) -> List[str]:
    """Frames of which the same one follows itself again and again are told three times, and counted."""
    told: List[str] = []
    for frame, same in itertools.groupby(frames):
        times = len(list(same))
        told += [frame] * min(times, 3)
        if times > 3:
            told.append(f"  [the same {times - 3} times more]")
    return told


def _sources(folder: str) -> Dict[str, List[str]]:
    """What stands in the loaded files of the plugin: in the sandbox they can not be read any more when it fails."""
    files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    own = [file for file in files if file and file.startswith(folder) and not file.startswith(_LIBRARY)]
    found = {}
    for file in own:
        try:
            found[file] = Path(file).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            continue
    return found


class _Lines(io.TextIOBase):
    """What is printed, as lines."""

    def __init__(self, log: Callable[[str], None]) -> None:
        self._log = log
        self._begun = ""

    def write(self, text: str) -> int:
        *lines, self._begun = (self._begun + text).split("\n")
        for line in lines:
            self._log(line)
        return len(text)

    def end(self) -> None:
        if self._begun:
            self._log(self._begun)


class _NoImports:
    """Modules are found when the plugin is loaded; there are no files when it runs."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        raise ImportError(f"import {name} at the top of the file: a plugin has no files when it runs", name=name)


_NO_IMPORTS = _NoImports()


def _withhold() -> List[Tuple[Any, str, Any]]:
    """Puts what says so in the place of what a plugin has none of; gives what was there."""
    before = []
    for what, owners in _ABSENT.items():
        for owner, names in owners:
            for name in names.split():
                if hasattr(owner, name):
                    before.append((owner, name, getattr(owner, name)))
                    setattr(owner, name, _absent(what, name))
    sys.meta_path.insert(0, _NO_IMPORTS)  # type: ignore[arg-type]
    return before


def _absent(what: str, name: str) -> Callable[..., Any]:
    def refuse(*_: Any, **__: Any) -> Any:
        raise PermissionError(f"{name}(): a plugin has no {what}, so that it says the same of a report for ever")

    return refuse
