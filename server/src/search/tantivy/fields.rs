//! The index's fields and tokenizers.

use std::ops::Range;

use ::tantivy::schema::{
    FAST, Field as Handle, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions,
};
use ::tantivy::tokenizer::{RAW_TOKENIZER_NAME, Token, TokenStream, Tokenizer};
use ::tantivy::{Index, TantivyDocument};

use crate::search::{Field, IndexDocument, VALUE_BYTES, cut};

/// Names of the fields results are ordered by.
pub const TIME: &str = "time";
pub const ORDER: &str = "order";
/// Tokenizer of text. The number counts versions of what the tokenizers do: an index that was made by another one has
/// another schema, and is built again.
const WORDS: &str = "words-2";
/// Tokenizer of values: as a whole, in lower case, and in parts.
const VALUE: &str = "value-2";
/// Parts of a value that find it, of each kind: what stands before its first dots, behind its last ones, and between
/// its spaces. So a host is found without its domain, an exception without its module, a GPU by its model, and a
/// version by how it begins.
const PARTS: usize = 4;

/// Handles of the index's fields.
#[derive(Clone, Copy, Debug)]
pub struct Fields {
    pub id: Handle,
    pub time: Handle,
    order: Handle,
    pub title: Handle,
    pub text: Handle,
    pub summary: Handle,
    values: [Handle; Field::ALL.len()],
}

impl Fields {
    /// The schema and the handles of its fields.
    pub fn schema() -> (Schema, Self) {
        let mut schema = Schema::builder();
        let words = TextOptions::default().set_indexing_options(
            TextFieldIndexing::default()
                .set_tokenizer(WORDS)
                .set_index_option(IndexRecordOption::WithFreqsAndPositions),
        );
        // The inverted index has them in lower case, the fast field as they are: that is what facets show.
        let value = TextOptions::default()
            .set_indexing_options(TextFieldIndexing::default().set_tokenizer(VALUE).set_fieldnorms(false))
            .set_fast(RAW_TOKENIZER_NAME);
        let fields = Self {
            id: schema.add_text_field("id", STRING),
            time: schema.add_i64_field(TIME, FAST),
            order: schema.add_u64_field(ORDER, FAST),
            title: schema.add_text_field("title", words.clone()),
            text: schema.add_text_field("text", words),
            summary: schema.add_text_field("summary", STORED),
            values: Field::ALL.map(|field| schema.add_text_field(field.name(), value.clone())),
        };
        (schema.build(), fields)
    }

    /// The handle of a field that can be asked for by name.
    pub fn value(&self, field: Field) -> Handle {
        let index = Field::ALL.iter().position(|other| *other == field).unwrap_or_default();
        self.values[index]
    }

    /// The document as tantivy takes it.
    pub fn document(&self, document: &IndexDocument) -> TantivyDocument {
        let mut made = TantivyDocument::default();
        made.add_text(self.id, document.id.as_str());
        made.add_i64(self.time, document.time);
        made.add_u64(self.order, order(document.id.as_str()));
        for line in &document.title {
            made.add_text(self.title, line);
        }
        for line in &document.text {
            made.add_text(self.text, line);
        }
        for (field, values) in &document.fields {
            for value in values {
                made.add_text(self.value(*field), cut(value, VALUE_BYTES));
            }
        }
        made.add_text(
            self.summary,
            serde_json::to_string(&document.summary).unwrap_or_default(),
        );
        made
    }
}

/// Tells reports apart in an order: as much of the id as a number holds.
fn order(id: &str) -> u64 {
    let start = id.get(..16).and_then(|digits| u64::from_str_radix(digits, 16).ok());
    start.unwrap_or_default()
}

/// Makes the index know the tokenizers that its schema names.
pub fn register_tokenizers(index: &Index) {
    index.tokenizers().register(WORDS, Words);
    index.tokenizers().register(VALUE, Values);
}

#[derive(Clone)]
struct Words;

impl Tokenizer for Words {
    type TokenStream<'a> = WordTokens<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordTokens<'a> {
        WordTokens {
            words: whycrash_words::to_index(text),
            current: Token::default(),
        }
    }
}

/// Words as tokens, made one by one: a document has a million of them.
struct WordTokens<'a> {
    words: whycrash_words::Words<'a>,
    current: Token,
}

impl TokenStream for WordTokens<'_> {
    fn advance(&mut self) -> bool {
        let Some(word) = self.words.next() else { return false };
        word.lower(&mut self.current.text);
        self.current.offset_from = word.range.start;
        self.current.offset_to = word.range.end;
        self.current.position = word.position;
        true
    }

    fn token(&self) -> &Token {
        &self.current
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.current
    }
}

#[derive(Clone)]
struct Values;

impl Tokenizer for Values {
    type TokenStream<'a> = Tokens;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Tokens {
        let text = cut(text, VALUE_BYTES);
        let before = text.match_indices('.').map(|(dot, _)| 0..dot).take(PARTS);
        let behind = text.rmatch_indices('.').map(|(dot, _)| dot + 1..text.len()).take(PARTS);
        let ranges = std::iter::once(0..text.len())
            .chain(before)
            .chain(behind)
            .chain(between_spaces(text).take(PARTS));
        Tokens::new(ranges.filter(|range| !range.is_empty()).map(|range| Token {
            offset_from: range.start,
            offset_to: range.end,
            position: 0,
            text: text.get(range).unwrap_or_default().to_lowercase(),
            position_length: 1,
        }))
    }
}

/// Where the words of a value stand; none for a value that is one word.
fn between_spaces(text: &str) -> impl Iterator<Item = Range<usize>> {
    let spaces = text.match_indices(' ').map(|(space, _)| space);
    let mut start = 0;
    let ends = spaces.chain(text.contains(' ').then_some(text.len()));
    ends.map(move |end| std::mem::replace(&mut start, end + 1)..end)
}

/// Tokens made beforehand.
struct Tokens {
    tokens: std::vec::IntoIter<Token>,
    current: Token,
}

impl Tokens {
    fn new(tokens: impl Iterator<Item = Token>) -> Self {
        Self {
            tokens: tokens.collect::<Vec<_>>().into_iter(),
            current: Token::default(),
        }
    }
}

impl TokenStream for Tokens {
    fn advance(&mut self) -> bool {
        let next = self.tokens.next();
        let more = next.is_some();
        self.current = next.unwrap_or_default();
        more
    }

    fn token(&self) -> &Token {
        &self.current
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.current
    }
}
