//! What a table can not do without.

use crate::glance::Glance;
use crate::table::Table;
use crate::test::{Scalar, Test};
use crate::words::{Alternative, Words, alternatives};

/// What an event that a table asks for has, whatever else it says.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) kind: String,
    /// Of each of these, one is a particular of it.
    words: Vec<Words>,
    /// Of each of its patterns the alternatives, one of which matches.
    patterns: Vec<Vec<Alternative>>,
}

impl Wanted {
    /// What the events are like that a table asks for: the sign itself first.
    pub(crate) fn all(table: &Table) -> Vec<Self> {
        let sign = Self::of(&table.kind, table.text.as_deref(), table.particulars.values());
        let with = table.with.iter();
        let with = with.map(|other| Self::of(&other.kind, other.text.as_deref(), other.particulars.values()));
        std::iter::once(sign).chain(with).collect()
    }

    fn of<'t>(kind: &str, text: Option<&'t str>, tests: impl Iterator<Item = &'t Test> + Clone) -> Self {
        let patterns = text.into_iter().chain(tests.clone().filter_map(pattern));
        Self {
            kind: kind.to_owned(),
            words: tests.filter_map(exactly).collect(),
            patterns: patterns.map(alternatives).collect(),
        }
    }

    pub(crate) fn may_be_in(&self, glance: &Glance) -> bool {
        let may_match = |alternatives: &Vec<Alternative>| alternatives.iter().any(|one| one.may_match(glance));
        self.words.iter().all(|words| words.may_be_in(glance)) && self.patterns.iter().all(may_match)
    }
}

/// Of each of these, an event whose text matches a pattern, and whose particulars pass these tests, has a word.
pub(crate) fn words<'t>(text: Option<&'t str>, tests: impl Iterator<Item = &'t Test>) -> impl Iterator<Item = Words> {
    let tested = tests.filter_map(|test| pattern(test).map(Words::of).or_else(|| exactly(test)));
    text.map(Words::of).into_iter().chain(tested).filter(Words::are_some)
}

/// The pattern that a value which passes a test matches.
fn pattern(test: &Test) -> Option<&str> {
    match test {
        Test::All(members) if members.present != Some(false) => members.matches.as_deref(),
        _ => None,
    }
}

/// The texts one of which a value is that passes a test.
fn exactly(test: &Test) -> Option<Words> {
    let members = match test {
        Test::Is(Scalar::Text(text)) => return Some(Words::exactly(vec![text.clone()])),
        Test::All(members) if members.present != Some(false) => members,
        _ => return None,
    };
    let texts = members.one_of.iter().map(|one| match one {
        Scalar::Text(text) => Some(text.clone()),
        _ => None,
    });
    let texts = texts.collect::<Option<Vec<String>>>()?;
    (!texts.is_empty()).then(|| Words::exactly(texts))
}
