//! Breakpad's microdumps: a crash as base-16 text in a log, where a minidump could not be written.
//!
//! Format: Breakpad `src/client/linux/microdump_writer/microdump_writer.cc`.

use crate::Problem;
use crate::model::Place;
use crate::readers::text::Block;
use crate::readers::text::line::Line;
use crate::readers::text::rules::Rule;
use crate::readers::text::sink::Sink;

/// The line before the first of a microdump.
const BEGIN: &str = "-----BEGIN BREAKPAD MICRODUMP-----";

/// Tells that there is one; it is not read.
pub const RULE: Rule = Rule {
    literals: &[BEGIN],
    read,
};

fn read(line: &Line, sink: &mut Sink) -> Option<Box<dyn Block>> {
    // A log puts its own prefix before it, and nothing behind.
    if !line.is_quoted() && line.text.trim_end().ends_with(BEGIN) {
        let message = "a Breakpad microdump begins here, which nothing here reads: send the minidump (.dmp) of the same crash, \
                       or the output of Breakpad's microdump_stackwalk together with what the program printed";
        sink.problem(Problem::new("microdump", message).at(Place::Line([line.number, line.number])));
    }
    None
}
