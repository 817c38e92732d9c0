"""A report for tests, made of a case's folder.

Files of text are its lines, and `evidence.json`, where there is one, the evidence: `whycrash inspect --format json FOLDER >
FOLDER/evidence.json` writes it. Nothing is bounded or checked here: whether citations hold, and what a run costs,
`whycrash plugin test` says.
"""

import json
import re
from pathlib import Path
from types import SimpleNamespace as Record

NOT_LEFT = {"case.toml", "evidence.json", "expected.json"}


class Report:
    """What `diagnose` is given."""

    def __init__(self, folder):
        files = sorted(path for path in Path(folder).iterdir() if path.is_file() and path.name not in NOT_LEFT)
        self._texts = {path.name: path.read_text(errors="replace").splitlines() for path in files}
        evidence = Path(folder) / "evidence.json"
        document = json.loads(evidence.read_text()) if evidence.exists() else {}
        self._evidence = document.get("evidence", document)

    def artifacts(self):
        return [
            Record(name=name, kind="log", bytes=len("\n".join(lines)), lines=len(lines))
            for name, lines in self._texts.items()
        ]

    def fact(self, path):
        value = self._evidence
        for name in path.split("."):
            if isinstance(value, list):
                value = value[int(name)] if name.isdigit() and int(name) < len(value) else None
            else:
                value = value.get(name) if isinstance(value, dict) else None
        return None if value is None else json.dumps(value)

    def context(self, path):
        return self.fact(f"context.{path}")

    def lines(self, artifact, first, count):
        return [line for line in self._numbered(artifact) if line.number >= first][:count]

    def search(self, artifact, pattern, limit):
        return [line for line in self._numbered(artifact) if re.search(pattern, line.text)][:limit]

    def _numbered(self, artifact):
        wanted = [name for name in self._texts if artifact in (None, name)]
        for name in wanted:
            for number, text in enumerate(self._texts[name], start=1):
                yield Record(artifact=name, number=number, text=text)

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
        return len(self._evidence.get(of, []))

    def codes(self, thread, first, count):
        frames = self._of("threads", thread, "frames", first, count)
        return [_record(frame, _CODE, lines=_lines(frame)) for frame in frames]

    def modules(self, first, count):
        modules = self._evidence.get("modules", [])[first : first + count]
        return [_record(one, _MODULE, first=_hex(one.get("start")), end=_hex(one.get("end"))) for one in modules]

    def software(self, name):
        """In a plugin there is also what binaries, drivers and libraries tell."""
        packages = (self._evidence.get("context") or {}).get("packages", {})
        software = [
            Record(name=key.lower().replace("_", "-"), version=version, fact=f"context.packages.{key}")
            for key, version in packages.items()
        ]
        return [one for one in software if name in (None, one.name)]

    def gpu_cores(self):
        return [_record(core, _CORE) for core in self._evidence.get("gpu_cores", [])]

    def gpu_faults(self, core, first, count):
        return [_record(fault, _FAULT) for fault in self._of("gpu_cores", core, "faults", first, count)]

    def gpu_warps(self, core, first, count):
        return [_record(warps, _WARPS) for warps in self._of("gpu_cores", core, "warps", first, count)]

    def memory_summaries(self):
        snapshots = self._evidence.get("memory_snapshots", [])
        return [_record(one, _SNAPSHOT, failed_requests=one.get("oom_events", 0)) for one in snapshots]

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
        usage = self._entry("memory_snapshots", snapshot).get("usage") or {"event": [], "min": [], "max": []}
        times = usage.get("time_us") or [None] * len(usage["event"])
        rows = zip(usage["event"], times, usage["min"], usage["max"])
        stretches = [Record(event=event, time_us=time, least=least, most=most) for event, time, least, most in rows]
        return [one for one in stretches if first <= one.event < end][:count]

    def rank_overview(self):
        told = self._evidence.get("collectives")
        if told is None:
            return None
        return Record(
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

    def cause(self, id):
        """In tests of a plugin nothing is documented."""
        return None

    def advise(self, advice):
        """Nobody listens."""

    def _entry(self, member, number):
        entries = self._evidence.get(member, [])
        return entries[number] if number < len(entries) else {}

    def _of(self, member, number, of, first, count):
        return self._entry(member, number).get(of, [])[first : first + count]


# Members of records, each with what stands for it where it is absent.
_CODE = {"build_id": None, "offset": None}
_MODULE = {"path": "", "build_id": None, "symbols": None, "artifact": ""}
_CORE = {
    "artifact": "", "device": 0, "exception": None, "kernel": None, "offset": None, "file": None, "line": None,
    "block": None, "thread": None, "grid_size": None, "block_size": None, "name": None, "architecture": None,
}  # fmt: skip
_FAULT = {
    "exception": None, "sm": 0, "warp": 0, "lane": None, "block": None, "thread": None, "kernel": None, "offset": None,
}  # fmt: skip
_WARPS = {"kernel": None, "offset": None, "count": 0, "faulted": 0}
_SNAPSHOT = {
    "artifact": "", "device": 0, "reserved": 0, "allocated": 0, "active": 0, "requested": 0, "inactive": 0,
    "largest_inactive": 0, "pending_free": 0, "private_pools": 0, "segments": 0, "blocks": 0, "events": 0,
    "peak_allocated": 0, "peak_active": 0, "expandable_segments": None,
}  # fmt: skip
_REQUEST = {
    "requested": 0, "device_free": 0, "allocated": 0, "reserved": 0, "stream": "0x0", "usable_inactive": 0,
    "largest_usable": 0, "trace_event": 0, "frames": [],
}  # fmt: skip
_CLUSTER = {"bytes": 0, "growth": [], "frames": []}
_POOL = {
    "stream": "0x0", "private_pool": None, "size_class": "", "reserved": 0, "allocated": 0, "pending_free": 0,
    "inactive": 0, "largest_inactive": 0,
}  # fmt: skip
_VERDICT = {
    "group": "", "group_description": "", "sequence": 0, "kind": "", "ranks": [], "entered": [], "operation": "",
    "detail": "", "time": None, "point_to_point": False, "frames": [],
}  # fmt: skip


def _record(value, members, **more):
    """Of 64 bits is what evidence writes as hex, and of three numbers a place in a grid."""
    read = {name: value.get(name, absent) for name, absent in members.items()}
    for name, of in read.items():
        if name in ("offset", "stream"):
            read[name] = _hex(of)
        elif name in ("block", "thread", "grid_size", "block_size", "private_pool") and of is not None:
            read[name] = tuple(of)
    return Record(**read, **more)


def _hex(text):
    return None if text is None else int(text, 16)


def _lines(value):
    lines = (value.get("at") or {}).get("line")
    return tuple(lines) if lines else None


def _thread(thread):
    return Record(
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
    return Record(
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
    return Record(
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
