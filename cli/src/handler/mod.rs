//! Keeping what the kernel dumps, from its pipe.
//!
//! The kernel writes headers and notes first, and then waits until they are read: so long the process that it dumps is
//! still there, and all of its memory can be read from `/proc/PID/mem`, in any order, as pointers lead through it. So of
//! the pipe only the beginning is read; the minicore is written from the memory of the process, and when the pipe is
//! closed the kernel lets the process go. What comes without such a process, from a file or out of a container, is read
//! to its end instead, and its pages are put aside on disk.

mod dying;
mod owner;
mod store;

use std::io::{BufWriter, Read, Write as _};
use std::path::Path;

use anyhow::Context as _;
use rustix::process::{Resource, Rlimit, setrlimit};
use whycrash_evidence::Limits;
use whycrash_evidence::readers::elf_core::{CoreDump, Head, Minicore};
use whycrash_symbols::{Sources, Symbols};

use crate::minicore;
use dying::Dying;

pub use owner::Owner;
pub use store::{Store, folder_of, is_being_written};

/// Seconds of processor time for one core dump: the process's parent waits for its end meanwhile.
const PROCESSOR_TIME: u64 = 60;

/// A crash, as the kernel's core pattern tells it.
#[derive(Debug)]
pub struct Crash<'a> {
    /// The process, as this machine counts.
    pub pid: u32,
    /// Whose core dump it is.
    pub owner: Owner,
    /// Seconds since 1970.
    pub time: u64,
    /// Name of the program.
    pub name: &'a str,
}

/// Keeps a minicore of what comes through `pipe`.
///
/// # Errors
/// When it is no core, or can not be kept: then nothing is left of it.
pub fn keep(crash: &Crash<'_>, store: &Path, mut pipe: impl Read) -> anyhow::Result<Minicore> {
    let in_store = || format!("can not keep a core dump in {}", store.display());
    let store = Store::open(store).with_context(in_store)?;
    store.expire();
    let folder = store.folder_for(crash.owner).with_context(in_store)?;
    let dying = Dying::find(crash.pid);
    // What a process maps and says about itself is hostile. It is read with no more rights than the process had.
    setrlimit(
        Resource::Cpu,
        Rlimit {
            current: Some(PROCESSOR_TIME),
            maximum: Some(PROCESSOR_TIME),
        },
    )
    .context("can not limit processor time")?;
    let root = dying.as_ref().and_then(Dying::other_root);
    crash
        .owner
        .become_it(root)
        .context("can not give up the rights of root")?;
    let partial = folder.partial(crash).with_context(in_store)?;
    let head = Head::read(&mut pipe).context("can not read the core dump")?;
    let symbols = Symbols::new(Sources {
        local_files: true,
        ..Sources::default()
    });
    let from_memory = dying.and_then(|dying| dying.core(&head));
    let written = from_memory.map(|core| write(core, &symbols, &partial));
    let made = match written {
        Some(Ok(made)) => made,
        // The process is gone: somebody killed it once more. What is still in the pipe is read instead.
        Some(Err(error)) if !store::is_full(&error) => from_pipe(&head, pipe, &symbols, &partial)?,
        Some(Err(error)) => return Err(error).with_context(in_store),
        None => from_pipe(&head, pipe, &symbols, &partial).with_context(in_store)?,
    };
    partial.finish().with_context(in_store)?;
    Ok(made)
}

fn from_pipe(head: &Head, pipe: impl Read, symbols: &Symbols, partial: &store::Partial) -> anyhow::Result<Minicore> {
    let whole = head.bytes.as_slice().chain(pipe);
    let (core, problems) =
        CoreDump::from_stream(whole, &limits()).map_err(|problem| anyhow::anyhow!(problem.message))?;
    if core.threads.is_empty() {
        anyhow::bail!("it ends before the registers of its threads");
    }
    minicore::warn(&problems);
    Ok(write(core, symbols, partial)?)
}

fn write(mut core: CoreDump, symbols: &Symbols, partial: &store::Partial) -> std::io::Result<Minicore> {
    minicore::warn(&symbols.note_needs(&mut core, minicore::LIMIT, &limits()));
    partial.restart()?;
    let mut writer = BufWriter::with_capacity(256 << 10, partial.file());
    let made = core.write_minicore(&mut writer)?;
    writer.flush()?;
    Ok(made)
}

/// Memory is scarce where something has just run out of it; what a core holds goes to disk.
fn limits() -> Limits {
    Limits {
        resident_bytes: 4 << 20,
        ..Limits::default()
    }
}
