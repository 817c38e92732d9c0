//! Makes plugin components ready to be built into a program: `pack-plugins FILE.wasm…` packs each, as
//! [`whycrash_engine::pack`] does. `plugins/build.sh` calls it, so that the command line starts without compiling
//! anything.

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Mutex;
use std::{env, thread};

use anyhow::Context as _;

fn main() -> anyhow::Result<()> {
    let paths = Mutex::new(env::args_os().skip(1).map(PathBuf::from).collect::<Vec<_>>());
    let next = || paths.lock().ok()?.pop();
    let pack = |path: PathBuf| whycrash_engine::pack(&path).with_context(|| path.display().to_string());
    let work = || std::iter::from_fn(next).try_for_each(pack);
    let workers = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().expect("a worker does not panic"))
    })
}
