//! What the driver logged for one device, in order, and which of it explains the rest.

use whycrash_plugin::facts::Xid;
use whycrash_plugin::{Event, Told};

use crate::codes::{self, Blame, Code};

/// One Xid, with its meaning.
#[derive(Clone, Debug)]
pub struct Fault {
    pub event: Event,
    pub xid: Xid,
    pub code: Code,
}

impl Fault {
    pub fn of(told: Told<Xid>) -> Self {
        let Told { event, detail: xid } = told;
        let mut code = codes::of(xid.code);
        if is_harmless(&xid) {
            code.blame = Blame::Note;
        }
        if xid.nvswitch {
            code.cause = "hw-nvlink";
            code.what = "a link between GPUs failed at a switch";
            code.action = codes::Action::CheckLinks;
            code.confidence = 0.89;
            code.blame = if is_fatal_at_switch(&xid) {
                Blame::Link
            } else {
                Blame::Note
            };
        }
        Self { event, xid, code }
    }

    /// `Xid 48`, `SXid 20034`.
    pub fn name(&self) -> String {
        let kind = if self.xid.nvswitch { "SXid" } else { "Xid" };
        format!("{kind} {}", self.xid.code)
    }

    /// The device's address without what drivers and tools write differently.
    pub fn device(&self) -> &str {
        self.xid.pci.trim_start_matches("PCI:")
    }
}

/// Links correct most errors themselves, and the driver says so.
fn is_harmless(xid: &Xid) -> bool {
    let message = xid.message.to_ascii_lowercase();
    (144..=150).contains(&xid.code) && (message.contains("nonfatal") || message.contains("non-fatal"))
}

fn is_fatal_at_switch(xid: &Xid) -> bool {
    let severity = xid.severity.as_deref().unwrap_or_default();
    severity.to_ascii_lowercase().starts_with("fatal")
}

/// The faults of one device, oldest first.
#[derive(Clone, Debug)]
pub struct Story {
    pub faults: Vec<Fault>,
}

impl Story {
    /// One story for each device that something was logged for.
    pub fn all(mut faults: Vec<Fault>) -> Vec<Self> {
        // What the driver itself names as the reason of others is no note, whatever it says of how grave it was.
        let reasons: Vec<u32> = faults.iter().filter_map(|fault| fault.xid.caused_by).collect();
        for fault in faults.iter_mut().filter(|fault| reasons.contains(&fault.xid.code)) {
            fault.code.blame = codes::of(fault.xid.code).blame;
        }
        let mut stories: Vec<Self> = Vec::new();
        for fault in faults {
            match stories.iter_mut().find(|story| story.device() == fault.device()) {
                Some(story) => story.faults.push(fault),
                None => stories.push(Self { faults: vec![fault] }),
            }
        }
        stories
    }

    pub fn device(&self) -> &str {
        self.faults.first().map_or("", Fault::device)
    }

    /// The fault that explains the others: of the gravest kind the first.
    pub fn lead(&self) -> Option<&Fault> {
        self.faults.iter().min_by_key(|fault| fault.code.blame)
    }

    /// What followed, in words: `Xid 45 (8 times), Xid 43`.
    pub fn others(&self, lead: &Fault) -> Option<String> {
        let mut counts: Vec<(String, u64)> = Vec::new();
        for fault in self
            .faults
            .iter()
            .filter(|fault| fault.event.number != lead.event.number)
        {
            let (name, count) = (fault.name(), fault.xid.count.max(1));
            match counts.iter_mut().find(|(known, _)| *known == name) {
                Some((_, known)) => *known += count,
                None => counts.push((name, count)),
            }
        }
        let told = counts.into_iter().map(|(name, count)| match count {
            1 => name,
            _ => format!("{name} ({count} times)"),
        });
        let told: Vec<String> = told.collect();
        (!told.is_empty()).then(|| told.join(", "))
    }

    /// A later fault of another process that says the same: two programs that fail alike on one GPU speak against the
    /// GPU.
    pub fn of_another_process(&self, lead: &Fault) -> Option<&Fault> {
        let process = |fault: &Fault| (fault.event.pid, fault.xid.process.clone());
        let is_like = |fault: &&Fault| {
            fault.xid.code == lead.xid.code
                && fault.event.pid.is_some()
                && lead.event.pid.is_some()
                && process(fault) != process(lead)
        };
        self.faults.iter().find(is_like)
    }
}
