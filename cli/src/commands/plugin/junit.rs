//! What came of a plugin's cases, in the XML that JUnit's runner for Ant wrote first and that every system for CI reads.

use std::fmt::Write as _;

use super::test::{Report, State, Tried};

/// The document: a suite of the plugin's name, with a case for each.
pub fn xml(report: &Report) -> String {
    let all: f64 = report.cases.iter().map(seconds).sum();
    let counts = format!(
        "name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"{all:.3}\"",
        escaped(&report.plugin),
        report.cases.len(),
        report.failed,
        report.skipped
    );
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(xml, "<testsuites {counts}>\n  <testsuite {counts}>");
    for tried in &report.cases {
        let _ = writeln!(
            xml,
            "    <testcase classname=\"{}\" name=\"{}\" file=\"cases/{}/case.toml\" time=\"{:.3}\">",
            escaped(&report.plugin),
            escaped(&tried.case),
            escaped(&tried.case),
            seconds(tried)
        );
        let reason = tried
            .run
            .as_ref()
            .and_then(|run| run.reason.as_deref())
            .unwrap_or_default();
        match (&tried.problem, tried.state) {
            (Some(problem), _) => {
                let first = problem.lines().next().unwrap_or_default();
                let _ = writeln!(
                    xml,
                    "      <failure message=\"{}\">{}</failure>",
                    escaped(first),
                    escaped(problem)
                );
            }
            (None, State::Skipped) => {
                let _ = writeln!(xml, "      <skipped message=\"{}\"/>", escaped(reason));
            }
            (None, _) => {}
        }
        let said = said(tried);
        if !said.is_empty() {
            let _ = writeln!(xml, "      <system-out>{}</system-out>", escaped(&said));
        }
        xml.push_str("    </testcase>\n");
    }
    xml.push_str("  </testsuite>\n</testsuites>\n");
    xml
}

/// Findings of a native run, and the lines that the plugin logged.
fn said(tried: &Tried) -> String {
    let findings = tried
        .findings
        .iter()
        .map(|finding| format!("{} ({:.2}): {}", finding.cause, finding.confidence, finding.explanation));
    let logged = tried
        .run
        .iter()
        .flat_map(|run| &run.log)
        .map(|line| format!("log: {line}"));
    findings.chain(logged).collect::<Vec<_>>().join("\n")
}

fn seconds(tried: &Tried) -> f64 {
    let millis = tried.run.as_ref().and_then(|run| run.millis);
    millis.unwrap_or_default() / 1e3
}

/// Text as it stands in XML, which knows no escape for most control characters: they are left out.
fn escaped(text: &str) -> String {
    let is_told = |c: &char| ['\n', '\t'].contains(c) || !(c.is_control() || ['\u{fffe}', '\u{ffff}'].contains(c));
    text.chars().filter(is_told).fold(String::new(), |mut xml, c| {
        match c {
            '&' => xml.push_str("&amp;"),
            '<' => xml.push_str("&lt;"),
            '>' => xml.push_str("&gt;"),
            '"' => xml.push_str("&quot;"),
            c => xml.push(c),
        }
        xml
    })
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn what_xml_has_a_use_for_is_escaped_and_what_it_can_not_hold_is_left_out() {
        assert_eq!(
            escaped("a < b && c > \"d\"\n\u{1b}[31m\u{0}"),
            "a &lt; b &amp;&amp; c &gt; &quot;d&quot;\n[31m"
        );
    }
}
