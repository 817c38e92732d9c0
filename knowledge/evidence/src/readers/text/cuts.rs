//! What was left out of a text.

use super::line;
use crate::Problem;

/// How often something was cut, and the line of the first time.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    times: u64,
    first: Option<u64>,
}

/// Lines and blocks that were too long.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cuts {
    lines: Count,
    blocks: Count,
}

impl Count {
    fn add(&mut self, line: u64) {
        self.times += 1;
        self.first.get_or_insert(line);
    }
}

impl Cuts {
    /// Of this line only the beginning was looked at.
    pub fn line(&mut self, number: u64) {
        self.lines.add(number);
    }

    /// A block was closed at this line, because it took too much.
    pub fn block(&mut self, number: u64) {
        self.blocks.add(number);
    }

    /// What was cut, where lines may have so many bytes; and how many lines the grammars did not read.
    pub fn problems(&self, line_bytes: usize, refused: u64) -> Vec<Problem> {
        let lines = self.lines.first.map(|first| {
            let message = format!(
                "{} lines are longer than {} bytes, the first of them line {first}; only their beginnings were looked at",
                self.lines.times,
                line_bytes.min(line::TEXT_BYTES)
            );
            Problem::new("limit-line-bytes", message)
        });
        let blocks = self.blocks.first.map(|first| {
            let message = format!(
                "{} tracebacks or reports go on for too long, the first of them until line {first}; they were cut",
                self.blocks.times
            );
            Problem::new("limit-block-bytes", message)
        });
        let refused = (refused > 0).then(|| {
            let message = format!(
                "{refused} further lines that may tell of failures differ from all before and were not read; those at the end were"
            );
            Problem::new("limit-text-work", message)
        });
        lines.into_iter().chain(blocks).chain(refused).collect()
    }
}
