"""Says when a job ended because it got no licence."""

from whycrash import Answer, Finding, Info, Report, cite


def about() -> Info:
    return Info("example-plugin", "0.1.0", causes=["example-plugin-licence"], needs_any_of=["text"])


def diagnose(report: Report) -> Answer:
    for line in report.find("ERROR licence checkout failed: ", 1):
        _, _, reason = line.text.partition("failed: ")
        return Finding(
            cause="example-plugin-licence",
            confidence=0.95,
            explanation=f"The program got no licence: {reason}.",
            citations=[cite(line)],
        )
    return None
