//! What a glance at a whole report shows.

use std::collections::BTreeMap;

use crate::glance::Glance;
use crate::rule::Happened;
use crate::said::as_exception;
use crate::sign::Sign;
use crate::table::Table;
use crate::wanted::Wanted;

/// What happened, as far as a glance tells: the words of all events of a kind together, so that it costs the same for
/// any number of them.
#[derive(Clone, Debug, Default)]
pub struct Shown(BTreeMap<String, Glance>);

impl Shown {
    /// Adds an event, and the exception that it is told like.
    pub fn add(&mut self, event: &Happened) {
        for event in as_exception(event).iter().chain([event]) {
            let glance = self.0.entry(event.kind.clone()).or_default();
            glance.add_event(&event.text, &event.detail);
        }
    }

    /// Whether there may be what the table looks for. There certainly is not when this is false.
    pub fn may_have(&self, sign: &Sign<Table>) -> bool {
        let may_have = |wanted: &Wanted| self.0.get(&wanted.kind).is_some_and(|glance| wanted.may_be_in(glance));
        // Few tables are left after a first look, and only their patterns are ever taken apart.
        self.0.get(&sign.kind).is_some_and(|glance| sign.may_be_in(glance)) && sign.wanted().iter().all(may_have)
    }
}
