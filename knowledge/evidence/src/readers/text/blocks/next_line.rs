//! A failed call of CUDA whose reason stands on the line behind it, as MFEM prints it: `CUDA error: (call) failed with
//! error:`, ` --> out of memory`, ` ... in function: …`, ` ... in file: forall.hpp:309`.

use crate::model::{CudaError, EventPayload};
use crate::readers::text::grammar::cuda_codes::by_text;
use crate::readers::text::line::Line;
use crate::readers::text::prefix::Origin;
use crate::readers::text::rules::Rule;
use crate::readers::text::sink::Sink;
use crate::readers::text::{Block, Next, regex};

/// Opens it.
pub const RULE: Rule = Rule {
    literals: &[") failed with error:"],
    read,
};

fn read(line: &Line, _: &mut Sink) -> Option<Box<dyn Block>> {
    let found = regex!(r"^(?:CUDA|HIP) error: \((?P<call>.+)\) failed with error:\s*$").captures(line.text)?;
    let api = if line.text.starts_with("HIP") { "hip" } else { "cuda" };
    Some(Box::new(Call {
        origin: line.origin.clone(),
        lines: [line.number; 2],
        text: line.text.to_owned(),
        api,
        call: found["call"].to_owned(),
        reason: None,
        place: None,
    }))
}

#[derive(Debug)]
struct Call {
    origin: Origin,
    lines: [u64; 2],
    text: String,
    api: &'static str,
    call: String,
    reason: Option<String>,
    place: Option<(String, u32)>,
}

impl Block for Call {
    fn next(&mut self, line: &Line) -> Next {
        if let Some(reason) = line.text.strip_prefix(" --> ").filter(|_| self.reason.is_none()) {
            self.reason = Some(reason.trim().to_owned());
        } else if let Some(found) = regex!(r"^ \.\.\. in file: (\S+):(\d+)\s*$").captures(line.text) {
            self.place = found[2].parse().ok().map(|number| (found[1].to_owned(), number));
        } else if !line.text.starts_with(" ... in function: ") {
            return Next::Ended;
        }
        self.lines[1] = line.number;
        Next::More
    }

    fn finish(self: Box<Self>, sink: &mut Sink) {
        let Some(reason) = self.reason else { return };
        let (file, line) = self.place.unzip();
        let error = CudaError {
            call: Some(self.call),
            file,
            line,
            ..by_text(self.api, &reason)
        };
        let text = format!("{} {reason}", self.text.trim_end());
        sink.event(EventPayload::CudaError(error), &self.origin, self.lines, &text);
    }
}
