//! A checkpoint that does not load because its file is damaged, or is none.
//!
//! What says so is the reader of the file: the zip reader of `torch.load`, the pickle machine below `torch.load`, or
//! safetensors. A file that is whole and does not fit the model, or is refused for safety, is none of this.

use whycrash_plugin::facts::{NativeAbort, PythonException};
use whycrash_plugin::{Citation, Diagnosis, Event, Finding, Info, Line, Needs, Plugin, Report, Told, cite, cut};

struct Checkpoint;

const CAUSE: &str = "py-checkpoint-corrupt";

/// What the zip reader begins with, in Python and in C++.
const ZIP_READER: &str = "PytorchStreamReader failed";

/// What safetensors says of a file whose index it can not read.
const SAFETENSORS: &str = "Error while deserializing header";

/// What the unpickler for weights says of a file that begins with `<`, `v` or `{`, which no pickle does: an error page,
/// the pointer of Git LFS, JSON.
const TEXT_FILES: [&str; 3] = [
    "Unsupported operand 60",
    "Unsupported operand 118",
    "Unsupported operand 123",
];

/// Exceptions that reading a damaged pickle, zip or HDF5 file ends in, and how their messages begin.
const FORMATS: [(&str, &str); 12] = [
    ("UnpicklingError", "invalid load key"),
    ("UnpicklingError", "pickle data was truncated"),
    ("UnpicklingError", "unpickling stack underflow"),
    ("EOFError", "Ran out of input"),
    ("EOFError", ""),
    ("BadZipFile", "File is not a zip file"),
    ("RuntimeError", "unexpected EOF, expected"),
    ("RuntimeError", "Invalid magic number"),
    ("OSError", "Unable to open file (truncated file"),
    ("OSError", "Unable to synchronously open file (truncated file"),
    ("OSError", "Unable to open file (file signature not found"),
    ("OSError", "Unable to synchronously open file (file signature not found"),
];

/// `torch.load`, on the stack or in a line of the program, and functions that are named for what they do.
const LOADERS: [&str; 13] = [
    "torch/serialization.py",
    "torch\\serialization.py",
    "torch.load(",
    "jit.load(",
    "joblib.load(",
    "load_checkpoint",
    "load_ckpt",
    "load_weights",
    "load_model",
    "load_state",
    "load_pretrained",
    ", in resume",
    ", in restore",
];

impl Plugin for Checkpoint {
    fn about() -> Info {
        Info::new("checkpoint", env!("CARGO_PKG_VERSION"))
            .names([CAUSE])
            .needs(Needs::any_of(["crash", "event:native-abort", "event:python-exception"]))
    }

    fn diagnose(report: &Report) -> Result<Diagnosis, String> {
        let finding = exception(report).or_else(|| native(report));
        Ok(finding.map_or_else(Diagnosis::nothing, Diagnosis::from))
    }
}

fn exception(report: &Report) -> Option<Finding> {
    let exceptions: Vec<Told<PythonException>> = report.told();
    let told = exceptions
        .iter()
        .find(|told| ended(&told.event) && is_damage(report, told))?;
    let message = told.detail.message.lines().next().unwrap_or_default();
    Some(
        finding(message, 0.92)
            .cite(report.cite(&told.event))
            .cite_all(loader(report, &told.event)),
    )
}

/// The same from C++: an exception that nobody caught.
fn native(report: &Report) -> Option<Finding> {
    let aborts: Vec<Told<NativeAbort>> = report.told();
    let told = aborts
        .iter()
        .find(|told| ended(&told.event) && told.detail.message.contains(ZIP_READER));
    if let Some(told) = told {
        return Some(finding(&told.detail.message, 0.9).cite(report.cite(&told.event)));
    }
    let crash = report.crash()?;
    let message = crash.message.filter(|message| message.contains(ZIP_READER))?;
    let dumped = crash.message_source.is_some();
    dumped.then(|| finding(&message, 0.9).cite_all(report.cite_fact("crash.message")))
}

fn finding(message: &str, confidence: f64) -> Finding {
    let line = message.lines().next().unwrap_or_default();
    Finding::new(CAUSE, confidence).because(format!(
        "A checkpoint could not be read, because its file is damaged, incomplete or no checkpoint: \"{}\".",
        cut(line, 300)
    ))
}

fn is_damage(report: &Report, told: &Told<PythonException>) -> bool {
    let exception = told.detail.exception.rsplit('.').next().unwrap_or_default();
    let message = told.detail.message.as_str();
    let of_format = || {
        let known = |(name, start): &(&str, &str)| exception == *name && matches_start(message, start);
        FORMATS.iter().any(known) && loader(report, &told.event).is_some()
    };
    let of_text = || exception == "UnpicklingError" && TEXT_FILES.iter().any(|said| message.contains(said));
    let of_safetensors = || exception == "SafetensorError" && message.contains(SAFETENSORS);
    message.contains(ZIP_READER) || of_safetensors() || of_text() || of_format()
}

/// An empty beginning stands for an empty message.
fn matches_start(message: &str, start: &str) -> bool {
    if start.is_empty() {
        message.is_empty()
    } else {
        message.starts_with(start)
    }
}

/// The line of the traceback that loads a checkpoint: files of these forms are read by others as well.
fn loader(report: &Report, event: &Event) -> Option<Citation> {
    let lines = report.lines_of(event);
    let loads = |line: &&Line| LOADERS.iter().any(|name| line.text.contains(name));
    lines.iter().find(loads).map(cite::line)
}

/// Whether an event ended its process, and by itself.
fn ended(event: &Event) -> bool {
    event.primary && !event.survived
}

whycrash_plugin::export!(Checkpoint);
