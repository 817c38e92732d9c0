//! The query language: words, `"phrases"`, `field:value`, `-not`, and `prefix*`. All clauses must hold.
//!
//! People paste log lines and C++ names into a search box, so a colon makes a field only after a plain lower-case
//! word that is followed by a value: `std::vector`, `train.py:12` and `RuntimeError: oops` are text.

use whycrash_evidence::did_you_mean;

use super::Field;

/// Longest query, in bytes.
const MAX_BYTES: usize = 4096;
/// Most clauses of a query.
const MAX_CLAUSES: usize = 64;
/// Most words in all clauses together: each is looked up in every part of the index.
const MAX_WORDS: usize = 256;

/// A query whose clauses must all hold; without any it matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// The clauses in the order they were typed.
    pub clauses: Vec<Clause>,
}

/// One condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clause {
    /// True if matching reports are left out.
    pub negated: bool,
    /// The field that is asked for; all text when absent.
    pub field: Option<Field>,
    /// The value; in text its words must follow each other.
    pub value: String,
    /// True if the value is only the beginning of what is looked for.
    pub prefix: bool,
}

/// What is wrong with a query.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// A quote that is not closed.
    #[error("the quote at character {0} is not closed")]
    OpenQuote(usize),
    /// No such field.
    #[error("there is no field `{0}` (fields are {known}; text with a colon is looked for in quotes){near}",
        known = field_names(), near = did_you_mean(.0, Field::ALL.map(Field::name)))]
    UnknownField(String),
    /// A field without a value.
    #[error("`{0}:` has no value")]
    NoValue(String),
    /// A minus sign with nothing after it.
    #[error("the `-` at character {0} leaves nothing out: a word must follow it")]
    NothingNegated(usize),
    /// Too long, or too many clauses or words.
    #[error("the query is too long: {MAX_CLAUSES} clauses, {MAX_WORDS} words and {MAX_BYTES} bytes are allowed")]
    TooLong,
}

fn field_names() -> String {
    Field::ALL.map(Field::name).join(", ")
}

impl Query {
    /// Reads what a person typed.
    pub fn parse(text: &str) -> Result<Self, QueryError> {
        if text.len() > MAX_BYTES {
            return Err(QueryError::TooLong);
        }
        let mut scanner = Scanner {
            chars: text.chars().collect(),
            at: 0,
        };
        let mut clauses = Vec::new();
        while scanner.skip_space() {
            if clauses.len() == MAX_CLAUSES {
                return Err(QueryError::TooLong);
            }
            clauses.push(scanner.clause()?);
        }
        let texts = clauses.iter().filter(|clause: &&Clause| clause.field.is_none());
        let words = texts.map(|clause| whycrash_words::to_find(&clause.value).count());
        if words.sum::<usize>() > MAX_WORDS {
            return Err(QueryError::TooLong);
        }
        Ok(Self { clauses })
    }

    /// Whether a clause asks for words that a match can have more or less of.
    pub fn has_words(&self) -> bool {
        self.clauses
            .iter()
            .any(|clause| clause.field.is_none() && !clause.negated)
    }
}

struct Scanner {
    chars: Vec<char>,
    at: usize,
}

impl Scanner {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    /// Moves to the next clause; false at the end.
    fn skip_space(&mut self) -> bool {
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
        self.peek().is_some()
    }

    fn clause(&mut self) -> Result<Clause, QueryError> {
        let start = self.at;
        let negated = self.negation();
        if negated && self.peek().is_none_or(char::is_whitespace) {
            return Err(QueryError::NothingNegated(start + 1));
        }
        let field = self.field()?;
        let quoted = self.peek() == Some('"');
        let mut value = if quoted { self.quoted()? } else { self.bare() };
        let prefix = if quoted { self.take('*') } else { value.ends_with('*') };
        if prefix && !quoted {
            value.pop();
        }
        match field {
            Some(field) if value.is_empty() => Err(QueryError::NoValue(field.name().to_owned())),
            _ => Ok(Clause {
                negated,
                field,
                value,
                prefix,
            }),
        }
    }

    /// A `-` before a clause, or the word NOT.
    fn negation(&mut self) -> bool {
        let rest = self.chars.get(self.at..).unwrap_or_default();
        if rest.starts_with(&['N', 'O', 'T', ' ']) {
            self.at += 4;
            self.skip_space();
            return true;
        }
        self.take('-')
    }

    fn take(&mut self, c: char) -> bool {
        let taken = self.peek() == Some(c);
        self.at += usize::from(taken);
        taken
    }

    /// A field's name and its colon.
    fn field(&mut self) -> Result<Option<Field>, QueryError> {
        let rest = self.chars.get(self.at..).unwrap_or_default();
        let length = rest.iter().take_while(|c| c.is_ascii_lowercase() || **c == '_').count();
        let is_field = length > 0 && rest.get(length) == Some(&':') && rest.get(length + 1) != Some(&':');
        if !is_field {
            return Ok(None);
        }
        let name: String = rest.iter().take(length).collect();
        let Some(field) = Field::named(&name) else {
            return Err(QueryError::UnknownField(name));
        };
        self.at += length + 1;
        Ok(Some(field))
    }

    fn quoted(&mut self) -> Result<String, QueryError> {
        let open = self.at + 1;
        self.at += 1;
        let mut value = String::new();
        while let Some(c) = self.peek() {
            self.at += 1;
            match c {
                '"' => return Ok(value),
                '\\' if matches!(self.peek(), Some('"' | '\\')) => {
                    value.extend(self.peek());
                    self.at += 1;
                }
                _ => value.push(c),
            }
        }
        Err(QueryError::OpenQuote(open))
    }

    fn bare(&mut self) -> String {
        let rest = self.chars.get(self.at..).unwrap_or_default();
        let value: String = rest.iter().take_while(|c| !c.is_whitespace()).collect();
        self.at += value.chars().count();
        value
    }
}
