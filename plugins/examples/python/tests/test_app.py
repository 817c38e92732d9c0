"""`.venv/bin/pytest`, or any other `pytest`."""

from app import about, diagnose
from whycrash import Finding, LineRange, Place_Line
from whycrash.testing import report_of


def test_a_checkout_that_failed_is_found() -> None:
    finding = diagnose(report_of("cases/licence-server-down"))
    assert isinstance(finding, Finding)
    assert [finding.cause] == about().causes
    assert finding.explanation == "The program got no licence: server lic01.example.com:27000 does not answer."
    assert finding.citations[0].at == Place_Line(LineRange(2, 2))


def test_a_healthy_log_is_not() -> None:
    assert diagnose(report_of("cases/healthy-log")) is None
