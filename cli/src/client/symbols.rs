//! Uploading symbols.

use std::fs::File;
use std::io::{Seek as _, SeekFrom};
use std::path::Path;

use anyhow::Context as _;
use reqwest::Method;
use reqwest::blocking::Body;
use serde::{Deserialize, Serialize};
use whycrash_symbols::SymbolIdentity;

use super::upload::{Counted, TRANSFER};
use super::{Client, Progress, encode};

/// A file of symbols on a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Build id, or the debug id of a Breakpad file.
    pub id: String,
    /// `executable`, `debuginfo` or `breakpad`.
    pub kind: String,
    /// False when the server had it before.
    pub new: bool,
    /// Reports that the server reads again with it.
    #[serde(default)]
    pub reports: u64,
}

/// What a server has for an id.
#[derive(Debug, Deserialize)]
struct Known {
    #[serde(default)]
    files: Vec<KnownFile>,
}

/// A file that a server has.
#[derive(Debug, Deserialize)]
struct KnownFile {
    kind: String,
    bytes: u64,
}

impl Client {
    /// Sends a file of symbols, unless the server has one of that id, kind and size; nothing when the server keeps
    /// another one. With `replace` it is sent in any case, and takes the place of what is there.
    pub fn upload_symbols(
        &self,
        file: &SymbolIdentity,
        path: &Path,
        replace: bool,
        progress: &impl Progress,
    ) -> anyhow::Result<Option<Kept>> {
        let kind = file.kind.as_str();
        let known = self.get::<Known>(&format!("symbols/{}", encode(&file.id)), &[]);
        let known = known
            .ok()
            .and_then(|known| known.files.into_iter().find(|known| known.kind == kind));
        let bytes = path.metadata().map(|about| about.len()).ok();
        if let Some(known) = known.filter(|_| !replace) {
            let kept = Kept {
                id: file.id.clone(),
                kind: kind.to_owned(),
                new: false,
                reports: 0,
            };
            return Ok((Some(known.bytes) == bytes).then_some(kept));
        }
        let cannot_read = || format!("can not read {}", path.display());
        let content = File::open(path).with_context(cannot_read)?;
        let bytes = content.metadata().with_context(cannot_read)?.len();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let answer = self.send(|http| {
            progress.begin(&name, bytes);
            let method = if replace { Method::PUT } else { Method::POST };
            let request = http.request(method, self.address("symbols")).timeout(TRANSFER);
            match content
                .try_clone()
                .and_then(|mut file| file.seek(SeekFrom::Start(0)).map(|_| file))
            {
                Ok(file) => request.body(Body::sized(Counted::new(file, progress.clone()), bytes)),
                Err(_) => request,
            }
        })?;
        progress.finish();
        let kept = answer
            .json()
            .with_context(|| format!("{} answered what this program does not understand", self.server()))?;
        Ok(Some(kept))
    }
}
