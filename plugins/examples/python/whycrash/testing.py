"""A report for tests, made of a case's folder.

`whycrash plugin case FOLDER` writes what a plugin is told of a case into its `evidence.json`; without that file there are the
lines of its texts and nothing else. Nothing is bounded or checked here: whether citations hold, and what a run costs,
`whycrash plugin test` says.
"""

import json
import re
from pathlib import Path
from typing import Union

from . import interface
from .report import Report

NOT_LEFT = {"case.toml", "evidence.json", "expected.json", "history.json"}
# Members of the evidence that are told as a whole, and lists of which every entry is told by itself.
WHOLE = ("crash", "collectives")
LISTS = (
    "threads", "modules", "memory_snapshots", "memory_details", "gpu_cores", "timeline", "communicators", "processes",
)  # fmt: skip
ABSENT = object()
# What patterns of linear time do not have.
_NOT_LINEAR = re.compile(r"\(\?<?[=!]|\\[1-9]|\(\?P=")


def report_of(folder: Union[str, Path]) -> Report:
    """The report of a case, to call `diagnose` with: `report_of("cases/healthy-log")`."""
    told = Path(folder) / "evidence.json"
    if told.exists():
        return Report(CaseReport.of_file(told))
    files = sorted(path for path in Path(folder).iterdir() if path.is_file() and path.name not in NOT_LEFT)
    return Report(CaseReport({"artifacts": [_log(path) for path in files]}))


