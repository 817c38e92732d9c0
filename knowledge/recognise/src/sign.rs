//! A table on its way to whoever evaluates it.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::glance::Glance;
use crate::rule::Happened;
use crate::table::Table;
use crate::wanted::{self, Wanted};
use crate::words::Words;

/// A table and the cause it is a sign of, with what tells at a glance that an event is not what it looks for. There are
/// hundreds of tables, and a report has few events: whoever evaluates them reads `T`, the table, of few.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sign<T> {
    /// Id of the cause.
    pub cause: String,
    /// Kind of the event that the table looks for.
    pub kind: String,
    /// Of each of these, such an event has a word.
    #[serde(default)]
    words: Vec<Words>,
    /// The table.
    pub table: T,
    /// What the table can not do without, once a report has these words.
    #[serde(skip)]
    wanted: OnceLock<Vec<Wanted>>,
}

impl Sign<Table> {
    /// A table of this cause.
    pub fn new(cause: &str, table: Table) -> Self {
        Self {
            cause: cause.to_owned(),
            kind: table.kind.clone(),
            words: wanted::words(table.text.as_deref(), table.particulars.values()).collect(),
            table,
            wanted: OnceLock::new(),
        }
    }

    /// What the events are like that the table asks for, the sign itself first.
    pub(crate) fn wanted(&self) -> &[Wanted] {
        self.wanted.get_or_init(|| Wanted::all(&self.table))
    }
}

impl<T> Sign<T> {
    /// Whether an event may be what the table looks for. It certainly is not when this is false.
    pub fn may_be(&self, event: &Happened) -> bool {
        self.kind == event.kind && self.may_be_in(event.glance())
    }

    pub(crate) fn may_be_in(&self, glance: &Glance) -> bool {
        self.words.iter().all(|words| words.may_be_in(glance))
    }
}
