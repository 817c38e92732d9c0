//! Where cuda-gdb stopped a program for an exception on the device:
//!
//! ```text
//! Thread 1 "python" received signal CUDA_EXCEPTION_14, Warp Illegal Address.
//! [Switching focus to CUDA kernel 0, grid 5, block (0,0,0), thread (32,0,0), device 0, sm 13, warp 15, lane 0]
//! 0x00007fff… in scale<<<(32,1,1),(256,1,1)>>> (n=4096)
//! (cuda-gdb) bt
//! #0  0x00007fff… in at (i=32) at scale.cu:7
//! #1  0x00007fff… in scale<<<(32,1,1),(256,1,1)>>> (n=4096) at scale.cu:12
//! ```
//!
//! The numbers are those of `CUDBGException_t` in `cudadebugger.h`; the words are cuda-gdb's own.

use super::debugger::function_of;
use super::gpu_coredump::{Told, number};
use crate::model::GpuException;
use crate::readers::text::line::Line;
use crate::readers::text::rules::Rule;
use crate::readers::text::sink::Sink;
use crate::readers::text::{Block, Next, regex};

/// Opens a stop.
pub const RULE: Rule = Rule {
    literals: &[
        " received signal CUDA_EXCEPTION_",
        "terminated with signal CUDA_EXCEPTION_",
    ],
    read,
};

/// Lines that tell nothing of it (source, folded arguments, commands) and do not end it.
const BETWEEN: u64 = 12;

fn read(line: &Line, _: &mut Sink) -> Option<Box<dyn Block>> {
    if line.is_quoted() {
        return None;
    }
    let found =
        regex!(r"(?:received|with) signal CUDA_EXCEPTION_(\d+), (\w[\w -]*?)\.?$").captures(line.text.trim_end())?;
    let what = GpuException {
        exception: found.get(2)?.as_str().to_ascii_uppercase().replace([' ', '-'], "_"),
        code: found.get(1)?.as_str().parse().ok()?,
        ..GpuException::default()
    };
    Some(Box::new(Stop(Told::new(line, what))))
}

#[derive(Debug)]
struct Stop(Told);

impl Block for Stop {
    fn next(&mut self, line: &Line) -> Next {
        let text = line.text.trim_start().trim_start_matches("(cuda-gdb)").trim_start();
        let Told { lines, what, .. } = &mut self.0;
        if text.starts_with("[Switching focus to CUDA kernel") {
            what.device = number(text, ", device ");
            what.sm = number(text, ", sm ");
            what.warp = number(text, ", warp ");
        } else if let Some(function) = function_of(text) {
            // Innermost first: the kernel itself is the outermost, and has its launch behind it.
            let (kernel, is_kernel) = match function.split_once("<<<") {
                Some((kernel, _)) => (kernel, true),
                None => (function, what.kernel.is_none()),
            };
            if is_kernel {
                what.kernel = Some(kernel.to_owned());
            }
            let pc = regex!(r"(?:^|\s)0x([0-9a-f]+)\b").captures(text);
            what.pc = what.pc.or(pc.and_then(|pc| pc.get(1)?.as_str().parse().ok()));
        } else if line.number - lines[1] > BETWEEN || text.contains(" received signal ") {
            return Next::Ended;
        } else {
            return Next::Quoted;
        }
        lines[1] = line.number;
        Next::More
    }

    fn finish(self: Box<Self>, sink: &mut Sink) {
        self.0.finish(sink);
    }
}
