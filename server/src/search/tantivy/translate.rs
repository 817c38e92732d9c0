//! Our queries as tantivy's.

use ::tantivy::query::{
    AllQuery, BooleanQuery, BoostQuery, EmptyQuery, Occur, PhrasePrefixQuery, PhraseQuery, Query as TantivyQuery,
    TermQuery,
};
use ::tantivy::schema::{Field as Handle, IndexRecordOption, Term};

use super::fields::Fields;
use crate::search::query::{Clause, Query};
use crate::search::{VALUE_BYTES, cut};

/// How much more a match in the title counts than one in the text.
const TITLE_BOOST: f32 = 4.0;
/// Most terms that the prefixes of a query may stand for, all of them together.
const EXPANSIONS: usize = 10_000;

/// The query in tantivy's terms.
pub fn query(query: &Query, fields: &Fields) -> Box<dyn TantivyQuery> {
    let prefixes = query.clauses.iter().filter(|clause| clause.prefix).count();
    let expansions = (EXPANSIONS / prefixes.max(1)) as u32;
    let mut clauses: Vec<(Occur, Box<dyn TantivyQuery>)> = query
        .clauses
        .iter()
        .map(|clause| {
            (
                if clause.negated { Occur::MustNot } else { Occur::Must },
                one(clause, fields, expansions),
            )
        })
        .collect();
    if clauses.iter().all(|(occur, _)| *occur == Occur::MustNot) {
        // There must be something to leave out from.
        clauses.push((Occur::Must, Box::new(AllQuery)));
    }
    Box::new(BooleanQuery::new(clauses))
}

fn one(clause: &Clause, fields: &Fields, expansions: u32) -> Box<dyn TantivyQuery> {
    match clause.field {
        Some(field) => value(fields.value(field), clause, expansions),
        None => Box::new(BooleanQuery::union(vec![
            Box::new(BoostQuery::new(text(fields.title, clause, expansions), TITLE_BOOST)),
            text(fields.text, clause, expansions),
        ])),
    }
}

fn value(field: Handle, clause: &Clause, expansions: u32) -> Box<dyn TantivyQuery> {
    let term = Term::from_field_text(field, &cut(&clause.value, VALUE_BYTES).to_lowercase());
    if clause.prefix {
        Box::new(beginning(vec![term], expansions))
    } else {
        Box::new(TermQuery::new(term, IndexRecordOption::Basic))
    }
}

fn text(field: Handle, clause: &Clause, expansions: u32) -> Box<dyn TantivyQuery> {
    let mut lower = String::new();
    let terms: Vec<Term> = whycrash_words::to_find(&clause.value)
        .map(|word| {
            word.lower(&mut lower);
            Term::from_field_text(field, &lower)
        })
        .collect();
    match (terms.as_slice(), clause.prefix) {
        // Punctuation alone is in no index, and the rest of the query still means something.
        ([], _) if clause.negated => Box::new(EmptyQuery),
        ([], _) => Box::new(AllQuery),
        (_, true) => Box::new(beginning(terms, expansions)),
        ([term], false) => Box::new(TermQuery::new(term.clone(), IndexRecordOption::WithFreqs)),
        (_, false) => Box::new(PhraseQuery::new(terms)),
    }
}

fn beginning(terms: Vec<Term>, expansions: u32) -> PhrasePrefixQuery {
    let mut query = PhrasePrefixQuery::new(terms);
    query.set_max_expansions(expansions);
    query
}
