"""What the sandbox runs: the plugin in `app.py` as a component of the interface."""

import wit_world
from componentize_py_types import Err
from wit_world.imports import knowledge, types

from .running import Failure, Plugin

_PLUGIN = Plugin("app")


class WitWorld(wit_world.WitWorld):
    def about(self) -> types.PluginInfo:
        try:
            said = _PLUGIN.about(wit_world.log)
        except Failure as failure:
            # The interface has no other place for it.
            for line in str(failure).splitlines():
                wit_world.log(line)
            raise
        needs = types.Needs(any_of=said["needs_any_of"], all_of=said["needs_all_of"])
        return types.PluginInfo(said["name"], said["version"], causes=said["causes"], needs=needs)

    def diagnose(self, report) -> types.Diagnosis:
        try:
            said = _PLUGIN.diagnose(report, wit_world.log)
        except Failure as failure:
            raise Err(str(failure)) from None
        for advice in said["advice"]:
            report.advise(_advice(advice))
        return types.Diagnosis(
            findings=[_finding(**finding) for finding in said["findings"]],
            next=[types.CollectNext(**collect) for collect in said["next"]],
        )


def _finding(citations, contradictions, **members) -> types.Finding:
    return types.Finding(
        citations=[_citation(**one) for one in citations],
        contradictions=[_citation(**one) for one in contradictions],
        **members,
    )


def _citation(artifact, at, quote) -> types.Citation:
    ((kind, value),) = at.items()
    place = {
        "line": lambda: types.Place_Line(types.LineRange(*value)),
        "frame": lambda: types.Place_Frame(types.FramePlace(**value)),
        "event": lambda: types.Place_Event(value),
        "bytes": lambda: types.Place_Bytes(types.ByteRange(*value)),
        "fact": lambda: types.Place_Fact(value),
    }
    return types.Citation(artifact, place[kind](), quote)


def _advice(advice) -> knowledge.Advice:
    def member(kind, name):
        return None if name is None else kind[name.upper().replace("-", "_")]

    return knowledge.Advice(
        advice["cause"],
        domain=member(knowledge.Domain, advice["domain"]),
        retry=member(knowledge.Retry, advice["retry"]),
        because=advice["because"],
    )
