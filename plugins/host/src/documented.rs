//! What is documented at one moment, and what plugins are told of it.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use anyhow::Context as _;
use whycrash_catalog::recognise::Sign;
use whycrash_catalog::{Catalog, Cause, Folder};

use crate::sandbox::{Knowledge, KnownTable};
use crate::version;

/// The documented causes without those that plugins bring: what plugins are told of, and what their claims are held
/// against.
#[derive(Debug)]
pub(crate) struct Documented {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) told: Arc<Knowledge>,
    /// See [`crate::Version::knowledge`].
    pub(crate) version: String,
}

impl Documented {
    /// Our causes, and those of people's own folders.
    pub(crate) fn read(folders: &[PathBuf]) -> anyhow::Result<Arc<Self>> {
        // What plugins are told of ours is written down once.
        static OURS: LazyLock<Arc<Documented>> = LazyLock::new(|| Arc::new(Documented::of(Catalog::embedded())));
        let mut documented = Arc::clone(&OURS);
        for folder in folders {
            let read = Folder::read(folder, &documented.catalog)
                .with_context(|| format!("the knowledge folder {} can not be read", folder.display()))?;
            for fault in &read.faults {
                let (folder, file) = (folder.display(), &fault.file);
                tracing::warn!(
                    "{folder}/{file}:{}: {}; the page is left out",
                    fault.line,
                    fault.message
                );
            }
            if !read.pages.is_empty() {
                let pages = read.pages.into_iter().map(|page| page.cause).collect();
                documented = Arc::new(Self::of(documented.catalog.as_ref().clone().with(pages)));
            }
        }
        Ok(documented)
    }

    /// Those of this catalogue.
    pub(crate) fn of(catalog: Catalog) -> Self {
        let catalog = Arc::new(catalog);
        let tables = tables(&catalog);
        Self {
            version: version::of_knowledge(&catalog, &tables),
            told: Arc::new(Knowledge {
                tables,
                catalog: Arc::clone(&catalog),
            }),
            catalog,
        }
    }

    /// The same with one more page, or another in the place of one. The error says what is wrong with it.
    pub(crate) fn with_page(&self, file: &str, text: &str) -> Result<(Self, String), String> {
        let fault = |fault: &whycrash_catalog::Fault| format!("{}, line {}: {}", fault.file, fault.line, fault.message);
        let page = whycrash_catalog::parse(file, text).map_err(|error| fault(&error))?;
        let others = self.catalog.causes().iter().filter(|cause| cause.id != page.id);
        let others: Catalog = others.cloned().collect();
        if let Some(error) = others.check_more(&[(&page, text)]).first() {
            return Err(fault(error));
        }
        let id = page.id.clone();
        Ok((Self::of(others.with(vec![page])), id))
    }
}

/// The recognise tables of all pages.
fn tables(catalog: &Catalog) -> Vec<KnownTable> {
    let of_cause = |cause: &Cause| {
        let id = cause.id.clone();
        let tables = cause.recognise.clone().into_iter();
        tables.filter_map(move |table| {
            let sign = Sign::new(&id, table);
            let json = serde_json::to_string(&sign).ok()?;
            Some(KnownTable { sign, json })
        })
    };
    catalog.causes().iter().flat_map(of_cause).collect()
}
