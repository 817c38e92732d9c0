"""Says when a job ended because it got no licence."""

import wit_world
from wit_world.imports.types import Citation, Diagnosis, Finding, LineRange, Needs, Place_Line, PluginInfo


class WitWorld(wit_world.WitWorld):
    def about(self) -> PluginInfo:
        needs = Needs(any_of=["text"], all_of=[])
        return PluginInfo("example-plugin", "0.1.0", causes=["example-plugin-licence"], needs=needs)

    def diagnose(self, report) -> Diagnosis:
        lines = report.search(None, "ERROR licence checkout failed: ", 1)
        if not lines:
            return Diagnosis(findings=[], next=[])
        line = lines[0]
        _, _, reason = line.text.partition("failed: ")
        finding = Finding(
            cause="example-plugin-licence",
            title=None,
            confidence=0.95,
            explanation=f"The program got no licence: {reason}.",
            citations=[Citation(line.artifact, Place_Line(LineRange(line.number, line.number)), line.text)],
            contradictions=[],
            first_step=None,
        )
        return Diagnosis(findings=[finding], next=[])
