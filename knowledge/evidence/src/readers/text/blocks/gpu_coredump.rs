//! What the CUDA driver prints while it writes a GPU core dump (`CUDA_COREDUMP_SHOW_PROGRESS=1`). With the `log_only`
//! flag this text is all there is.

use crate::model::{EventPayload, GpuException};
use crate::readers::text::line::Line;
use crate::readers::text::prefix::Origin;
use crate::readers::text::rules::Rule;
use crate::readers::text::sink::Sink;
use crate::readers::text::{Block, Next, regex};

/// Opens an exception's lines.
pub const RULE: Rule = Rule {
    literals: &["coredump: Detected an exception of type"],
    read,
};

fn read(line: &Line, _: &mut Sink) -> Option<Box<dyn Block>> {
    let found =
        regex!(r"coredump: Detected an exception of type CUDBG_EXCEPTION_(\w+) \((\d+)\)").captures(line.text)?;
    let what = GpuException {
        exception: found.get(1)?.as_str().to_owned(),
        code: found.get(2)?.as_str().parse().ok()?,
        ..GpuException::default()
    };
    Some(Box::new(Progress(Told::new(line, what))))
}

/// An exception on the device, whoever tells of it, as far as its lines were read.
#[derive(Debug)]
pub struct Told {
    origin: Origin,
    /// The first line and the last.
    pub lines: [u64; 2],
    text: String,
    pub what: GpuException,
}

impl Told {
    /// Begins with the line that names it.
    pub fn new(line: &Line, what: GpuException) -> Self {
        Self {
            origin: line.origin.clone(),
            lines: [line.number; 2],
            text: line.text.to_owned(),
            what,
        }
    }

    /// All of it was read.
    pub fn finish(self, sink: &mut Sink) {
        sink.event(
            EventPayload::GpuException(self.what),
            &self.origin,
            self.lines,
            &self.text,
        );
    }
}

/// The number behind these words.
pub fn number(text: &str, words: &str) -> Option<u32> {
    let (_, value) = text.split_once(words)?;
    value.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[derive(Debug)]
struct Progress(Told);

impl Block for Progress {
    fn next(&mut self, line: &Line) -> Next {
        let text = line.text;
        if !text.contains("coredump: ") && !text.starts_with('#') && !text.trim_start().starts_with("- ") {
            return Next::Ended;
        }
        if text.contains("coredump: Detected an exception") {
            return Next::Ended;
        }
        let Told { lines, what, .. } = &mut self.0;
        lines[1] = line.number;
        what.device = what.device.or_else(|| number(text, "- Device: "));
        what.sm = what.sm.or_else(|| number(text, "- SM: "));
        what.warp = what.warp.or_else(|| number(text, "- Warp: "));
        if let Some(found) = regex!(r"- PC 0x([0-9a-f]+)").captures(text) {
            what.pc = found.get(1).and_then(|pc| pc.as_str().parse().ok());
        }
        // `#0<tab>0x…<tab>mangled`: innermost first, so that the last one is the kernel.
        if let Some(found) = regex!(r"#\d+\s+0x[0-9a-f]+\s+(\S.*?)\s*$").captures(text) {
            what.kernel = found.get(1).map(|name| name.as_str().to_owned());
        }
        if let Some(found) = regex!(r"Writing ELF file to (\S.*?)\s*$").captures(text) {
            what.core = found.get(1).map(|path| path.as_str().to_owned());
            return Next::Last;
        }
        Next::More
    }

    fn finish(self: Box<Self>, sink: &mut Sink) {
        self.0.finish(sink);
    }
}
