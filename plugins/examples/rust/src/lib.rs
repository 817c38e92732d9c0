//! Says when a job ended because it got no licence.

use whycrash_plugin::{Diagnosis, Finding, Info, Needs, Plugin, Report, cite};

struct Licence;

impl Plugin for Licence {
    fn about() -> Info {
        Info::new("example-plugin", env!("CARGO_PKG_VERSION"))
            .names(["example-plugin-licence"])
            .needs(Needs::any_of(["text"]))
    }

    fn diagnose(report: &Report) -> Result<Diagnosis, String> {
        let lines = report.find("ERROR licence checkout failed: ")?;
        let Some(line) = lines.first() else {
            return Ok(Diagnosis::nothing());
        };
        let (_, reason) = line.text.split_once("failed: ").unwrap_or_default();
        Ok(Finding::new("example-plugin-licence", 0.95)
            .because(format!("The program got no licence: {reason}."))
            .cite(cite(line))
            .into())
    }
}

whycrash_plugin::export!(Licence);

#[cfg(test)]
mod tests {
    use super::*;

    fn found(case: &str) -> Vec<String> {
        let report = Report::of_case(format!("cases/{case}")).expect("the case is there");
        let diagnosis = Licence::diagnose(&report).expect("it makes sense");
        diagnosis.findings().iter().map(|finding| finding.explanation.clone()).collect()
    }

    #[test]
    fn a_checkout_that_failed_is_found() {
        let explained = "The program got no licence: server lic01.example.com:27000 does not answer.";
        assert_eq!(found("licence-server-down"), [explained]);
    }

    #[test]
    fn a_healthy_log_is_not() {
        assert!(found("healthy-log").is_empty());
    }
}
