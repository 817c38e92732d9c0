"""`.venv/bin/pytest`, after `whycrash plugin build`."""

from app import WitWorld
from report import Report


def test_a_checkout_that_failed_is_found():
    plugin = WitWorld()
    (finding,) = plugin.diagnose(Report("cases/licence-server-down")).findings
    assert [finding.cause] == plugin.about().causes
    assert finding.explanation == "The program got no licence: server lic01.example.com:27000 does not answer."
    assert (finding.citations[0].at.value.first, finding.citations[0].at.value.last) == (2, 2)


def test_a_healthy_log_is_not():
    assert WitWorld().diagnose(Report("cases/healthy-log")).findings == []
