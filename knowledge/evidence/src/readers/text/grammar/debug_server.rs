//! Dumps of torch's debug server: the answers of all ranks in one text, each after a line that names its rank.

use super::Parts;
use crate::readers::text::line::Line;
use crate::readers::text::rules::Rule;
use crate::readers::text::sink::Sink;
use crate::readers::text::{Block, regex};

/// `=== Rank 3: http://node-1:25999 ===`.
pub const RULE: Rule = Rule {
    literals: &["=== Rank "],
    read,
};

fn read(line: &Line, sink: &mut Sink) -> Option<Box<dyn Block>> {
    let parts = Parts::of(regex!(r"^=== Rank (?P<rank>\d+): http\S+ ===\s*$"), line.text)?;
    sink.section_rank = parts.number("rank");
    None
}
