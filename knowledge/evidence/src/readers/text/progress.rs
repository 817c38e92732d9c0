//! Tells what a process survived: a failure after which it went on training was caught, or only printed.

use regex::bytes::Regex;
use std::collections::HashSet;
use std::sync::LazyLock;

use super::sink::Sink;
use crate::model::{Event, EventPayload, Place, ThreadId};

/// Lines that a training loop prints while it goes on, and what others print of work that is done. Other lines prove
/// nothing: a dying process prints warnings, summaries and what its peers still say.
const FORMS: [&str; 18] = [
    r"\b(?:step|epoch|iter(?:ation)?|batch|loss|global_step)\b['\x22]?[ =:/#\[\]]{0,4}\d",
    r"\x22it\x22: ?\d",
    // ultralytics: the epoch, and the memory of the device.
    r"^\s*\d+/\d+\s+\d+(?:\.\d+)?G\s",
    // Progress bars: `[22:04<06:10, 2.37 block/s]`.
    r"\d+(?:\.\d+)?(?:it/s|s/it)\b",
    r"\[\d+:\d\d(?::\d\d)?<[^\]?]*/s[^\]]*\]",
    // Requests that a server answered.
    r"\bHTTP/\d(?:\.\d)?\x22 [234]\d\d\b",
    r"\b(?:GET|POST|PUT|PATCH|DELETE) /\S* [234]\d\d\b|\| 2\d\d \|",
    r"\x22status\x22: ?2\d\d\b|\(status=2\d\d,",
    r"\bCALL /\S+ (?:OK|[234]\d\d)\b",
    // Inference engines.
    r"\bgeneration throughput: [1-9]|\bgen throughput \(token/s\): [1-9]|\bPrompt executed in\b",
    // What the trainer of transformers sums up when it is through.
    r"^\s*(?:train|eval|predict|test)_(?:runtime|samples_per_second|steps_per_second)\s+=",
    // Trainers and launchers that came to their end.
    r"\bTrainer\.fit\b.{0,2} stopped: .max_(?:epochs|steps)",
    r"\bProcess \d+ exits successfully\b",
    // A search tells of its trials, and a loop that it leaves a batch out.
    r"\bTrial \d+ (?:finished|pruned)\b",
    r"\bskipping (?:this |the )?batch\b",
    RETRIED,
    NEXT,
    // Kubernetes.
    r"^\s*(?:\S+\s+)?Normal\s+(?:Started|Pulled|Created|Completed)\b",
];

/// What says by itself that the failure before it was expected, and is tried again with less.
const RETRIED: &str = r"\b(?:decreasing|reducing|halving|lowering) (?:the )?batch[ _-]?size (?:to|from|by)\b|\battempting to recover from oom\b|\bretrying with (?:a )?(?:smaller|lower|reduced)\b|\bautobatch: using batch-size\b|\bbatch size \d+ failed, trying batch size\b|\bbatch size finder, will continue\b|\bwill retry in \d+ seconds?\. \d+ retr(?:y|ies) left\b";

/// What a search says of a trial, and a server of an application, that came after the one that failed: Optuna, Ray Tune,
/// Keras Tuner, `AutoGluon`, `PyCaret`, Determined, Argo's tree of a workflow that succeeded, Ray Serve, Triton's server,
/// `TorchServe`, llama.cpp's; pip and Spack of packages that they built another way or had from elsewhere; nbconvert of a
/// notebook in which cells may fail; Caffe and Ultralytics of a training that came to its end.
const NEXT: &str = r"^==> \S+: Successfully installed \S|^\s*Successfully installed [\w.-]+-\d|\[NbConvertApp\] Writing \d+ bytes to |\bserver is listening on http|\bDeployed app '[^']+' successfully\b|\] Optimization Done\.|^\d+ epochs completed in \d|\bTrial \d+ (?:\(.{0,40}\) )?finished: COMPLETED\b|\bTraining completed after \d+ iterations\b|^\s*✔ \S+ +\S+\s*$|\bState change WORKER_STARTED -> WORKER_MODEL_LOADED\b|\bTrial \d+ finished with values?\b|\bTrial \S+ completed after \d+ iterations\b|\bTrial \d+ Complete\b|\bNumber of finished trials\b\W+[1-9]|\bcompare_models\(\) successfully completed\b|^Fitting model: \S|\bApplication '[^']+' is ready at http|\bStarted (?:HTTPService|GRPCInferenceService) at\b";

static PROGRESS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(&format!("(?i-u){}", FORMS.join("|"))).expect("a fixed pattern"));

/// So many of them after a failure mean that it was survived; fewer may have been printed by a peer.
const ENOUGH: usize = 3;

/// So many are enough after ranks waited for each other: none goes far without the others.
const MET: usize = 2;

