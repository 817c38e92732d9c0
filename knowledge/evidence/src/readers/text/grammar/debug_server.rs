//! Dumps of several ranks in one text, each after a line that names its rank: those of torch's debug server, and what
//! people put together.

use super::Parts;
use crate::readers::text::line::Line;
use crate::readers::text::rules::Rule;
use crate::readers::text::sink::Sink;
use crate::readers::text::{Block, regex};

/// `=== Rank 3: http://node-1:25999 ===`, `### node-1 rank 3`, `--- rank 3 (pid 4711) ---`.
pub const RULE: Rule = Rule {
    literals: &[
        "=== Rank ",
        "=== rank",
        "### Rank ",
        "### rank",
        "### host ",
        "### node",
        "--- Rank ",
        "--- rank",
    ],
    read,
};

fn read(line: &Line, sink: &mut Sink) -> Option<Box<dyn Block>> {
    let server = || Parts::of(regex!(r"^=== Rank (?P<rank>\d+): http\S+ ===\s*$"), line.text);
    let heading = || {
        let heading = regex!(
            r"(?i)^(?:###|={3,}|-{3,}) ?(?:(?:host|node)?[ :=]?[a-z][a-z0-9.-]* )?rank[ :=_]?(?P<rank>[0-9]{1,6})(?: \(?(?:pid|on|host|node)[ :=][a-z0-9.-]+\)?)?:?[ =#-]*$"
        );
        Parts::of(heading, line.text)
    };
    sink.section_rank = server().or_else(heading)?.number("rank");
    None
}
