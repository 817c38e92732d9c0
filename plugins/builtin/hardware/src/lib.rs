//! What the driver's Xids say about the machine: which GPU of which node, whether a program can be to blame, which
//! lines only follow from others, and what NVIDIA says to do.

mod codes;
mod story;

use std::collections::BTreeMap;

use whycrash_plugin::facts::Xid;
use whycrash_plugin::{Diagnosis, Event, Finding, Info, Needs, Plugin, Report};

use crate::codes::{Action, Blame, Code};
use crate::story::{Fault, Story};

struct Hardware;

/// Every cause it can name.
const CAUSES: [&str; 13] = [
    "hw-c2c",
    "hw-ctxsw-timeout",
    "hw-ecc-contained",
    "hw-ecc-dbe",
    "hw-fell-off-bus",
    "hw-gsp-timeout",
    "hw-init-failed",
    "hw-mmu-fault",
    "hw-nvlink",
    "hw-row-remap",
    "hw-sm-exception",
    "hw-sympathetic",
    "hw-xid-other",
];

/// Events that say what ended a program whose channels the driver then tore down.
const ENDS: [&str; 6] = [
    "cuda-error",
    "cuda-oom",
    "device-assert",
    "native-abort",
    "python-exception",
    "fatal-python-error",
];

/// Lines of the kernel's log that are cited for one finding at most.
const CITED: usize = 5;

/// Seconds after which an Xid is not what a program died of.
const STALE: i64 = 3600;

impl Plugin for Hardware {
    fn about() -> Info {
        Info::new("hardware", env!("CARGO_PKG_VERSION"))
            .names(CAUSES)
            .needs(Needs::any_of(["event:xid"]))
    }

    fn diagnose(report: &Report) -> Result<Diagnosis, String> {
        let died = time_of_death(report);
        let counts = |event: &Event, code: u32| {
            let is_echo = codes::of(code).blame >= Blame::Note;
            !event.survived && (event.primary || is_echo) && !is_stale(event, died)
        };
        let told = report.told::<Xid>().into_iter();
        let faults: Vec<Fault> = told
            .filter(|told| counts(&told.event, told.detail.code))
            .map(Fault::of)
            .collect();
        let mut by_cause: BTreeMap<&str, Vec<Story>> = BTreeMap::new();
        for story in Story::all(faults) {
            if let Some(cause) = cause(report, &story) {
                by_cause.entry(cause).or_default().push(story);
            }
        }
        // Programs end on every GPU of a job when one of them fails.
        if by_cause.keys().any(|cause| *cause != codes::ECHO) {
            by_cause.remove(codes::ECHO);
        }
        let findings = by_cause
            .iter()
            .filter_map(|(cause, stories)| finding(report, cause, stories));
        Ok(findings.fold(Diagnosis::nothing(), Diagnosis::with))
    }
}

/// The page for what happened to a device; none where nothing did that ends a program.
fn cause(report: &Report, story: &Story) -> Option<&'static str> {
    let lead = story.lead()?;
    match lead.code.blame {
        Blame::Echo => match stated_origin(story) {
            Some((_, number)) => Some(codes::of(number).cause),
            None => (!has_ended_otherwise(report)).then_some(codes::ECHO),
        },
        // Corrected errors of links, switches and counters.
        Blame::Note if lead.xid.nvswitch || lead.code.cause == codes::OTHER || lead.code.cause == "hw-nvlink" => None,
        _ => Some(lead.code.cause),
    }
}

/// What the driver says that a teardown follows from, where the line about that is not there.
fn stated_origin(story: &Story) -> Option<(&Fault, u32)> {
    story
        .faults
        .iter()
        .find_map(|fault| Some((fault, fault.xid.caused_by?)))
}

fn has_ended_otherwise(report: &Report) -> bool {
    ENDS.iter().any(|kind| !report.events(Some(kind), 0, 1).is_empty())
}

/// One finding about all devices to which the same happened.
fn finding(report: &Report, cause: &str, stories: &[Story]) -> Option<Finding> {
    let story = stories.first()?;
    let lead = Lead::of(story)?;
    let node = node(report, &lead.fault.event);
    let suspect = match lead.code.blame {
        Blame::Program if stories.len() == 1 => story.of_another_process(lead.fault),
        _ => None,
    };
    let cited = std::iter::once(lead.fault).chain(&story.faults).take(CITED);
    let elsewhere = stories.iter().skip(1).filter_map(Story::lead).take(CITED);
    let finding = Finding::new(cause, lead.confidence())
        .because(explanation(&lead, stories, node.as_deref(), suspect.is_some()))
        .cite_all(cited.chain(elsewhere).map(|fault| report.cite(&fault.event)))
        .first_step(step(lead.code.action, lead.fault.device(), node.as_deref()));
    Some(match suspect {
        Some(fault) => finding.against(report.cite(&fault.event)),
        None => finding,
    })
}

/// What explains a story: a line of it, or an Xid that the driver names in one.
struct Lead<'s> {
    fault: &'s Fault,
    code: Code,
    name: String,
    /// Its own line is not there.
    is_stated: bool,
}

