"""What `about` and `diagnose` return, and how it is held to its form: what is wrong is said in words."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Callable, Dict, List, Optional, Sequence, Union

from .interface import Citation, Domain, Retry


@dataclass
class Info:
    """What a plugin is: its name, its version, the causes that it can name, and the evidence that it needs."""

    name: str
    version: str
    causes: Sequence[str]
    needs_any_of: Sequence[str] = ()
    needs_all_of: Sequence[str] = ()


@dataclass
class Finding:
    """The claim that a documented cause explains the report. It needs at least one citation."""

    cause: str
    confidence: float
    explanation: str = ""
    citations: Sequence[Citation] = ()
    title: Optional[str] = None
    contradictions: Sequence[Citation] = ()
    first_step: Optional[str] = None
    # Who owns the failure in this very case, and whether a second try is worth it and why, in place of what the cause's
    # page says.
    owner: Optional[Domain] = None
    retry: Optional[Retry] = None
    because: Optional[str] = None


@dataclass
class CollectNext:
    """An artifact that would decide between causes, and the exact setting or command that makes it."""

    artifact: str
    how: str
    decides_between: Sequence[str] = ()


@dataclass
class Diagnosis:
    """What was found. No finding is the right answer when nothing fits."""

    findings: Sequence[Finding] = field(default_factory=list)
    next: Sequence[CollectNext] = field(default_factory=list)


Answer = Union[None, Finding, Sequence[Finding], Diagnosis]


class WrongAnswer(TypeError):
    """What a plugin returned is not what it may return."""


def plain_info(info: Any) -> Dict[str, Any]:
    """What `about` returned, as the host reads it."""
    if not isinstance(info, Info):
        raise WrongAnswer(f"about() returned {_shown(info)}: return an Info")
    return {
        "name": _is(str, info.name, "name"),
        "version": _is(str, info.version, "version"),
        "causes": _list(info.causes, "causes", _text),
        "needs_any_of": _list(info.needs_any_of, "needs_any_of", _text),
        "needs_all_of": _list(info.needs_all_of, "needs_all_of", _text),
    }


def plain_answer(answer: Any) -> Dict[str, Any]:
    """What `diagnose` returned, as the host reads it."""
    if answer is None:
        answer = Diagnosis()
    elif isinstance(answer, Finding):
        answer = Diagnosis([answer])
    elif isinstance(answer, (list, tuple)):
        answer = Diagnosis(answer)
    if not isinstance(answer, Diagnosis):
        raise WrongAnswer(f"diagnose() returned {_shown(answer)}: return a Finding, a list of them, a Diagnosis, or None")
    findings = list(_list(answer.findings, "findings", lambda one, at: _of(Finding, one, at)))
    return {
        "findings": [_finding(one, f"findings[{index}]") for index, one in enumerate(findings)],
        "next": _list(answer.next, "next", _next),
        "advice": [_advice(one, f"findings[{index}]") for index, one in enumerate(findings) if one.owner or one.retry],
    }


def _finding(finding: Finding, at: str) -> Dict[str, Any]:
    confidence = finding.confidence
    if isinstance(confidence, bool) or not isinstance(confidence, (int, float)) or not 0 <= confidence <= 1:
        raise WrongAnswer(f"{at}.confidence is {_shown(confidence)}: give a number from 0 to 1")
    return {
        "cause": _is(str, finding.cause, f"{at}.cause"),
        "title": _maybe(finding.title, f"{at}.title"),
        "confidence": float(confidence),
        "explanation": _is(str, finding.explanation, f"{at}.explanation"),
        "citations": _list(finding.citations, f"{at}.citations", _citation),
        "contradictions": _list(finding.contradictions, f"{at}.contradictions", _citation),
        "first_step": _maybe(finding.first_step, f"{at}.first_step"),
    }


def _advice(finding: Finding, at: str) -> Dict[str, Any]:
    return {
        "cause": finding.cause,
        "domain": _name_of(Domain, finding.owner, f"{at}.owner"),
        "retry": _name_of(Retry, finding.retry, f"{at}.retry"),
        "because": _maybe(finding.because, f"{at}.because"),
    }


def _next(collect: Any, at: str) -> Dict[str, Any]:
    collect = _of(CollectNext, collect, at)
    return {
        "artifact": _is(str, collect.artifact, f"{at}.artifact"),
        "how": _is(str, collect.how, f"{at}.how"),
        "decides_between": _list(collect.decides_between, f"{at}.decides_between", _text),
    }


def _citation(citation: Any, at: str) -> Dict[str, Any]:
    if not hasattr(citation, "quote") or not hasattr(citation, "at"):
        raise WrongAnswer(f"{at} is {_shown(citation)}: cite a place with cite(line)")
    kind = type(citation.at).__name__
    value: Any = getattr(citation.at, "value", None)
    place: Any
    if kind == "Place_Line":
        place = {"line": [_count(value.first, f"{at} line"), _count(value.last, f"{at} line")]}
    elif kind == "Place_Bytes":
        place = {"bytes": [_count(value.first, f"{at} bytes"), _count(value.end, f"{at} bytes")]}
    elif kind == "Place_Frame":
        place = {"frame": {"thread": _is(str, value.thread, f"{at} thread"), "index": _count(value.index, f"{at} frame")}}
    elif kind == "Place_Event":
        place = {"event": _count(value, f"{at} event")}
    elif kind == "Place_Fact":
        place = {"fact": _is(str, value, f"{at} fact")}
    else:
        raise WrongAnswer(f"{at}.at is {_shown(citation.at)}: give a Place_Line, Place_Frame, Place_Event, … or use cite(line)")
    return {
        "artifact": _is(str, citation.artifact, f"{at}.artifact"),
        "at": place,
        "quote": _is(str, citation.quote, f"{at}.quote"),
    }


def _of(kind: type, value: Any, at: str) -> Any:
    if not isinstance(value, kind):
        raise WrongAnswer(f"{at} is {_shown(value)}: give a {kind.__name__}")
    return value


def _is(kind: type, value: Any, at: str) -> Any:
    if not isinstance(value, kind):
        raise WrongAnswer(f"{at} is {_shown(value)}: give a {kind.__name__}")
    return value


def _text(value: Any, at: str) -> str:
    _is(str, value, at)
    return str(value)


def _maybe(value: Any, at: str) -> Optional[str]:
    return None if value is None else _is(str, value, at)


def _count(value: Any, at: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise WrongAnswer(f"{at} is {_shown(value)}: give a number that is 0 or more")
    return value


def _list(values: Any, at: str, each: Callable[[Any, str], Any]) -> List[Any]:
    if isinstance(values, (str, bytes, dict)) or not hasattr(values, "__iter__"):
        raise WrongAnswer(f"{at} is {_shown(values)}: give a list")
    return [each(value, f"{at}[{index}]") for index, value in enumerate(values)]


def _name_of(kind: Any, value: Any, at: str) -> Optional[str]:
    """A member of an enumeration, or its name, as the host writes it."""
    if value is None:
        return None
    name = value.name if isinstance(value, Enum) else str(value).upper().replace("-", "_")
    if name not in kind.__members__:
        names = ", ".join(f"{kind.__name__}.{member}" for member in kind.__members__)
        raise WrongAnswer(f"{at} is {_shown(value)}: give one of {names}")
    return name.lower().replace("_", "-")


def _shown(value: Any) -> str:
    """A value in an error message, shortened."""
    text = repr(value)
    return f"{text[:60] + '…' if len(text) > 60 else text} (of type {type(value).__name__})"
