//! What is documented at one moment, and what plugins are told of it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use whycrash_catalog::recognise::Sign;
use whycrash_catalog::{Catalog, Cause, Fault, Folder};

use crate::sandbox::{Knowledge, KnownTable, clean};
use crate::version;

/// The documented causes without those that plugins bring: what plugins are told of, and what their claims are held
/// against.
#[derive(Debug)]
pub(crate) struct Documented {
    pub(crate) catalog: Arc<Catalog>,
    /// What plugins are told, with the tables of all pages.
    pub(crate) told: Arc<Knowledge>,
    /// The same with the tables of our pages alone: what others wrote can not keep these from being evaluated.
    pub(crate) ours: Arc<Knowledge>,
    /// The same with the tables of all other pages.
    pub(crate) others: Arc<Knowledge>,
    /// What is wrong with pages of those folders, which are therefore left out.
    pub(crate) left_out: Vec<LeftOut>,
    /// See [`crate::Version::knowledge`].
    pub(crate) version: String,
}

/// What is wrong with a page that is therefore left out; all other pages stand.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct LeftOut {
    /// The page's file, with the name of its folder: `pages/team-licence.md`.
    pub page: String,
    /// Line in it, counted from 1.
    pub line: usize,
    /// What is wrong, and what to write instead.
    pub message: String,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the page {} is left out: line {}: {}",
            self.page, self.line, self.message
        )
    }
}

impl LeftOut {
    fn new(folder: &Path, fault: &Fault) -> Self {
        let folder = folder.file_name().unwrap_or_default().to_string_lossy();
        Self {
            page: clean::line(&format!("{folder}/{}", fault.file)),
            line: fault.line,
            message: clean::line(&fault.message),
        }
    }
}

impl Documented {
    /// Our causes, and those of people's own folders.
    pub(crate) fn read(folders: &[PathBuf]) -> anyhow::Result<Arc<Self>> {
        // What plugins are told of ours is written down once.
        static OURS: LazyLock<Arc<Documented>> = LazyLock::new(|| Arc::new(Documented::of(Catalog::embedded())));
        let mut catalog = Arc::clone(&OURS.catalog);
        let mut left_out = Vec::new();
        for folder in folders {
            let read = Folder::read(folder, &catalog)
                .with_context(|| format!("the knowledge folder {} can not be read", folder.display()))?;
            for fault in &read.faults {
                let (folder, file) = (folder.display(), &fault.file);
                tracing::warn!(
                    "{folder}/{file}:{}: {}; the page is left out",
                    fault.line,
                    fault.message
                );
            }
            left_out.extend(read.faults.iter().map(|fault| LeftOut::new(folder, fault)));
            if !read.pages.is_empty() {
                let pages = read.pages.into_iter().map(|page| page.cause).collect();
                catalog = Arc::new(catalog.as_ref().clone().with(pages));
            }
        }
        if left_out.is_empty() && Arc::ptr_eq(&catalog, &OURS.catalog) {
            return Ok(Arc::clone(&OURS));
        }
        Ok(Arc::new(Self {
            left_out,
            ..Self::of(catalog.as_ref().clone())
        }))
    }

    /// Those of this catalogue.
    pub(crate) fn of(catalog: Catalog) -> Self {
        let catalog = Arc::new(catalog);
        let tables = tables(&catalog);
        let is_ours = |table: &&Arc<KnownTable>| !is_foreign(&catalog, &table.sign.cause);
        let (ours, others) = tables.iter().partition::<Vec<_>, _>(is_ours);
        let told = |tables: Vec<&Arc<KnownTable>>| {
            Arc::new(Knowledge {
                tables: tables.into_iter().cloned().collect(),
                catalog: Arc::clone(&catalog),
            })
        };
        Self {
            version: version::of_knowledge(&catalog, &tables),
            ours: told(ours),
            others: told(others),
            told: told(tables.iter().collect()),
            left_out: Vec::new(),
            catalog,
        }
    }

    /// The same with one more page, or another in the place of one. The error says what is wrong with it.
    pub(crate) fn with_page(&self, file: &str, text: &str) -> Result<(Self, String), String> {
        let faults = |faults: &[Fault]| {
            let faults = faults.iter();
            let faults: Vec<String> = faults
                .map(|fault| format!("{}, line {}: {}", fault.file, fault.line, fault.message))
                .collect();
            faults.join("; ")
        };
        let mut page = whycrash_catalog::read_page(file, text).map_err(|found| faults(&found))?;
        page.origin = "folder pages".to_owned();
        let others = self.catalog.causes().iter().filter(|cause| cause.id != page.id);
        let others: Catalog = others.cloned().collect();
        let wrong = others.check_more(&[(&page, text)], &[]);
        if !wrong.is_empty() {
            return Err(faults(&wrong));
        }
        let id = page.id.clone();
        let with_it = Self {
            left_out: self.left_out.clone(),
            ..Self::of(others.with(vec![page]))
        };
        Ok((with_it, id))
    }
}

/// Whether somebody else wrote the page of a cause.
pub(crate) fn is_foreign(catalog: &Catalog, cause: &str) -> bool {
    catalog.get(cause).is_some_and(|page| !page.origin.is_empty())
}

/// The recognise tables of all pages.
fn tables(catalog: &Catalog) -> Vec<Arc<KnownTable>> {
    let of_cause = |cause: &Cause| {
        let id = cause.id.clone();
        let tables = cause.recognise.clone().into_iter();
        tables.filter_map(move |table| {
            let sign = Sign::new(&id, table);
            let json = serde_json::to_string(&sign).ok()?;
            Some(Arc::new(KnownTable { sign, json }))
        })
    };
    catalog.causes().iter().flat_map(of_cause).collect()
}