class CaseReport:
    """What the host answers elsewhere."""

    @classmethod
    def of_file(cls, path):
        """The report that `whycrash plugin case` wrote down."""
        return cls(json.loads(Path(path).read_text(encoding="utf-8")))

    def __init__(self, told):
        self._artifacts = told.get("artifacts", [])
        self._evidence = told.get("evidence", {})
        self._software = told.get("software", [])
        self._history = told.get("history") or {}

    def artifacts(self):
        return [
            interface.Artifact(name=one["name"], kind=one["kind"], bytes=one["bytes"], lines=len(one.get("lines", [])))
            for one in self._artifacts
        ]

    def fact(self, path):
        path = _dotted(path)
        member, _, rest = path.partition(".")
        if member == "context":
            return self.context(rest)
        if member == "history" and self._history:
            return _json(_descend(self._history, rest))
        if member in WHOLE or (member in LISTS and rest):
            return _json(_descend(self._evidence.get(member, ABSENT), rest))
        return None

    def context(self, path):
        return _json(_descend(self._evidence.get("context", ABSENT), _dotted(path)))

    def lines(self, artifact, first, count):
        return [line for line in self._numbered(artifact) if line.number >= first][:count]

    def search(self, artifact, pattern, limit):
        if _NOT_LINEAR.search(pattern):
            raise ValueError("there are no look-around and no back-references")
        compiled = re.compile(pattern)
        return [line for line in self._numbered(artifact) if compiled.search(line.text)][:limit]

    def _numbered(self, artifact):
        for one in self._artifacts:
            if artifact in (None, one["name"]):
                for number, text in enumerate(one.get("lines", []), start=1):
                    yield interface.Line(artifact=one["name"], number=number, text=text)

    def threads(self, first, count):
        return [_thread(thread) for thread in self._evidence.get("threads", [])[first : first + count]]

    def frames(self, thread, first, count):
        threads = self._evidence.get("threads", [])
        frames = threads[thread].get("frames", []) if thread < len(threads) else []
        return [_frame(frame) for frame in frames[first : first + count]]

    def events(self, kind, first, count):
        events = [event for event in self._evidence.get("timeline", []) if kind in (None, event.get("kind"))]
        return [_event(event) for event in events[first : first + count]]

    def memory_snapshots(self):
        return [json.dumps(snapshot) for snapshot in self._evidence.get("memory_snapshots", [])]

    def collectives(self, rank):
        verdicts = (self._evidence.get("collectives") or {}).get("verdicts", [])
        return [json.dumps(verdict) for verdict in verdicts if rank is None or rank in verdict.get("ranks", [])]

    def count(self, of):
        return len(self._evidence.get(of, [])) if of in LISTS else 0

    def codes(self, thread, first, count):
        frames = self._of("threads", thread, "frames", first, count)
        return [_record(frame, _CODE, lines=_lines(frame)) for frame in frames]

    def modules(self, first, count):
        modules = self._evidence.get("modules", [])[first : first + count]
        return [_record(one, _MODULE, first=_hex(one.get("start")), end=_hex(one.get("end"))) for one in modules]

    def software(self, name):
        return [interface.Software(**one) for one in self._software if name in (None, one["name"])]

    def gpu_cores(self):
        return [_record(core, _CORE) for core in self._evidence.get("gpu_cores", [])]

    def gpu_faults(self, core, first, count):
        return [_record(fault, _FAULT) for fault in self._of("gpu_cores", core, "faults", first, count)]

    def gpu_warps(self, core, first, count):
        return [_record(warps, _WARPS) for warps in self._of("gpu_cores", core, "warps", first, count)]

    def memory_summaries(self):
        return [self._summary(one) for one in self._evidence.get("memory_snapshots", [])]

    def _summary(self, snapshot):
        detail = self._detail(snapshot)[1]
        kept = {"blocks_kept": len(detail.get("blocks", [])), "events_kept": len(detail.get("trace", []))}
        return _record(snapshot, _SNAPSHOT, failed_requests=snapshot.get("oom_events", 0), **kept)

    def failed_request(self, snapshot):
        request = self._entry("memory_snapshots", snapshot).get("oom")
        return _record(request, _REQUEST) if request else None

    def clusters(self, snapshot, at, first, count):
        of = self._entry("memory_snapshots", snapshot)
        of = of.get("peak") or {} if getattr(at, "name", at) == "PEAK" else of
        clusters = of.get("clusters", [])[first : first + count]
        return [_record(one, _CLUSTER, blocks=one.get("count", 0)) for one in clusters]

    def pools(self, snapshot, first, count):
        return [_record(pool, _POOL) for pool in self._of("memory_snapshots", snapshot, "pools", first, count)]

    def usage(self, snapshot, first, end, count):
        snapshot = self._entry("memory_snapshots", snapshot)
        overview = snapshot.get("usage")
        if overview is None:
            return []
        curves = [one for one in self._evidence.get("memory_curves", []) if _is_of(one, snapshot)]
        levels = [_stretches(level) for level in (curves[0]["levels"] if curves else [])]
        chosen = _stretches(overview)
        for level in [*levels, chosen]:
            if len(_within(level, first, end)) <= count:
                chosen = level
                break
        while len(_within(chosen, first, end)) > count and len(chosen) > 1:
            chosen = [_merged(chosen[row : row + 2]) for row in range(0, len(chosen), 2)]
        return _within(chosen, first, end)[:count]

    def blocks(self, snapshot, address, count):
        number, detail = self._detail(self._entry("memory_snapshots", snapshot))
        blocks = [_block(number, index, detail, one) for index, one in enumerate(detail.get("blocks", []))]
        return [one for one in blocks if one.address > address or address < one.address + one.bytes][:count]

    def trace(self, snapshot, first, count):
        number, detail = self._detail(self._entry("memory_snapshots", snapshot))
        entries = [_trace_entry(number, index, detail, one) for index, one in enumerate(detail.get("trace", []))]
        return [one for one in entries if one.number >= first][:count]

    def _detail(self, snapshot):
        details = enumerate(self._evidence.get("memory_details", []))
        return next(((number, one) for number, one in details if _is_of(one, snapshot)), (0, {}))

    def rank_overview(self):
        told = self._evidence.get("collectives")
        if told is None:
            return None
        return interface.Overview(
            recorded=told.get("ranks", []),
            unrecorded=told.get("ranks_without_recorder", []),
            culprits=told.get("culprits", []),
            circle=told.get("circle", []),
            behind_once=told.get("behind_once", []),
            verdicts=len(told.get("verdicts", [])),
        )

    def rank_verdicts(self, rank, first, count):
        verdicts = enumerate((self._evidence.get("collectives") or {}).get("verdicts", []))
        wanted = [(number, one) for number, one in verdicts if rank is None or rank in one.get("ranks", [])]
        return [_record(one, _VERDICT, number=number) for number, one in wanted[first : first + count]]

    def earlier(self, first, count):
        earlier = list(enumerate(self._history.get("earlier", [])))[first : first + count]
        return [_earlier(number, one) for number, one in earlier]

    def incident(self, first, count):
        others = list(enumerate(self._history.get("incident", [])))[first : first + count]
        return [_record(one, _OTHER, fact=f"history.incident.{number}.title") for number, one in others]

    def cause(self, id):
        """In tests of a plugin nothing is documented."""
        return None

    def recognise_tables(self):
        """In tests of a plugin nothing is documented."""
        return []

    def advise(self, advice):
        """Nobody listens."""

    def _entry(self, member, number):
        entries = self._evidence.get(member, [])
        return entries[number] if number < len(entries) else {}

    def _of(self, member, number, of, first, count):
        return self._entry(member, number).get(of, [])[first : first + count]


