//! Compiled plugins, kept between runs of the program; and refusals, so that nothing is compiled twice for nothing.

use std::fs::{self, File, TryLockError};
use std::hash::{Hash, Hasher};
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;
use wasmtime::Engine;
use wasmtime::component::Component;

use super::{PluginError, compiler, inspect};
use crate::PluginLimits;

/// Changes when what is refused changes, as the version of the interface does: what was refused before is then looked
/// at anew.
const RULES: u32 = 4;

/// How files begin that are being written, as tempfile calls them, and when one is nobody's any more.
const UNFINISHED: &str = ".tmp";
const UNFINISHED_FOR: Duration = Duration::from_secs(24 * 60 * 60);

/// How often it is looked whether somebody else has compiled a component.
const LOOK: Duration = Duration::from_millis(20);

/// A folder of compiled components, each named by the hash of its source and of everything its code depends on.
///
/// A file is written beside its final name and renamed, and never written again: `NAME.cwasm` is code, `NAME.sum` the
/// SHA-256 of it, without which it is not run (a disk that was full, or a copy that was cut), and `NAME.refused` says
/// why there is no code. Who compiles a component holds a lock on `NAME.lock`: several programs may want the same one at
/// the same time, and one of them is enough. Code is mapped, so that what is not run takes no memory: the files must not
/// be changed, only removed.
#[derive(Debug)]
pub(crate) struct CodeCache {
    folder: Option<PathBuf>,
    /// The program that compiles in a process of its own; none to compile in this one.
    compiler: Option<PathBuf>,
    /// Distinguishes engines: version of wasmtime and configuration.
    engine: u64,
}

/// Where one component's files are.
struct Place<'a> {
    folder: &'a Path,
    name: String,
}

/// A lock on a file that goes with it. Whoever waits for a file that is gone still gets its turn.
struct Turn {
    path: PathBuf,
    _lock: File,
}

impl Drop for Turn {
    fn drop(&mut self) {
        // One that stays is locked again by whoever needs it.
        let _ = fs::remove_file(&self.path);
    }
}

impl CodeCache {
    pub(crate) fn new(folder: Option<PathBuf>, compiler: Option<PathBuf>, engine: &Engine) -> Self {
        let mut hasher = std::hash::DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        (RULES, inspect::VERSION).hash(&mut hasher);
        Self {
            folder,
            compiler,
            engine: hasher.finish(),
        }
    }

    /// The compiled form of a component from anybody, who may have made it to hurt whoever compiles it.
    pub(crate) fn load(&self, engine: &Engine, wasm: &[u8], limits: &PluginLimits) -> Result<Component, PluginError> {
        inspect::check_size(wasm.len() as u64, limits)?;
        let Some(folder) = &self.folder else {
            let folder = tempfile::tempdir().map_err(not_kept)?;
            let (component, _code) = self.compile(engine, wasm, limits, folder.path())?;
            return component;
        };
        let place = Place {
            folder,
            name: self.name(wasm),
        };
        if let Some(known) = place.known(engine) {
            return known;
        }
        fs::create_dir_all(folder).map_err(not_kept)?;
        clear_unfinished(folder);
        let _turn = place.turn(compiler::patience(wasm.len() as u64));
        // Whoever had the turn before has left what came of it.
        if let Some(known) = place.known(engine) {
            return known;
        }
        self.compile_and_keep(engine, wasm, limits, &place)
    }

    fn compile_and_keep(
        &self,
        engine: &Engine,
        wasm: &[u8],
        limits: &PluginLimits,
        place: &Place<'_>,
    ) -> Result<Component, PluginError> {
        match self.compile(engine, wasm, limits, place.folder) {
            Ok((component, code)) => {
                if let Err(error) = place.keep(code) {
                    tracing::warn!(%error, "compiled plugin not kept; it will be compiled again next time");
                }
                component
            }
            Err(PluginError::Refused(reason)) => {
                if let Err(error) = place.write("refused", reason.as_bytes()) {
                    tracing::warn!(%error, "refusal of a plugin not kept; it will be compiled again next time");
                }
                Err(PluginError::Refused(reason))
            }
            Err(error) => Err(error),
        }
    }

