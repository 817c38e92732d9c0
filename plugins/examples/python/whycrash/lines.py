"""Reading log lines: `key=value` pairs, numbers over many lines, and times."""

import re
from datetime import datetime, timedelta, timezone
from typing import Dict, Iterable, List, NamedTuple, Optional, Union

from .interface import Line

_PAIR = re.compile(
    r"""(?<![\w./-]) ([A-Za-z_][\w./-]*) ["']? [ \t]* (?: =(?!=) | :(?!:|//) ) [ \t]*
        (?: "([^"]*)" | '([^']*)' | ([^\s,;|()\[\]{}"']+) )""",
    re.ASCII | re.VERBOSE,
)
_NUMBER = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?:%|[A-Za-z/]*)", re.ASCII)
_NO_NUMBER = re.compile(r"[+-]?(?:nan|inf|infinity)", re.ASCII | re.IGNORECASE)
_TIME = re.compile(
    r"""(?<!\d) (\d{4})[-/](\d\d)[-/](\d\d) [T ] (\d\d):(\d\d):(\d\d) (?:[.,](\d+))?
        (?: (Z) | ([+-])(\d\d):?(\d\d) )?""",
    re.ASCII | re.VERBOSE,
)
_BEGINNING = datetime(1970, 1, 1, tzinfo=timezone.utc)


class Point(NamedTuple):
    """What a line says of a number."""

    line: Line
    value: float


def key_values(line: Union[Line, str]) -> Dict[str, str]:
    """The `key=value` and `key: value` pairs of a line; of a key that comes twice the last value."""
    found = {}
    for key, double, single, bare in _PAIR.findall(_text(line)):
        found[key] = double or single or bare
    return found


def number(text: Optional[str]) -> Optional[float]:
    """The number that a value is, also with a unit behind it; `nan` and `inf` are numbers here."""
    if text is None:
        return None
    if _NO_NUMBER.fullmatch(text):
        return float(text)
    found = _NUMBER.fullmatch(text)
    return float(found[1]) if found else None


def series(lines: Iterable[Line], key: str) -> List[Point]:
    """What these lines say of the number with this key, in their order: `series(report.find("loss="), "loss")`."""
    said = ((line, number(key_values(line).get(key))) for line in lines)
    return [Point(line, value) for line, value in said if value is not None]


def time_of(line: Union[Line, str]) -> Optional[float]:
    """The first date with a time in a line, in seconds since 1970; one without a zone is taken to be UTC."""
    for found in _TIME.finditer(_text(line)):
        year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
        fraction, _, sign, hours, minutes = found.groups()[6:]
        try:
            at = datetime(year, month, day, hour, minute, tzinfo=timezone.utc)
        except ValueError:
            continue
        if year < 1970:
            continue
        ahead = int(hours or 0) * 3600 + int(minutes or 0) * 60
        whole = (at - _BEGINNING) // timedelta(seconds=1) + second
        return whole - (-ahead if sign == "-" else ahead) + (float(f"0.{fraction}") if fraction else 0.0)
    return None


def _text(line: Union[Line, str]) -> str:
    return line if isinstance(line, str) else line.text
