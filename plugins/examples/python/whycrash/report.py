"""The report that `diagnose` is given, with what is asked for every day; and citations of places in it."""

import json
from typing import Any, List, Optional, Sequence, Union

from . import interface
from .interface import Citation, Event, Frame, FramePlace, Line, LineRange, Thread
from .interface import Place_Event, Place_Fact, Place_Frame, Place_Line

# Characters of a line that are quoted; a log line can be of any length.
_QUOTE_CHARACTERS = 400
# Lines of an event that are given at most.
_EVENT_LINES = 1024


class Report(interface.Report):
    """A report: everything of the interface, and some of it made easier."""

    def search(self, artifact: Optional[str], pattern: str, limit: int) -> List[Line]:
        """Lines that match a regular expression of linear time (no look-around, no back-references), in one text artifact or
        in all of them."""
        try:
            return super().search(artifact, pattern, limit)
        except Exception as error:
            raise ValueError(f"the pattern {pattern!r} is wrong: {getattr(error, 'value', error)}") from None

    def find(self, pattern: str, limit: int = 64) -> List[Line]:
        """Lines of all text artifacts that match a regular expression of linear time."""
        return self.search(None, pattern, limit)

    def around(self, line: Line, n: int = 5) -> List[Line]:
        """The line with the `n` before it and the `n` behind it."""
        first = max(line.number - n, 1)
        return self.lines(line.artifact, first, line.number + n - first + 1)

    def lines_of(self, event: Event) -> List[Line]:
        """The lines that an event tells of, the first 1024; none where it is not of a text."""
        if event.lines is None:
            return []
        first, last = event.lines
        return self.lines(event.artifact, first, min(last - first + 1, _EVENT_LINES))

    def get(self, path: str) -> Any:
        """The value at a dotted path into the evidence, such as `crash.signal`; `None` where there is none."""
        value = self.fact(path)
        return None if value is None else json.loads(value)

    def cite_fact(self, path: str) -> Optional[Citation]:
        """A citation of a fact, if it is there."""
        value = self.get(path)
        return None if value is None else cite_fact(path, value)


def cite(place: Union[Line, Event, Sequence[Line]]) -> Citation:
    """A citation of a line, of lines that follow each other, or of an event."""
    if isinstance(place, Line):
        return Citation(place.artifact, Place_Line(LineRange(place.number, place.number)), _short(place.text))
    if isinstance(place, Event):
        return Citation(place.artifact, Place_Event(place.number), _short(place.text))
    if isinstance(place, (list, tuple)) and all(isinstance(line, Line) for line in place):
        if not place:
            raise ValueError("there is no line to cite: the list is empty")
        quote = "\n".join(line.text.strip() for line in place)
        return Citation(place[0].artifact, Place_Line(LineRange(place[0].number, place[-1].number)), quote)
    raise TypeError(f"cite() takes a line, lines or an event, and not {place!r}")


def cite_frame(thread: Thread, index: int, frame: Frame) -> Citation:
    """A citation of the frame at this index of a thread."""
    quote = frame.function or frame.module or frame.file or ""
    return Citation(thread.artifact, Place_Frame(FramePlace(thread.id, index)), quote)


def cite_fact(path: str, value: Any) -> Citation:
    """A citation of a fact, by its dotted path, with its value."""
    return Citation("", Place_Fact(path), _short(value if isinstance(value, str) else json.dumps(value)))


def _short(text: str) -> str:
    return text.strip()[:_QUOTE_CHARACTERS]
