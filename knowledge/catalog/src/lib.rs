//! The documented causes: what is known about why GPU training jobs die.
//!
//! One Markdown file per cause in `knowledge/causes/`, with TOML front matter between `+++` lines. They are built into
//! the binary; a document that breaks the rules of [`parse()`] or [`check()`] fails the build with its file and line.

use std::sync::LazyLock;

mod cause;
mod check;
mod folder;
mod html;
mod parse;
mod search;
pub mod suggestion;
pub mod vocabulary;

pub use cause::{Cause, CauseFix, Consequence, Retry, Verified};
pub use check::check;
pub use folder::{Folder, Page};
pub use parse::{Fault, parse};
pub use vocabulary::Vocabulary;
pub use whycrash_recognise as recognise;

/// Reads a page and holds its tables against the evidence model: kinds of events, particulars and paths that there are.
///
/// # Errors
/// Everything that is wrong with it, with file and line.
pub fn read_page(file: &str, text: &str) -> Result<Cause, Vec<Fault>> {
    let cause = parse(file, text).map_err(|fault| vec![fault])?;
    let words = Vocabulary::of_model();
    let flaws = cause.recognise.iter().enumerate();
    let flaws = flaws.flat_map(|(number, table)| words.flaws(table).into_iter().map(move |flaw| (number, flaw)));
    let faults: Vec<Fault> = flaws
        .map(|(number, flaw)| parse::fault_of_table(file, text, number, &flaw))
        .collect();
    if faults.is_empty() { Ok(cause) } else { Err(faults) }
}

/// The causes of this binary as the build script read them: JSON, packed.
const CAUSES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/causes.zst"));

/// All documented causes.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    causes: Vec<Cause>,
}

impl Catalog {
    /// The causes built into this binary. They are unpacked once; what is given is a copy.
    ///
    /// # Panics
    ///
    /// Never in a binary that was built: the build script has written them.
    pub fn embedded() -> Self {
        // Whoever looks into folders of pages again begins with ours, each time.
        static EMBEDDED: LazyLock<Catalog> = LazyLock::new(|| {
            let json = zstd::decode_all(CAUSES).expect("the build script packed the causes");
            let causes: Vec<Cause> = serde_json::from_slice(&json).expect("the build script wrote the causes");
            causes.into_iter().collect()
        });
        EMBEDDED.clone()
    }

    /// The cause with this id, or the one whose page answers for it.
    pub fn get(&self, id: &str) -> Option<&Cause> {
        self.causes.iter().find(|cause| cause.answers_for(id))
    }

    /// All causes, by id.
    pub fn causes(&self) -> &[Cause] {
        &self.causes
    }

    /// What is wrong with these pages, each with its text, beside those of the catalogue: ids that are taken, links
    /// that lead nowhere. Pages that are left out, by their ids, may be referred to.
    pub fn check_more(&self, pages: &[(&Cause, &str)], left_out: &[&str]) -> Vec<Fault> {
        check::check_beside(pages, &self.causes, left_out)
    }

    /// The catalogue with these pages too. One that answers for the id of another takes its place.
    #[must_use]
    pub fn with(self, pages: Vec<Cause>) -> Self {
        let is_kept = |cause: &Cause| !pages.iter().any(|page| page.answers_for(&cause.id));
        self.causes.into_iter().filter(is_kept).chain(pages.clone()).collect()
    }

    /// Causes that match at least half of these words, best first. A word that few causes mention counts for more,
    /// and so does a word found in a cause's id or title rather than in its prose.
    pub fn search(&self, words: &str) -> Vec<&Cause> {
        search::search(&self.causes, words)
    }
}

impl FromIterator<Cause> for Catalog {
    fn from_iter<I: IntoIterator<Item = Cause>>(causes: I) -> Self {
        let mut causes: Vec<Cause> = causes.into_iter().collect();
        causes.sort_by(|a, b| a.id.cmp(&b.id));
        Self { causes }
    }
}
