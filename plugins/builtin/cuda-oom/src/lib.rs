//! Why a `DataLoader` worker died.

use whycrash_plugin::{Diagnosis, Finding, Info, Needs, Plugin, Report, cite};

struct X;

impl Plugin for X {
    fn about() -> Info {
        Info::new("cuda-oom", env!("CARGO_PKG_VERSION")).names(["dl-shm-bus-error"]).needs(Needs::any_of(["text"]))
    }

    fn diagnose(report: &Report) -> Result<Diagnosis, String> {
        let lines = report.find(r"DataLoader worker \(pid \d+\) is killed by signal: Bus error")?;
        let Some(line) = lines.first() else { return Ok(Diagnosis::nothing()) };
        Ok(Finding::new("dl-shm-bus-error", 0.9).because("A worker ran out of shared memory.").cite(cite::line(line)).into())
    }
}

whycrash_plugin::export!(X);
