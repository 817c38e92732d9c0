//! Compiled plugins, kept between runs of the program.

use std::fs;
use std::hash::{Hash, Hasher};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use wasmtime::Engine;
use wasmtime::component::Component;

use super::PluginError;

/// Each file begins with the SHA-256 of the code behind it: a disk that was full or a copy that was cut must not be run.
const DIGEST_BYTES: usize = 32;

/// A folder of compiled components, each named by the hash of its source and of everything its code depends on.
///
/// A file is written beside its final name and renamed, and never written again. It is read into memory and never mapped: code
/// that is being run can not change under it. One that can not be loaded is compiled anew.
#[derive(Debug)]
pub(crate) struct CodeCache {
    folder: Option<PathBuf>,
    /// Distinguishes engines: version of wasmtime and configuration.
    engine: u64,
}

impl CodeCache {
    pub(crate) fn new(folder: Option<PathBuf>, engine: &Engine) -> Self {
        let mut hasher = std::hash::DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        Self {
            folder,
            engine: hasher.finish(),
        }
    }

    /// The compiled form of a component that passed inspection.
    pub(crate) fn load(&self, engine: &Engine, wasm: &[u8]) -> Result<Component, PluginError> {
        let path = self.folder.as_deref().map(|folder| self.path(folder, wasm));
        if let Some(component) = path.as_deref().and_then(|path| read(engine, path)) {
            return Ok(component);
        }
        let component = Component::from_binary(engine, wasm)
            .map_err(|error| PluginError::Refused(format!("it does not compile: {error:#}")))?;
        if let Some(path) = path
            && let Err(error) = write(&component, &path)
        {
            tracing::warn!(path = %path.display(), %error, "compiled plugin not kept; it will be compiled again next time");
        }
        Ok(component)
    }

    fn path(&self, folder: &Path, wasm: &[u8]) -> PathBuf {
        let mut hash = Sha256::new();
        hash.update(wasm);
        hash.update(self.engine.to_le_bytes());
        folder.join(format!("{}.cwasm", super::hex(&hash.finalize())))
    }
}

fn read(engine: &Engine, path: &Path) -> Option<Component> {
    let file = fs::read(path).ok()?;
    let (digest, code) = file.split_at_checked(DIGEST_BYTES)?;
    if Sha256::digest(code).as_slice() != digest {
        tracing::warn!(path = %path.display(), "compiled plugin is damaged; compiling it anew");
        return None;
    }
    deserialize(engine, code)
        .inspect_err(
            |error| tracing::debug!(path = %path.display(), %error, "compiled plugin does not load; compiling it anew"),
        )
        .ok()
}

/// Loads code that [`Component::serialize`] of this program made earlier.
pub(crate) fn deserialize(engine: &Engine, code: &[u8]) -> wasmtime::Result<Component> {
    // SAFETY: the bytes are trusted native code: either built into this program, or read from the cache folder, which belongs
    // to whoever runs it and where only `write` puts files. wasmtime refuses code of another version or configuration.
    unsafe { Component::deserialize(engine, code) }
}

fn write(component: &Component, path: &Path) -> anyhow::Result<()> {
    let folder = path
        .parent()
        .ok_or_else(|| anyhow::anyhow!("{} has no folder", path.display()))?;
    fs::create_dir_all(folder)?;
    let code = component.serialize()?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(&Sha256::digest(&code))?;
    file.write_all(&code)?;
    file.persist(path)?;
    Ok(())
}
