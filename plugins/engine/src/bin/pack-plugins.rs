//! Makes plugin components ready to be built into a program: `pack-plugins FILE.wasm…` compiles each for the
//! architecture this program was built for, and writes `FILE.wasm.zst` and `FILE.cwasm.zst`, the component and its
//! code, beside it. `plugins/build.sh` calls it, so that the command line starts without compiling anything.
//!
//! As `make` would, it passes over what is newer than the component and than this program.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;
use std::{env, fs, io};

use anyhow::Context as _;

/// Packed once and unpacked at every start, which takes the same time at every level.
const LEVEL: i32 = 19;

fn main() -> anyhow::Result<()> {
    let paths = Mutex::new(env::args_os().skip(1).map(PathBuf::from).collect::<Vec<_>>());
    let next = || paths.lock().ok()?.pop();
    let work = || std::iter::from_fn(next).try_for_each(|path| prepare(&path));
    let workers = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().expect("a worker does not panic"))
    })
}

fn prepare(path: &Path) -> anyhow::Result<()> {
    let packed = ["wasm.zst", "cwasm.zst"].map(|extension| path.with_extension(extension));
    if packed.iter().all(|packed| is_newer(packed, path).unwrap_or(false)) {
        return Ok(());
    }
    let wasm = fs::read(path).with_context(|| format!("{} can not be read", path.display()))?;
    let code = whycrash_engine::precompile(&wasm)
        .map_err(anyhow::Error::from)
        .with_context(|| path.display().to_string())?;
    let [component, native] = packed;
    pack(&wasm, &component)?;
    pack(&code, &native)
}

/// Whether a packed file was made of this component by this program.
fn is_newer(packed: &Path, component: &Path) -> io::Result<bool> {
    let changed = |path: &Path| fs::metadata(path)?.modified();
    let packed = changed(packed)?;
    Ok(packed >= changed(component)? && packed >= changed(&env::current_exe()?)?)
}

/// Writes a file beside its place and puts it there whole: half of one would be newer than the component, too.
fn pack(bytes: &[u8], to: &Path) -> anyhow::Result<()> {
    let packed = zstd::bulk::compress(bytes, LEVEL).with_context(|| to.display().to_string())?;
    let new = to.with_extension("new");
    fs::write(&new, packed)
        .and_then(|()| fs::rename(&new, to))
        .with_context(|| format!("{} can not be written", to.display()))
}