    /// Compiles into a file of the folder, and loads that.
    fn compile(
        &self,
        engine: &Engine,
        wasm: &[u8],
        limits: &PluginLimits,
        folder: &Path,
    ) -> Result<(Result<Component, PluginError>, NamedTempFile), PluginError> {
        let mut code = NamedTempFile::new_in(folder).map_err(not_kept)?;
        match &self.compiler {
            Some(program) => compiler::compile(program, wasm, code.as_file())?,
            None => {
                let compiled = compiler::native_code(wasm, limits)?;
                io::Write::write_all(&mut code, &compiled).map_err(not_kept)?;
            }
        }
        let component = map(engine, code.path()).map_err(|error| PluginError::Refused(format!("{error:#}")));
        Ok((component, code))
    }

    fn name(&self, wasm: &[u8]) -> String {
        let mut hash = Sha256::new();
        hash.update(wasm);
        hash.update(self.engine.to_le_bytes());
        hex::encode(hash.finalize())
    }
}

impl Place<'_> {
    fn path(&self, extension: &str) -> PathBuf {
        self.folder.join(format!("{}.{extension}", self.name))
    }

    /// What came of the component before, if that is known and whole.
    fn known(&self, engine: &Engine) -> Option<Result<Component, PluginError>> {
        if let Ok(reason) = fs::read_to_string(self.path("refused")) {
            return Some(Err(PluginError::Refused(reason)));
        }
        let sum = fs::read_to_string(self.path("sum")).ok()?;
        let code = self.path("cwasm");
        if sum_of(&code).is_none_or(|now| now != sum) {
            tracing::warn!(path = %code.display(), "compiled plugin is damaged; compiling it anew");
            return None;
        }
        let component = map(engine, &code);
        component
            .inspect_err(|error| tracing::debug!(%error, "compiled plugin does not load; compiling it anew"))
            .ok()
            .map(Ok)
    }

    /// The turn to compile this component; none where the file system has no locks, or where whoever has it takes longer
    /// than any compiling may.
    fn turn(&self, patience: Duration) -> Option<Turn> {
        let path = self.path("lock");
        let lock = File::create(&path).ok()?;
        let deadline = Instant::now() + patience;
        loop {
            match lock.try_lock() {
                Ok(()) => return Some(Turn { path, _lock: lock }),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => thread::sleep(LOOK),
                Err(_) => return None,
            }
        }
    }

    fn keep(&self, code: NamedTempFile) -> io::Result<()> {
        let sum = sum_of(code.path()).unwrap_or_default();
        fs::set_permissions(code.path(), fs::Permissions::from_mode(0o444))?;
        code.persist(self.path("cwasm"))?;
        self.write("sum", sum.as_bytes())
    }

    fn write(&self, extension: &str, text: &[u8]) -> io::Result<()> {
        let mut file = NamedTempFile::new_in(self.folder)?;
        io::Write::write_all(&mut file, text)?;
        file.persist(self.path(extension))?;
        Ok(())
    }
}

/// Removes what programs were writing that were killed: files of a name that nothing asks for, which nobody has written to
/// for longer than any compiling takes.
fn clear_unfinished(folder: &Path) {
    let old = |file: &fs::DirEntry| {
        let written = file.metadata().and_then(|about| about.modified()).ok();
        let is_old = written
            .and_then(|written| written.elapsed().ok())
            .is_some_and(|age| age > UNFINISHED_FOR);
        is_old && file.file_name().to_string_lossy().starts_with(UNFINISHED)
    };
    for file in fs::read_dir(folder).into_iter().flatten().flatten().filter(old) {
        // Another program may have been faster.
        let _ = fs::remove_file(file.path());
    }
}

/// SHA-256 of a file, lower-case hex.
fn sum_of(path: &Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let (mut hash, mut piece) = (Sha256::new(), vec![0; 1 << 20]);
    loop {
        match file.read(&mut piece).ok()? {
            0 => return Some(hex::encode(hash.finalize())),
            count => hash.update(piece.get(..count)?),
        }
    }
}

/// Loads native code from a file by mapping it.
fn map(engine: &Engine, path: &Path) -> wasmtime::Result<Component> {
    // SAFETY: the file is trusted native code: it was made by our own compiler, in a folder that belongs to whoever
    // runs this program, where files are renamed into place and never written again. wasmtime refuses code of another
    // version or configuration.
    unsafe { Component::deserialize_file(engine, path) }
}

/// Loads code that is built into this program.
pub(crate) fn deserialize(engine: &Engine, code: &[u8]) -> wasmtime::Result<Component> {
    // SAFETY: the bytes are trusted native code that `plugins/build.sh` made with this program's own compiler. wasmtime
    // refuses code of another version or configuration.
    unsafe { Component::deserialize(engine, code) }
}

fn not_kept(error: io::Error) -> PluginError {
    PluginError::Host(format!("there is no room for its compiled code: {error}"))
}
