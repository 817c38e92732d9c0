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
            .cite(cite::line(line))
            .into())
    }
}

whycrash_plugin::export!(Licence);
