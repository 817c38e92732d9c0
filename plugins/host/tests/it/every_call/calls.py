"""Prints what a report for tests in Python answers to every call, one line of JSON for each case.

`python3 calls.py FOLDER-OF-LIBRARY CASE…`; `plugins/builtin/hostile/every-call` asks the same.
"""

import json
import sys

sys.path.insert(0, sys.argv[1])
from whycrash import Moment  # noqa: E402
from whycrash.testing import report_of  # noqa: E402

FACTS = [
    "", "nothing", "crash", "crash.signal", "/crash/signal", "threads", "threads.0",
    "threads.0.frames.0.function", "/threads/0/id", "threads.x", "timeline.0", "timeline.0.detail",
    "modules.0", "memory_snapshots.0", "memory_snapshots.0.clusters.0.frames.0", "memory_curves.0",
    "memory_details.0.artifact", "memory_details.0.blocks.1", "memory_details.0.blocks.1.address",
    "memory_details.0.trace.0.action", "memory_details.0.stacks.0", "gpu_cores.0", "collectives",
    "collectives.verdicts.0.kind", "communicators.0", "processes.0", "context", "context.host",
    "history.earlier.0.title", "history.earlier.0.conclusions", "history.incident.0",
]  # fmt: skip
CONTEXT = ["", "host", "/host", "packages", "packages.torch", "python.version"]
LISTS = [
    "threads", "modules", "memory_snapshots", "memory_details", "memory_curves", "gpu_cores", "timeline",
    "communicators", "processes", "context", "nothing",
]  # fmt: skip
PATTERNS = ["rror", "^.*[0-9]+$", "no line has this", "("]
PAGE, LAST, END = 4096, 2**32 - 1, 2**64 - 1
PAIR = ("lines", "private_pool")
WIDE = {
    "address", "offset", "stream", "trace_event", "time_us", "sequence", "least", "most", "requested", "device_free", "allocated",
    "reserved", "usable_inactive", "largest_usable", "active", "inactive", "largest_inactive", "pending_free",
    "private_pools", "segments", "events", "peak_allocated", "peak_active", "failed_requests", "blocks_kept",
    "events_kept", "bytes", "blocks", "faulted", "omitted", "end", "growth",
}  # fmt: skip
RECORDS = {
    "artifact": ("name kind bytes lines", "lines"),
    "line": ("artifact number text", "number"),
    "thread": ("id name rank pid crashed artifact frames omitted", ""),
    "frame": ("kind function file line module address inline trust signal", ""),
    "event": ("number kind detail text artifact lines rank pid time primary survived", ""),
    "code": ("build_id offset lines", ""),
    "module": ("path build_id first end symbols artifact", "first"),
    "software": ("name version fact", ""),
    "core": (
        "artifact device exception kernel offset file line block thread grid_size block_size name architecture", "",
    ),
    "fault": ("exception sm warp lane block thread kernel offset", ""),
    "warps": ("kernel offset count faulted", "count"),
    "snapshot": (
        "artifact device reserved allocated active requested inactive largest_inactive pending_free private_pools segments "
        "blocks events peak_allocated peak_active expandable_segments failed_requests blocks_kept events_kept", "",
    ),
    "failed": (
        "requested device_free allocated reserved stream usable_inactive largest_usable trace_event frames", "",
    ),
    "cluster": ("bytes blocks growth frames", ""),
    "pool": ("stream private_pool size_class reserved allocated pending_free inactive largest_inactive", ""),
    "stretch": ("event time_us least most", "event"),
    "block": ("address bytes requested state stream private_pool frames fact", ""),
    "entry": ("number action address bytes stream private_pool time_us frames fact", "number"),
    "overview": ("recorded unrecorded culprits circle behind_once verdicts", ""),
    "verdict": (
        "number group group_description sequence kind ranks entered operation detail time point_to_point frames", "",
    ),
    "earlier": ("id title received conclusions fact", ""),
    "conclusion": ("cause title confidence plugin", ""),
    "other": ("id title received group host ranks signal exception fact", ""),
}  # fmt: skip


def parsed(text):
    """What is none is told apart from a null."""
    return None if text is None or text == "" else "a null" if text == "null" else json.loads(text)


def value(record, kind):
    names, wide = RECORDS[kind]
    return [member(kind, name, getattr(record, name), wide.split()) for name in names.split()]


def member(kind, name, said, wide):
    if said is None:
        return None
    if kind == "event" and name == "detail":
        return parsed(said)
    if name == "conclusions":
        return [value(one, "conclusion") for one in said]
    if name in ("state", "action"):
        return said.name.lower().replace("_", "-")
    if isinstance(said, tuple):
        return [str(number) for number in said] if name in PAIR else list(said)
    if isinstance(said, list) and name not in WIDE:
        return said
    if name in WIDE or name in wide:
        return [str(number) for number in said] if isinstance(said, list) else str(said)
    return said


def listed(records, kind):
    return [value(record, kind) for record in records]


def maybe(record, kind):
    return None if record is None else value(record, kind)


