//! A table on its way to whoever evaluates it.

use serde::{Deserialize, Serialize};

use crate::glance::{Glance, Words};
use crate::rule::Happened;
use crate::table::{Scalar, Table, Test};

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
}

impl Sign<Table> {
    /// A table of this cause.
    pub fn new(cause: &str, table: Table) -> Self {
        let text = table.text.as_deref().map(Words::of);
        let tested = table.particulars.values().filter_map(words);
        Self {
            cause: cause.to_owned(),
            kind: table.kind.clone(),
            words: text.into_iter().chain(tested).filter(Words::are_some).collect(),
            table,
        }
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

/// Words of which every text that passes a test has one.
fn words(test: &Test) -> Option<Words> {
    let members = match test {
        Test::Is(Scalar::Text(text)) => return Some(Words::exactly(vec![text.clone()])),
        Test::Is(_) => return None,
        Test::All(members) if members.present == Some(false) => return None,
        Test::All(members) => members,
    };
    if let Some(pattern) = &members.matches {
        return Some(Words::of(pattern));
    }
    let texts = members.one_of.iter().map(|one| match one {
        Scalar::Text(text) => Some(text.clone()),
        _ => None,
    });
    let texts = texts.collect::<Option<Vec<String>>>()?;
    (!texts.is_empty()).then(|| Words::exactly(texts))
}