def _log(path):
    text = path.read_bytes()
    lines = text.decode(errors="replace").split("\n")
    lines = [line.removesuffix("\r") for line in (lines[:-1] if lines[-1] == "" else lines)]
    return {"name": path.name, "kind": "log", "bytes": len(text), "lines": lines}


def _json(value):
    return None if value is ABSENT else json.dumps(value)


def _dotted(path):
    """A JSON pointer as a dotted path; a dotted path as it is."""
    return path[1:].replace("/", ".").replace("~1", "/").replace("~0", "~") if path.startswith("/") else path


def _descend(value, path):
    """A key that itself has dots, such as a package's name, is found when it comes last."""
    while path and value is not ABSENT:
        if isinstance(value, dict) and path in value:
            return value[path]
        key, _, path = path.partition(".")
        if isinstance(value, list):
            value = value[int(key)] if key.isdigit() and int(key) < len(value) else ABSENT
        else:
            value = value.get(key, ABSENT) if isinstance(value, dict) else ABSENT
    return value


def _is_of(value, snapshot):
    return (value.get("artifact"), value.get("device")) == (snapshot.get("artifact"), snapshot.get("device"))


def _stretches(curve):
    times = curve.get("time_us") or [None] * len(curve["event"])
    rows = zip(curve["event"], times, curve["min"], curve["max"])
    return [interface.Stretch(event=event, time_us=time, least=least, most=most) for event, time, least, most in rows]


def _within(rows, first, end):
    """The rows that tell of these trace entries."""
    begun = sum(row.event <= first for row in rows)
    return [row for row in rows[max(begun - 1, 0) :] if row.event < end] if first < end else []


def _merged(pair):
    """Neighbours as one."""
    least, most = min(row.least for row in pair), max(row.most for row in pair)
    return interface.Stretch(event=pair[0].event, time_us=pair[0].time_us, least=least, most=most)


def _enum(of, name):
    return getattr(interface, of)[name.upper().replace("-", "_")]


def _frames(detail, value):
    stacks, stack = detail.get("stacks", []), value.get("stack")
    return [] if stack is None or stack >= len(stacks) else stacks[stack]


def _block(number, index, detail, block):
    fact = f"memory_details.{number}.blocks.{index}.address"
    state = _enum("BlockState", block["state"])
    return _record(block, _BLOCK, state=state, frames=_frames(detail, block), fact=fact)


def _trace_entry(number, index, detail, entry):
    fact = f"memory_details.{number}.trace.{index}.action"
    action = _enum("Action", entry["action"])
    return _record(entry, _ENTRY, action=action, frames=_frames(detail, entry), fact=fact)


def _earlier(number, report):
    conclusions = [_record(one, _CONCLUSION) for one in report.get("conclusions", [])]
    return _record(report, _EARLIER, conclusions=conclusions, fact=f"history.earlier.{number}.title")


