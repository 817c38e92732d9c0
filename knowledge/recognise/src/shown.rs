//! What a glance at a whole report shows.

use std::collections::BTreeMap;

use crate::glance::Glance;
use crate::line::LINE;
use crate::rule::Happened;
use crate::said::as_exception;
use crate::sign::Sign;
use crate::table::Table;
use crate::wanted::Wanted;

/// What happened, as far as a glance tells: the words of all events of a kind together, so that it costs the same for
/// any number of them.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    kinds: BTreeMap<String, Glance>,
    /// Whether there are lines, which nobody has looked at.
    lines: bool,
}

impl Shown {
    /// Adds an event, and the exception that it is told like.
    pub fn add(&mut self, event: &Happened) {
        for event in as_exception(event).iter().chain([event]) {
            let glance = self.kinds.entry(event.kind.clone()).or_default();
            glance.add_event(&event.text, &event.detail);
        }
    }

    /// Adds that there are lines of text.
    pub fn add_lines(&mut self) {
        self.lines = true;
    }

    /// Whether there may be what the table looks for. There certainly is not when this is false.
    pub fn may_have(&self, sign: &Sign<Table>) -> bool {
        let has = |kind: &str, may_be_in: &dyn Fn(&Glance) -> bool| match kind {
            LINE => self.lines,
            _ => self.kinds.get(kind).is_some_and(may_be_in),
        };
        let may_have = |wanted: &Wanted| has(&wanted.kind, &|glance| wanted.may_be_in(glance));
        // Few tables are left after a first look, and only their patterns are ever taken apart.
        has(&sign.kind, &|glance| sign.may_be_in(glance)) && sign.wanted().iter().all(may_have)
    }
}