impl<'s> Lead<'s> {
    fn of(story: &'s Story) -> Option<Self> {
        let fault = story.lead()?;
        let stated = (fault.code.blame == Blame::Echo)
            .then(|| stated_origin(story))
            .flatten();
        Some(match stated {
            Some((fault, number)) => Self {
                fault,
                code: codes::of(number),
                name: format!("Xid {number}"),
                is_stated: true,
            },
            None => Self {
                fault,
                code: fault.code,
                name: fault.name(),
                is_stated: false,
            },
        })
    }

    fn confidence(&self) -> f64 {
        const STATED: f64 = 0.9;
        self.code.confidence * if self.is_stated { STATED } else { 1.0 }
    }
}

fn explanation(lead: &Lead, stories: &[Story], node: Option<&str>, is_suspect: bool) -> String {
    let device = if lead.fault.xid.nvswitch { "NVSwitch" } else { "GPU" };
    let of_node = node.map_or_else(String::new, |node| format!(" of {node}"));
    let (name, pci, what) = (&lead.name, lead.fault.device(), lead.code.what);
    let mut sentences = vec![format!(
        "The driver logged {name} for the {device} at {pci}{of_node}: {what}."
    )];
    if lead.is_stated {
        sentences.push("Its own line is not in this log; the driver names it as what others follow from.".to_owned());
    }
    if let Some(others) = stories.first().and_then(|story| story.others(lead.fault)) {
        sentences.push(format!(
            "What else it logged for this device follows from that: {others}."
        ));
    }
    let elsewhere: Vec<&str> = stories.iter().skip(1).map(Story::device).collect();
    if !elsewhere.is_empty() {
        sentences.push(format!("The same at {}.", elsewhere.join(", ")));
    }
    let blame = match (lead.code.blame, is_suspect) {
        (Blame::Program, true) => {
            "Programs cause this far more often than GPUs do; here different processes met it on one GPU alone, which speaks against the GPU."
        }
        (Blame::Program, false) => "A program can cause this, and mostly does.",
        (Blame::Device, _) => "No program can cause this.",
        _ => "",
    };
    sentences.extend((!blame.is_empty()).then(|| blame.to_owned()));
    sentences.join(" ")
}

/// What to do at once, by NVIDIA's catalogue.
fn step(action: Action, device: &str, node: Option<&str>) -> String {
    let of_node = node.map_or_else(String::new, |node| format!(" of {node}"));
    match action {
        Action::RestartProgram => format!(
            "NVIDIA's action: restart the program. The GPU at {device}{of_node} may stay in use; look at the program before the hardware."
        ),
        Action::ResetGpu => format!(
            "NVIDIA's action: take the GPU at {device}{of_node} out of use, end what runs on it, and reset it \
             (nvidia-smi --gpu-reset -i {device})."
        ),
        Action::RestartNode => format!(
            "NVIDIA's action: drain and restart the machine{of_node}; a reset does not reach a GPU that is gone from the bus ({device})."
        ),
        Action::CheckLinks => format!(
            "Drain the machine{of_node} and look at the links of {device}: nvidia-smi nvlink -s, nvidia-smi nvlink -e; then reset its GPUs together."
        ),
        Action::CheckMechanics => {
            format!("NVIDIA's action: check how the GPU at {device}{of_node} is seated and powered.")
        }
        Action::Nothing => {
            format!("NVIDIA's action: none for the GPU at {device}{of_node}; look for what came before.")
        }
        Action::Ask => {
            format!("Keep the GPU at {device}{of_node} out of use, take nvidia-bug-report.sh, and ask the vendor.")
        }
    }
}

/// The machine that wrote a line of the kernel's log, where its prefix says so: `Oct 14 03:12:07 node-7 kernel: …`.
fn node(report: &Report, event: &Event) -> Option<String> {
    let (first, _) = event.lines?;
    let line = report.lines(&event.artifact, first, 1).into_iter().next()?;
    let (prefix, _) = line.text.split_once(" kernel:")?;
    let name = prefix.split_whitespace().last()?;
    let is_name = name.contains(|c: char| c.is_ascii_alphabetic()) && !name.contains([':', '[', '<']);
    is_name.then(|| name.to_owned())
}

/// When the program first failed by its own account, in seconds.
fn time_of_death(report: &Report) -> Option<i64> {
    let of_kind = |kind: &&str| report.events(Some(kind), 0, 64).into_iter();
    let failures = ENDS
        .iter()
        .flat_map(of_kind)
        .filter(|event| event.primary && !event.survived);
    failures.filter_map(|event| seconds(event.time.as_deref()?)).min()
}

fn is_stale(event: &Event, died: Option<i64>) -> bool {
    let logged = event.time.as_deref().and_then(seconds);
    logged.zip(died).is_some_and(|(logged, died)| died - logged > STALE)
}

/// Seconds since 1970 of an RFC 3339 time in UTC.
fn seconds(time: &str) -> Option<i64> {
    let number = |range: std::ops::Range<usize>| time.get(range)?.parse::<i64>().ok();
    let (month, day) = (number(5..7)?, number(8..10)?);
    // Years are counted from March, so that the day that some have more is their last.
    let (year, months) = (number(0..4)? - i64::from(month < 3), (month + 9) % 12);
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * months + 2) / 5 + day - 719_469;
    Some(((days * 24 + number(11..13)?) * 60 + number(14..16)?) * 60 + number(17..19)?)
}

whycrash_plugin::export!(Hardware);
