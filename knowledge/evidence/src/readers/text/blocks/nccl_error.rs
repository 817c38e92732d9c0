//! torch's NCCL exception: `NCCL error in: FILE:LINE, <text>, NCCL version X`, then the result's name with a gloss,
//! then `Last error:` and NCCL's last warning. NCCL's own tests print `Test NCCL failure common.cu:961 'internal error -
//! please report …'`.

use crate::model::{EventPayload, NcclError};
use crate::readers::text::line::Line;
use crate::readers::text::prefix::Origin;
use crate::readers::text::rules::Rule;
use crate::readers::text::sink::Sink;
use crate::readers::text::{Block, Next, regex};

/// Opens an error.
pub const RULE: Rule = Rule {
    literals: &["NCCL error in: ", "NCCL error: ", "NCCL Error ", "Test NCCL failure "],
    read,
};

fn read(line: &Line, _: &mut Sink) -> Option<Box<dyn Block>> {
    if line.is_quoted() {
        return None;
    }
    let of_tests = || {
        regex!(
            r"Test NCCL failure (?P<file>\S+?):(?P<line>\d+) '(?P<message>[^']+?)(?P<version>)(?: - please .*)?'\s*$"
        )
        .captures(line.text)
    };
    let found = regex!(
        r"NCCL [Ee]rror(?: in: (?P<file>\S+?):(?P<line>\d+),| \d+:|:) ?(?P<message>.+?)(?: \(run with NCCL_DEBUG=\w+ for details\))?(?:, NCCL version (?P<version>[\d.]+))?\s*$"
    )
    .captures(line.text)
    .or_else(of_tests)?;
    let text = |name| found.name(name).map(|part: regex::Match| part.as_str().to_owned());
    let error = NcclError {
        message: text("message")?,
        version: text("version"),
        file: text("file"),
        line: text("line").and_then(|number| number.parse().ok()),
        ..NcclError::default()
    };
    let origin = line.origin.clone();
    let state = Failure {
        origin,
        lines: [line.number, line.number],
        text: line.text.to_owned(),
        error,
        last_error: false,
    };
    Some(Box::new(state))
}

#[derive(Debug)]
struct Failure {
    origin: Origin,
    lines: [u64; 2],
    text: String,
    error: NcclError,
    /// `Last error:` has come; its text is on the next line.
    last_error: bool,
}

impl Block for Failure {
    fn next(&mut self, line: &Line) -> Next {
        let text = line.text.trim();
        if std::mem::take(&mut self.last_error) {
            self.error.last_error = (!text.is_empty()).then(|| text.to_owned());
            self.lines[1] = line.number;
            return Next::Last;
        }
        if let Some(found) = regex!(r"^(nccl\w+): ").captures(text) {
            self.error.result = found.get(1).map(|name| name.as_str().to_owned());
        } else if text == "Last error:" {
            self.last_error = true;
        } else {
            return Next::Ended;
        }
        self.lines[1] = line.number;
        Next::More
    }

    fn finish(self: Box<Self>, sink: &mut Sink) {
        let mut error = self.error;
        error.result = error
            .result
            .take()
            .or_else(|| by_text(&error.message).map(str::to_owned));
        sink.event(EventPayload::NcclError(error), &self.origin, self.lines, &self.text);
    }
}

/// The result behind `ncclGetErrorString`'s text.
fn by_text(message: &str) -> Option<&'static str> {
    Some(match message {
        "unhandled cuda error" => "ncclUnhandledCudaError",
        "unhandled system error" => "ncclSystemError",
        "invalid argument" => "ncclInvalidArgument",
        "invalid usage" => "ncclInvalidUsage",
        "remote process exited or there was a network error" => "ncclRemoteError",
        message if message.starts_with("internal error") => "ncclInternalError",
        _ => return None,
    })
}