def found(report, artifact, pattern, limit):
    try:
        return listed(report.search(artifact, pattern, limit), "line")
    except Exception:
        return "wrong"


def calls(report):
    artifacts = report.artifacts()
    yield "artifacts", listed(artifacts, "artifact")
    for name, last in [*((one.name, one.lines) for one in artifacts), ("no such file", 1)]:
        for first, count in [(0, 3), (2, 2), (last, 5), (1, 0), (END, 1)]:
            yield f"lines {name} {first} {count}", listed(report.lines(name, first, count), "line")
        yield f"search {name}", found(report, name, "[a-z]+", 2)
    for pattern in PATTERNS:
        yield f"search {pattern}", found(report, None, pattern, 5)
        yield f"search none {pattern}", found(report, None, pattern, 0)
    for path in FACTS:
        yield f"fact {path}", parsed(report.fact(path))
    for path in CONTEXT:
        yield f"context {path}", parsed(report.context(path))
    for name in LISTS:
        yield f"count {name}", report.count(name)
    yield "threads", listed(report.threads(0, PAGE), "thread")
    yield "threads 1 2", listed(report.threads(1, 2), "thread")
    yield "threads beyond", listed(report.threads(LAST, 1), "thread")
    for thread in [0, 1, 2, LAST]:
        for first, count in [(0, PAGE), (1, 2), (LAST, 1)]:
            yield f"frames {thread} {first} {count}", listed(report.frames(thread, first, count), "frame")
            yield f"codes {thread} {first} {count}", listed(report.codes(thread, first, count), "code")
    yield "events", listed(report.events(None, 0, PAGE), "event")
    yield "events 1 2", listed(report.events(None, 1, 2), "event")
    for kind in ["python-exception", "cuda-oom", "no-such"]:
        yield f"events {kind}", listed(report.events(kind, 0, 2), "event")
    yield "modules", listed(report.modules(0, PAGE), "module")
    yield "modules 1 1", listed(report.modules(1, 1), "module")
    yield "software", listed(report.software(None), "software")
    yield "software torch", listed(report.software("torch"), "software")
    yield "gpu-cores", listed(report.gpu_cores(), "core")
    for core in [0, 1, LAST]:
        for first, count in [(0, PAGE), (1, 1)]:
            yield f"gpu-faults {core} {first} {count}", listed(report.gpu_faults(core, first, count), "fault")
            yield f"gpu-warps {core} {first} {count}", listed(report.gpu_warps(core, first, count), "warps")
    yield from snapshots(report)
    yield from together(report)


def snapshots(report):
    yield "memory-snapshots", [parsed(text) for text in report.memory_snapshots()]
    yield "memory-summaries", listed(report.memory_summaries(), "snapshot")
    for snapshot in [0, 1, LAST]:
        yield f"failed-request {snapshot}", maybe(report.failed_request(snapshot), "failed")
        for first, count in [(0, PAGE), (1, 1)]:
            for moment in ["end", "peak"]:
                clusters = report.clusters(snapshot, Moment[moment.upper()], first, count)
                yield f"clusters {moment} {snapshot} {first} {count}", listed(clusters, "cluster")
            yield f"pools {snapshot} {first} {count}", listed(report.pools(snapshot, first, count), "pool")
        for first, end, count in [(0, END, PAGE), (0, END, 10), (3, 40, 7), (5, 5, 3), (0, 9, 0)]:
            stretches = report.usage(snapshot, first, end, count)
            yield f"usage {snapshot} {first} {end} {count}", listed(stretches, "stretch")
        blocks = report.blocks(snapshot, 0, PAGE)
        middle = blocks[len(blocks) // 2].address if blocks else 1
        yield f"blocks {snapshot}", listed(blocks, "block")
        for first, count in [(middle, 2), (middle + 1, 2), (END, 1), (0, 0)]:
            yield f"blocks {snapshot} {first} {count}", listed(report.blocks(snapshot, first, count), "block")
        entries = report.trace(snapshot, 0, PAGE)
        middle = entries[len(entries) // 2].number if entries else 1
        yield f"trace {snapshot}", listed(entries, "entry")
        for first, count in [(middle, 3), (END, 1), (0, 0)]:
            yield f"trace {snapshot} {first} {count}", listed(report.trace(snapshot, first, count), "entry")


def together(report):
    for rank in [None, 0, LAST]:
        name = "all" if rank is None else rank
        yield f"collectives {name}", [parsed(text) for text in report.collectives(rank)]
        yield f"rank-verdicts {name}", listed(report.rank_verdicts(rank, 0, PAGE), "verdict")
        yield f"rank-verdicts {name} 1 1", listed(report.rank_verdicts(rank, 1, 1), "verdict")
    yield "rank-overview", maybe(report.rank_overview(), "overview")
    for first, count in [(0, PAGE), (1, 1), (LAST, 1)]:
        yield f"earlier {first} {count}", listed(report.earlier(first, count), "earlier")
        yield f"incident {first} {count}", listed(report.incident(first, count), "other")


for case in sys.argv[2:]:
    print(json.dumps([list(call) for call in calls(report_of(case))]))