/// Whose words are no progress: Slurm's steps are no steps of training, and trackers of experiments sum up what was
/// logged while a process ends, whatever it ends of.
const OF_OTHERS: [&str; 4] = ["slurmstepd: ", "srun: ", "wandb: ", "COMET "];

/// The most recent lines of progress.
#[derive(Debug, Default)]
pub struct Progress {
    last: [u64; ENOUGH],
}

impl Progress {
    /// What ended before this line was followed by enough progress.
    fn settled(&self) -> u64 {
        self.last.first().copied().unwrap_or_default()
    }

    /// True when every event so far was followed by enough progress: more lines of it tell nothing new until the next
    /// event.
    pub fn is_settled(&self, sink: &Sink) -> bool {
        self.settled() > sink.newest_line
    }

    /// Looks at a line that no grammar reads. Costs nothing until there is something to survive: an event, or what
    /// another stream has begun to tell, which may become one.
    pub fn plain_line(&mut self, number: u64, raw: &[u8], is_telling: bool, sink: &mut Sink) {
        let is_needless = sink.events.is_empty() || self.is_settled(sink);
        if is_needless && !is_telling || !is_progress(raw) {
            return;
        }
        if is_enough(raw) {
            self.last = [number; ENOUGH];
        }
        self.last.rotate_left(1);
        if let Some(newest) = self.last.last_mut() {
            *newest = number;
        }
        sink.settled = self.settled();
        sink.met = self.last[ENOUGH - MET];
    }
}

/// Whether a line alone says that what came before it was survived.
fn is_enough(raw: &[u8]) -> bool {
    static PATTERN: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(&format!("(?i-u){RETRIED}|{NEXT}")).expect("a fixed pattern"));
    PATTERN.is_match(raw)
}

/// Whether a line is one that a training loop prints while it goes on.
pub fn is_progress(raw: &[u8]) -> bool {
    // A bar that did not end its line, behind which a rank tells of its end, and a step that is told of as the last.
    let is_cut = || {
        [&b"][rank"[..], b"]forrtl: ", b"stopped at step", b"failed at step"]
            .iter()
            .any(|end| memchr::memmem::find(raw, end).is_some())
    };
    !OF_OTHERS.iter().any(|who| raw.starts_with(who.as_bytes())) && PROGRESS.is_match(raw) && !is_cut()
}

/// Marks what was followed by progress. Where several ranks print into one artifact without tags, that may have
/// been a peer's: then nothing is marked that the launcher or the system called fatal later.
pub fn mark_survivors(sink: &mut Sink) {
    let (settled, met) = (sink.settled, sink.met);
    let (mut survivors, mut failed) = (HashSet::new(), HashSet::new());
    let (end, said_well) = (sink.came_to_its_end, sink.said_well);
    // What is read out of a message that the interpreter only reported is no more than the message.
    let reported = sink.events.iter().filter(|event| is_only_reported(event));
    let reported: Vec<[u64; 2]> = reported.flat_map(places).collect();
    let is_inside = |[first, last]: [u64; 2]| reported.iter().any(|[from, to]| *from <= first && last <= *to);
    let restarted = restarted(sink);
    let is_reported = |event: &Event| event.at.is_some() && !reported.is_empty() && places(event).all(is_inside);
    for event in &mut sink.events {
        event.survived = is_survived(event, settled)
            || is_stall(event) && last_line(event) < met
            || is_reported(event)
            || is_of_a_child(event, end)
            || is_done_without(event)
            || last_line(event) < restarted
            || is_farewell(event, said_well)
            || end_of(event) < sink.tests_passed;
        let stacks = if event.survived { &mut survivors } else { &mut failed };
        stacks.extend(stack(event));
    }
    // Dumps of signals do not say which threads they are of.
    let was_handled = || sink.events.iter().any(is_of_windows);
    let nothing_failed = (end > 0 || was_handled()) && sink.events.iter().all(|event| event.survived);
    for thread in &mut sink.threads {
        if nothing_failed || survivors.contains(&thread.id) && !failed.contains(&thread.id) {
            thread.crashed = false;
        }
    }
}

/// The line up to which the launcher had started all workers anew when they went on.
fn restarted(sink: &Sink) -> u64 {
    let of_launcher = |event: &&Event| matches!(event.payload, EventPayload::ElasticFailure(_));
    let survived = sink
        .events
        .iter()
        .filter(of_launcher)
        .filter(|event| is_survived(event, sink.settled));
    survived.map(last_line).max().unwrap_or_default()
}

/// Python prints the stack of every exception of Windows, those that are handled too.
fn is_of_windows(event: &Event) -> bool {
    matches!(event.payload, EventPayload::FatalPythonError(_)) && event.text.contains("Windows fatal exception: ")
}

/// `Exception ignored in: …`.
fn is_only_reported(event: &Event) -> bool {
    matches!(&event.payload, EventPayload::PythonException(exception) if exception.ignored)
}

