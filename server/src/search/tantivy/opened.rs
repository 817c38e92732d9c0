//! An index that is open.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use ::tantivy::schema::{IndexRecordOption, Term};
use ::tantivy::{DocSet as _, Index, IndexReader, IndexSettings, IndexWriter, ReloadPolicy, TERMINATED};

use super::directory::Files;
use super::error;
use super::fields::{self, Fields};
use crate::search::Change;
use crate::store::{ReportId, Result, StoreError};

/// Memory of the writer, in bytes: documents of a few hundred KB of text, a commit every few of them.
const WRITER_BYTES: usize = 64 << 20;
/// Files up to this size, in bytes, have their sums checked; of larger ones, which would have to be in memory for it,
/// only what is needed to open them.
const CHECKED: u64 = 256 << 20;

/// An index that is open.
pub struct Opened {
    pub index: Index,
    pub reader: IndexReader,
    pub fields: Fields,
    files: Files,
}

impl Opened {
    /// Opens the index in this folder. What is no index, or has other fields, is damaged.
    pub fn open(folder: &Path) -> Result<Self> {
        let (schema, fields) = Fields::schema();
        let files = Files::open(folder).map_err(|error| error::of_files(&error))?;
        let index = Index::open(files.clone()).map_err(|error| error::of_files(&error))?;
        if index.schema() != schema {
            return Err(StoreError::Damaged("the index has other fields".into()));
        }
        Self::over(index, files, fields)
    }

    /// Makes an empty index in this folder in place of what is there.
    pub fn create(folder: &Path) -> Result<Self> {
        let (schema, fields) = Fields::schema();
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        fs::create_dir_all(folder)?;
        let files = Files::open(folder).map_err(|error| error::of_files(&error))?;
        let index =
            Index::create(files.clone(), schema, IndexSettings::default()).map_err(|error| error::of_files(&error))?;
        Self::over(index, files, fields)
    }

    fn over(index: Index, files: Files, fields: Fields) -> Result<Self> {
        fields::register_tokenizers(&index);
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into();
        Ok(Self {
            reader: reader.map_err(|error| error::of_files(&error))?,
            index,
            fields,
            files,
        })
    }

    /// A writer; there can be one at a time.
    pub fn writer(&self) -> ::tantivy::Result<IndexWriter> {
        self.index.writer_with_num_threads(1, WRITER_BYTES)
    }

    /// Makes all changes, or none: durable, and found by searches, when it returns.
    pub fn apply(&self, writer: &mut IndexWriter, changes: &[Change]) -> ::tantivy::Result<()> {
        for change in changes {
            match change {
                Change::Put(document) => {
                    writer.delete_term(self.term(&document.id));
                    writer.add_document(self.fields.document(document))?;
                }
                Change::Remove(id) => {
                    writer.delete_term(self.term(id));
                }
            }
        }
        writer.commit()?;
        self.reader.reload()
    }

    /// Those of `ids` that are not in the index.
    pub fn missing(&self, ids: Vec<ReportId>) -> ::tantivy::Result<Vec<ReportId>> {
        let searcher = self.reader.searcher();
        let mut missing = Vec::new();
        for id in ids {
            if searcher.doc_freq(&self.term(&id))? == 0 {
                missing.push(id);
            }
        }
        Ok(missing)
    }

    /// Ids of reports that are here, in their order, after this one.
    pub fn ids(&self, after: Option<&ReportId>, limit: usize) -> ::tantivy::Result<Vec<ReportId>> {
        let after = after.map(ReportId::as_str).unwrap_or_default();
        let mut ids = BTreeSet::new();
        for segment in self.reader.searcher().segment_readers() {
            let terms = segment.inverted_index(self.fields.id)?;
            let mut later = terms.terms().range().gt(after).into_stream()?;
            let mut taken = 0;
            while taken < limit && later.advance() {
                let mut entries = terms.read_postings_from_terminfo(later.value(), IndexRecordOption::Basic)?;
                // What was removed stays in a segment until that is merged with others.
                let mut entry = entries.doc();
                while entry != TERMINATED && segment.is_deleted(entry) {
                    entry = entries.advance();
                }
                let id = str::from_utf8(later.key()).ok().and_then(|id| id.parse().ok());
                if let Some(id) = id.filter(|_| entry != TERMINATED) {
                    ids.insert(id);
                    taken += 1;
                }
            }
        }
        Ok(ids.into_iter().take(limit).collect())
    }

    fn term(&self, id: &ReportId) -> Term {
        Term::from_field_text(self.fields.id, id.as_str())
    }

    /// Whether all files are there, as far as their lengths tell.
    pub fn glance(&self) -> Result<()> {
        if !self.files.are_whole() {
            return Err(StoreError::Damaged("files of the index are gone or cut short".into()));
        }
        self.index
            .load_metas()
            .map(drop)
            .map_err(|error| error::of_files(&error))
    }
}

/// Opens the index in this folder anew and compares its files with their sums.
pub fn verify(folder: &Path) -> Result<()> {
    let opened = Opened::open(folder)?;
    let metas = opened.index.load_metas().map_err(|error| error::of_files(&error))?;
    for file in metas.list_segment_files() {
        // A segment lists every file it could have.
        let Ok(about) = fs::metadata(folder.join(&file)) else {
            continue;
        };
        if about.len() > CHECKED {
            continue;
        }
        let good = opened.index.directory().validate_checksum(&file);
        if !good.map_err(|error| error::of_files(&error.into()))? {
            return Err(StoreError::Damaged(format!(
                "{} is not what was written",
                file.display()
            )));
        }
    }
    Ok(())
}