# Records, and their members, each with what stands for it where it is absent.
_CODE = interface.Code, {"build_id": None, "offset": None}
_MODULE = interface.Module, {"path": "", "build_id": None, "symbols": None, "artifact": ""}
_CORE = interface.Core, {
    "artifact": "", "device": 0, "exception": None, "kernel": None, "offset": None, "file": None, "line": None,
    "block": None, "thread": None, "grid_size": None, "block_size": None, "name": None, "architecture": None,
}  # fmt: skip
_FAULT = interface.Fault, {
    "exception": None, "sm": 0, "warp": 0, "lane": None, "block": None, "thread": None, "kernel": None, "offset": None,
}  # fmt: skip
_WARPS = interface.Warps, {"kernel": None, "offset": None, "count": 0, "faulted": 0}
_SNAPSHOT = interface.Snapshot, {
    "artifact": "", "device": 0, "reserved": 0, "allocated": 0, "active": 0, "requested": 0, "inactive": 0,
    "largest_inactive": 0, "pending_free": 0, "private_pools": 0, "segments": 0, "blocks": 0, "events": 0,
    "peak_allocated": 0, "peak_active": 0, "expandable_segments": None,
}  # fmt: skip
_REQUEST = interface.FailedRequest, {
    "requested": 0, "device_free": 0, "allocated": 0, "reserved": 0, "stream": "0x0", "usable_inactive": 0,
    "largest_usable": 0, "trace_event": 0, "frames": [],
}  # fmt: skip
_CLUSTER = interface.Cluster, {"bytes": 0, "growth": [], "frames": []}
_POOL = interface.Pool, {
    "stream": "0x0", "private_pool": None, "size_class": "", "reserved": 0, "allocated": 0, "pending_free": 0,
    "inactive": 0, "largest_inactive": 0,
}  # fmt: skip
_BLOCK = interface.Block, {"address": "0x0", "bytes": 0, "requested": 0, "stream": "0x0", "private_pool": None}
_ENTRY = interface.Entry, {"number": 0, "address": "0x0", "bytes": 0, "stream": "0x0", "private_pool": None, "time_us": None}
_CONCLUSION = interface.Conclusion, {"cause": "", "title": None, "confidence": 0.0, "plugin": ""}
_EARLIER = interface.EarlierReport, {"id": "", "title": "", "received": ""}
_OTHER = interface.OtherReport, {
    "id": "", "title": "", "received": "", "group": None, "host": None, "ranks": [], "signal": None, "exception": None,
}  # fmt: skip
_VERDICT = interface.Verdict, {
    "group": "", "group_description": "", "sequence": 0, "kind": "", "ranks": [], "entered": [], "operation": "",
    "detail": "", "time": None, "point_to_point": False, "frames": [],
}  # fmt: skip


def _record(value, of, **more):
    """Of 64 bits is what evidence writes as hex, and of three numbers a place in a grid."""
    kind, members = of
    read = {name: value.get(name, absent) for name, absent in members.items()}
    for name, member in read.items():
        if name in ("offset", "stream", "address"):
            read[name] = _hex(member)
        elif name in ("block", "thread", "grid_size", "block_size", "private_pool") and member is not None:
            read[name] = tuple(member)
    return kind(**read, **more)


def _hex(text):
    return None if text is None else int(text, 16)


def _lines(value):
    lines = (value.get("at") or {}).get("line")
    return tuple(lines) if lines else None


def _thread(thread):
    return interface.Thread(
        id=str(thread.get("id", "")),
        name=thread.get("name"),
        rank=thread.get("rank"),
        pid=thread.get("pid"),
        crashed=bool(thread.get("crashed")),
        artifact=thread.get("artifact", ""),
        frames=len(thread.get("frames", [])),
        omitted=thread.get("frames_omitted") or 0,
    )


def _frame(frame):
    address = frame.get("address")
    return interface.Frame(
        kind=frame.get("kind", ""),
        function=frame.get("function"),
        file=frame.get("file"),
        line=frame.get("line"),
        module=frame.get("module"),
        address=int(address, 16) if address else None,
        inline=bool(frame.get("inline")),
        trust=frame.get("trust", ""),
        signal=bool(frame.get("signal")),
    )


def _event(event):
    return interface.Event(
        number=event.get("event", 0),
        kind=event.get("kind", ""),
        detail=json.dumps(event["detail"]) if "detail" in event else "",
        text=event.get("text", ""),
        artifact=event.get("artifact", ""),
        lines=_lines(event),
        rank=event.get("rank"),
        pid=event.get("pid"),
        time=event.get("time"),
        primary=bool(event.get("primary")),
        survived=bool(event.get("survived")),
    )
