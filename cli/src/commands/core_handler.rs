//! `whycrash core-handler`: the program behind the kernel's core_pattern pipe.

use std::fs::{DirBuilder, File};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;

/// Where core dumps are kept when the pattern does not say.
pub const STORE: &str = "/var/lib/whycrash/cores";

/// Keep a core dump that the kernel hands over on standard input
///
/// For the kernel, as root: sysctl kernel.core_pattern='|/usr/bin/whycrash core-handler %P %t %e'
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder to keep core dumps in
    #[arg(long, value_name = "FOLDER", default_value = STORE)]
    store: PathBuf,
    /// The process's number, as this machine counts (%P)
    pid: u32,
    /// When it crashed, in seconds since 1970 (%t)
    time: u64,
    /// The name of its program (%e)
    #[arg(default_value = "unknown")]
    name: String,
}

/// Stores standard input as `core.NAME.PID.TIME`.
pub fn execute(args: &Args) -> anyhow::Result<ExitCode> {
    // A core dump holds all that was in memory: nobody else may look.
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&args.store)
        .with_context(|| in_store("make the folder", &args.store))?;
    let name: String = args
        .name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || "-_.".contains(c) {
                c
            } else {
                '_'
            }
        })
        .collect();
    let path = args.store.join(format!("core.{name}.{}.{}", args.pid, args.time));
    let partial = args.store.join(format!(".{}.{}", args.pid, args.time));
    let mut file = File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&partial)
        .with_context(|| in_store("keep a core dump", &args.store))?;
    let stored = copy_sparse(&mut std::io::stdin().lock(), &mut file).and_then(|()| file.sync_all());
    stored.with_context(|| in_store("keep a core dump", &args.store))?;
    std::fs::rename(&partial, &path).with_context(|| in_store("keep a core dump", &args.store))?;
    Ok(ExitCode::SUCCESS)
}

/// Copies, leaving out pages of zeros: most of a core dump is such.
fn copy_sparse(from: &mut impl std::io::Read, to: &mut File) -> std::io::Result<()> {
    const PAGES: usize = 256 << 10;
    let mut buffer = Vec::with_capacity(PAGES);
    let mut length = 0;
    loop {
        buffer.clear();
        from.by_ref().take(PAGES as u64).read_to_end(&mut buffer)?;
        if buffer.is_empty() {
            return to.set_len(length);
        }
        length += buffer.len() as u64;
        if buffer.iter().all(|byte| *byte == 0) {
            to.seek(SeekFrom::Start(length))?;
        } else {
            to.write_all(&buffer)?;
        }
    }
}

fn in_store(what: &str, store: &Path) -> String {
    format!("can not {what} in {}", store.display())
}
