//! Makes plugin components ready to be built into a program: `whycrash-precompile FILE.wasm…` compiles each for the
//! architecture this program was built for, and writes `FILE.wasm.zst` and `FILE.cwasm.zst`, the component and its
//! code, beside it. `plugins/build.sh` calls it, so that the command line starts without compiling anything.

use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread;

use anyhow::Context as _;

/// Packed once and unpacked at every start, which takes the same time at every level.
const LEVEL: i32 = 19;

fn main() -> anyhow::Result<ExitCode> {
    if let Some(code) = whycrash_plugin_host::compile_if_asked() {
        return Ok(code);
    }
    let paths = Mutex::new(std::env::args_os().skip(1).map(PathBuf::from).collect::<Vec<_>>());
    let next = || paths.lock().ok()?.pop();
    let work = || std::iter::from_fn(next).try_for_each(|path| prepare(&path));
    let workers = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().expect("a worker does not panic"))
    })?;
    Ok(ExitCode::SUCCESS)
}

fn prepare(path: &Path) -> anyhow::Result<()> {
    let wasm = fs::read(path).with_context(|| format!("{} can not be read", path.display()))?;
    let code = whycrash_plugin_host::precompile(&wasm).with_context(|| path.display().to_string())?;
    pack(&wasm, &path.with_extension("wasm.zst"))?;
    pack(&code, &path.with_extension("cwasm.zst"))
}

/// Writes a file, unless it holds these bytes already: one that is not changed keeps its time, so that nothing that
/// embeds it is built again.
fn pack(bytes: &[u8], to: &Path) -> anyhow::Result<()> {
    let old = fs::read(to).ok().and_then(|old| zstd::decode_all(old.as_slice()).ok());
    if old.is_some_and(|old| old == bytes) {
        return Ok(());
    }
    let packed = zstd::bulk::compress(bytes, LEVEL).with_context(|| to.display().to_string())?;
    fs::write(to, packed).with_context(|| format!("{} can not be written", to.display()))
}
