//! The one line a person knows a crash by.

use super::code::own_line;
use super::frames::{interesting, lead, plain_function};
use super::subject::Subject;
use crate::Evidence;
use crate::model::{Event, EventPayload, Frame, FrameKind, Hang};
use crate::readers::text::regex;

/// Longest title.
const TITLE_CHARS: usize = 160;

/// The title of evidence in which nothing failed, as far as artifacts say so themselves.
pub const NO_FAILURE: &str = "no failure found";

/// The line a person recognizes a report by, such as `SIGSEGV in trainer::SumReducer<float>::reduce` or
/// `torch.OutOfMemoryError: tried to allocate 2.00 GiB`.
pub fn title(evidence: &Evidence) -> String {
    let subject = Subject::of(evidence);
    let title = match &subject {
        Subject::Signal { signal, .. } => at_function(signal, subject.stack()),
        Subject::Abort { abort, .. } => match (&abort.exception, first_line(&abort.message)) {
            (Some(exception), Some(what)) => format!("{exception}: {what}"),
            (Some(exception), None) => at_function(&format!("uncaught {exception}"), subject.stack()),
            (None, Some(what)) if abort.family == "assertion" => format!("assertion failed: {what}"),
            (None, Some(what)) if abort.family == "rust-panic" => format!("panic: {what}"),
            (None, what) => at_function(what.unwrap_or("SIGABRT"), subject.stack()),
        },
        Subject::Request { oom, of_holder, .. } => {
            let what = format!(
                "GPU {} out of memory: tried to allocate {}",
                oom.gpu,
                size(oom.requested)
            );
            if *of_holder {
                what
            } else {
                at_function(&what, subject.stack())
            }
        }
        Subject::Event { event, carrier, .. } => {
            let what = of_event(event, *carrier, subject.stack());
            if matches!(event.payload, EventPayload::CudaOom(_)) {
                at_function(&what, subject.stack())
            } else {
                what
            }
        }
        Subject::Divergence(verdict) => {
            let kind = verdict.kind.replace('-', " ");
            if verdict.operation.is_empty() {
                format!("{kind}: {}", verdict.detail)
            } else if verdict.point_to_point {
                format!("{kind} at a send and its receive: {}", verdict.detail)
            } else {
                format!("{kind} at collective {}: {}", verdict.sequence, verdict.detail)
            }
        }
        Subject::Exit(crash) => {
            let how = match (&crash.signal, crash.exit_code) {
                (Some(signal), _) => format!("killed by {signal}"),
                (None, Some(code)) => format!("exited with code {code}"),
                (None, None) => "ended, nobody knows how".to_owned(),
            };
            crash
                .rank
                .map_or_else(|| how.clone(), |rank| format!("rank {rank} {how}"))
        }
        Subject::Nothing => NO_FAILURE.to_owned(),
    };
    match title.char_indices().nth(TITLE_CHARS) {
        Some((cut, _)) => format!("{}…", title.get(..cut).unwrap_or_default()),
        None => title,
    }
}

/// What happened, and where: in the program's own function, and in which library's function it ended up.
fn at_function(what: &str, stack: &[Frame]) -> String {
    let Some((lead, own)) = lead(stack).and_then(|lead| Some((lead, name(lead)?))) else {
        return what.to_owned();
    };
    let innermost = interesting(stack).find(|frame| frame.function.is_some());
    match innermost.filter(|innermost| *innermost != lead).and_then(name) {
        Some(library) => format!("{what} in {own}, calling {library}"),
        None => format!("{what} in {own}"),
    }
}

fn name(frame: &Frame) -> Option<String> {
    let function = frame.function.as_deref()?;
    Some(match (frame.kind, frame.file.as_deref()) {
        // A name that every script has.
        (FrameKind::Python, Some(file)) if function == "<module>" => format!("{function} of {}", base(file)),
        (FrameKind::Python, _) => function.to_owned(),
        _ => plain_function(function),
    })
}

