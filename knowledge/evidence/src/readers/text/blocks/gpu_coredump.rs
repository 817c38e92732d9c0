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
    let text = line.text.to_owned();
    Some(Box::new(Progress {
        origin: line.origin.clone(),
        lines: [line.number; 2],
        text,
        what,
    }))
}

#[derive(Debug)]
struct Progress {
    origin: Origin,
    lines: [u64; 2],
    text: String,
    what: GpuException,
}

impl Block for Progress {
    fn next(&mut self, line: &Line) -> Next {
        let text = line.text;
        if !text.contains("coredump: ") && !text.starts_with('#') && !text.trim_start().starts_with("- ") {
            return Next::Ended;
        }
        if text.contains("coredump: Detected an exception") {
            return Next::Ended;
        }
        self.lines[1] = line.number;
        let number = |name: &str| {
            let (_, value) = text.split_once(name)?;
            value
                .trim()
                .split(|c: char| !c.is_ascii_digit())
                .next()?
                .parse::<u32>()
                .ok()
        };
        self.what.device = self.what.device.or_else(|| number("- Device: "));
        self.what.sm = self.what.sm.or_else(|| number("- SM: "));
        self.what.warp = self.what.warp.or_else(|| number("- Warp: "));
        if let Some(found) = regex!(r"- PC 0x([0-9a-f]+)").captures(text) {
            self.what.pc = found.get(1).and_then(|pc| pc.as_str().parse().ok());
        }
        // `#0<tab>0x…<tab>mangled`: innermost first, so that the last one is the kernel.
        if let Some(found) = regex!(r"#\d+\s+0x[0-9a-f]+\s+(\S.*?)\s*$").captures(text) {
            self.what.kernel = found.get(1).map(|name| name.as_str().to_owned());
        }
        if let Some(found) = regex!(r"Writing ELF file to (\S.*?)\s*$").captures(text) {
            self.what.core = found.get(1).map(|path| path.as_str().to_owned());
            return Next::Last;
        }
        Next::More
    }

    fn finish(self: Box<Self>, sink: &mut Sink) {
        sink.event(
            EventPayload::GpuException(self.what),
            &self.origin,
            self.lines,
            &self.text,
        );
    }
}