/// Lines of an event: the first time, and the last time that it was told.
fn places(event: &Event) -> impl Iterator<Item = [u64; 2]> {
    [&event.at, &event.last_at]
        .into_iter()
        .flatten()
        .map(|place| match place {
            Place::Line(lines) => *lines,
            _ => [u64::MAX; 2],
        })
}

/// A report of a sanitizer that nothing closed has the rest of the text in it.
fn end_of(event: &Event) -> u64 {
    match &event.payload {
        EventPayload::Sanitizer(_) => first_line(event),
        _ => last_line(event),
    }
}

/// Whether the last time that it happened was followed by progress.
pub fn is_survived(event: &Event, settled: u64) -> bool {
    last_line(event) < settled && (is_of_windows(event) || is_restarted(event) || can_be_survived(&event.payload))
}

/// Whether who tells of a worker's end says that he starts it anew.
fn is_restarted(event: &Event) -> bool {
    let is_end = matches!(event.payload, EventPayload::ProcessExit(_));
    is_end && super::regex!(r"(?i-u)\b(?:restart|respawn)(?:ing|ed)\b").is_match(&event.text)
}

/// Whether ranks waited for each other, or a server for its workers.
fn is_stall(event: &Event) -> bool {
    matches!(&event.payload, EventPayload::Watchdog(watchdog) if watchdog.family == "stalled")
}

/// Whether the line that tells of a failure of the device says what is done without it, or tried instead.
fn is_done_without(event: &Event) -> bool {
    let is_of_device = matches!(
        event.payload,
        EventPayload::CudaError(_) | EventPayload::CudaOom(_) | EventPayload::LastWords(_)
    );
    let says = || {
        super::regex!(r"(?i-u)\bfall(?:ing|s)?[ -]?back\b|\bfell back\b|, using (?:the )?(?:cpu|numpy)\b|\bwill (?:run on|use) (?:the )?cpu\b|\bretrying\b|\btrying (?:again\b|with\b|[0-9])")
            .is_match(&event.text)
    };
    // What is told again was not done without.
    let says_once = || event.last_at.is_none() && event.text.contains("will try to continue");
    is_of_device && (says() || says_once())
}

/// Whether a rank lost its store when all was done.
fn is_farewell(event: &Event, said_well: u64) -> bool {
    said_well > 0 && first_line(event) > said_well && matches!(event.payload, EventPayload::Rendezvous(_))
}

/// Whether it ended a process, and not the one that came to its end on that line.
fn is_of_a_child(event: &Event, end: u64) -> bool {
    let is_deadly = matches!(
        event.payload,
        EventPayload::FatalPythonError(_) | EventPayload::NativeAbort(_)
    );
    // Airflow, which tried again.
    let was_tried_again =
        matches!(event.payload, EventPayload::ProcessExit(_)) && event.text.contains("exited with return code ");
    // A server that was asked to stop, and did.
    let was_asked =
        matches!(&event.payload, EventPayload::ProcessExit(exit) if exit.signal.as_deref() == Some("SIGTERM"));
    (is_deadly || was_asked || was_tried_again) && last_line(event) < end
}

fn stack(event: &Event) -> Option<ThreadId> {
    match &event.payload {
        EventPayload::PythonException(exception) => exception.thread.clone(),
        _ => None,
    }
}

/// Line an event starts on; 0 for one without a place in a text.
pub fn first_line(event: &Event) -> u64 {
    match &event.at {
        Some(Place::Line([first, _])) => *first,
        _ => 0,
    }
}

/// Line an event ends on, the last time it was told; past all for one without a place in a text.
pub fn last_line(event: &Event) -> u64 {
    match event.last_at.as_ref().or(event.at.as_ref()) {
        Some(Place::Line([_, last])) => *last,
        _ => u64::MAX,
    }
}

fn can_be_survived(what: &EventPayload) -> bool {
    match what {
        EventPayload::CudaError(error) => !error.sticky,
        EventPayload::Watchdog(watchdog) => watchdog.family == "stalled",
        EventPayload::FatalPythonError(error) => error.signal.is_none() && error.error.starts_with("Timeout"),
        // A step of a job that was queued again, and a helper that was not needed any more.
        EventPayload::ProcessExit(exit) => exit.signal.as_deref() == Some("SIGTERM"),
        // What the launcher says of a worker is followed by more only where it starts the workers anew.
        EventPayload::ElasticFailure(_)
        | EventPayload::PythonException(_)
        | EventPayload::CudaOom(_)
        | EventPayload::HostOom(_)
        | EventPayload::SharedMemory(_)
        | EventPayload::NcclWarning(_)
        | EventPayload::Rendezvous(_)
        | EventPayload::Autograd(_)
        | EventPayload::Divergence(_) => true,
        _ => false,
    }
}
