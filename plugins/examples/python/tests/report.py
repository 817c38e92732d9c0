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
    lines = (event.get("at") or {}).get("line")
    return Record(
        number=event.get("event", 0),
        kind=event.get("kind", ""),
        detail=json.dumps(event["detail"]) if "detail" in event else "",
        text=event.get("text", ""),
        artifact=event.get("artifact", ""),
        lines=tuple(lines) if lines else None,
        rank=event.get("rank"),
        pid=event.get("pid"),
        time=event.get("time"),
        primary=bool(event.get("primary")),
        survived=bool(event.get("survived")),
    )
