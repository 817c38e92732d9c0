//! The help text of a program: what it says of errors did not happen.
//!
//! argparse, click and clap begin with `usage: prog [-h] …`, and put their lists, moved in, under headings that end in a colon. Where
//! an argument was refused, `prog: error: …` follows the usage instead.

use crate::readers::text::line::Line;
use crate::readers::text::rules::Rule;
use crate::readers::text::sink::Sink;
use crate::readers::text::{Block, Next, regex};

/// Opens a help text.
pub const RULE: Rule = Rule {
    literals: &["usage: ", "Usage: "],
    read,
};

/// Lines of a description, before the first heading.
const DESCRIPTION: usize = 12;

fn read(line: &Line, _: &mut Sink) -> Option<Box<dyn Block>> {
    regex!(r"^[Uu]sage: \S.*[\[<{]")
        .is_match(line.text)
        .then(|| Box::new(Help::default()) as Box<dyn Block>)
}

#[derive(Debug, Default)]
struct Help {
    described: usize,
    has_heading: bool,
}

impl Block for Help {
    fn next(&mut self, line: &Line) -> Next {
        let text = line.text.trim_end();
        if text.is_empty() {
            return Next::More;
        }
        if text.starts_with(char::is_whitespace) {
            return Next::Quoted;
        }
        if regex!(r"^[A-Za-z][\w ]{0,40}:$").is_match(text) {
            self.has_heading = true;
            return Next::More;
        }
        self.described += 1;
        let is_of_end = ["rror", "Traceback"].iter().any(|word| text.contains(word));
        let is_description = !self.has_heading && self.described <= DESCRIPTION && !is_of_end;
        if is_description { Next::More } else { Next::Ended }
    }

    fn finish(self: Box<Self>, _: &mut Sink) {}
}