fn base(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

fn of_event(event: &Event, carrier: Option<&Event>, stack: &[Frame]) -> String {
    let teller = carrier.unwrap_or(event);
    let exception = match &teller.payload {
        EventPayload::PythonException(exception) => Some(exception.exception.as_str()),
        _ => None,
    };
    match &event.payload {
        EventPayload::CudaOom(oom) => {
            let who = exception.map_or_else(|| format!("{} out of memory", oom.backend), str::to_owned);
            format!("{who}: tried to allocate {}", size(oom.requested))
        }
        EventPayload::DataloaderWorker(worker) => match (&worker.signal, worker.exit_code) {
            (Some(signal), _) => format!("DataLoader worker killed: {signal}"),
            (None, Some(code)) => format!("DataLoader worker exited with code {code}"),
            (None, None) => "DataLoader worker exited unexpectedly".to_owned(),
        },
        EventPayload::Hang(hang) => of_hang(hang),
        EventPayload::DeviceAssert(assert) => format!("device-side assert: {}", assert.expression),
        EventPayload::Watchdog(watchdog) if watchdog.family == "timeout" => {
            let operation = watchdog.operation.as_deref().unwrap_or("a collective");
            match watchdog.sequence {
                Some(sequence) => format!("{operation} {sequence} timed out"),
                None => format!("{operation} timed out"),
            }
        }
        EventPayload::Xid(xid) => format!(
            "{} {}: {}",
            if xid.nvswitch { "SXid" } else { "Xid" },
            xid.code,
            xid.message
        ),
        EventPayload::Sanitizer(report) => match &report.function {
            Some(function) => format!("{}: {} in {}", report.tool, report.error, plain_function(function)),
            None => format!("{}: {}", report.tool, report.error),
        },
        EventPayload::Divergence(values) => {
            let at = values.step.map(|step| format!(" at step {step}")).unwrap_or_default();
            format!("the {} became {}{at}", values.quantity, values.value)
        }
        EventPayload::LastWords(_) if event.payload.is_complaint() => {
            format!("ended with the error: {}", said(&event.text))
        }
        _ => {
            let text = first_line(&teller.text).unwrap_or("a failure without a message");
            exception.map_or_else(|| said(text).to_owned(), |exception| raised(text, exception, stack))
        }
    }
}

/// `ValueError in train.py:88: no such schedule`: an exception with the program's own line, where there is one.
fn raised(text: &str, exception: &str, stack: &[Frame]) -> String {
    let line = own_line(stack);
    let (Some(line), Some(message)) = (line, text.strip_prefix(exception)) else {
        return text.to_owned();
    };
    let file = base(&line.file);
    // An assertion without a message says what it is about in its source alone.
    let message = match (message.trim_matches([':', ' ']), line.source) {
        ("", Some(source)) => format!(": {source}"),
        _ => message.to_owned(),
    };
    format!("{exception} in {file}:{}{message}", line.line)
}

/// A line without the times, levels and places that loggers put before what they say.
fn said(text: &str) -> &str {
    let before = regex!(
        r"^(?:\[[^\]]{0,80}\] *|\d[\d:.,/T -]{3,40}(?: |$)|(?:ERROR|FATAL|CRITICAL|PANIC|SEVERE|error|fatal)\b(?: *[:|-] *| +)|[-|:] +)+"
    );
    let rest = before.find(text).and_then(|found| text.get(found.end()..));
    rest.filter(|rest| rest.chars().any(char::is_alphanumeric))
        .unwrap_or(text)
}

fn of_hang(hang: &Hang) -> String {
    let who = hang
        .rank
        .map_or_else(|| "the job".to_owned(), |rank| format!("rank {rank}"));
    let place = hang
        .function
        .as_deref()
        .or(hang.call.as_deref())
        .unwrap_or("an unknown place");
    match hang.family.as_str() {
        "stopped" => format!("hang: {who} is stopped, in {place}"),
        "gil" => format!("hang: {who} holds the interpreter's lock in {place}"),
        "deadlock" => format!("hang: threads of {who} wait for each other's locks, one in {place}"),
        "together" => format!("hang: all ranks wait in {place}"),
        _ => format!("hang: {who} waits in {place}"),
    }
}

/// The first line that says something.
fn first_line(text: &str) -> Option<&str> {
    text.lines().find(|line| !line.trim().is_empty())
}

fn size(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    let unit = UNITS.iter().find(|(_, scale)| bytes >= *scale);
    match unit {
        Some((name, scale)) => format!("{:.2} {name}", bytes as f64 / *scale as f64),
        None => format!("{bytes} bytes"),
    }
}
