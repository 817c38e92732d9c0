//! Minicores of core dumps that are files.

use std::io::{BufWriter, Write as _};
use std::path::Path;

use anyhow::Context as _;
use whycrash_evidence::readers::Input;
use whycrash_evidence::readers::elf_core::{CoreDump, Minicore};
use whycrash_evidence::{Artifact, Limits, Problem};
use whycrash_symbols::Symbols;

/// Bytes of memory that a minicore holds at most. One takes a few MiB; a stack that overflowed is as large as it may be.
pub const LIMIT: u64 = 64 << 20;

/// Makes a minicore of a core dump, compressed or not; it is there whole, or not at all.
///
/// # Errors
/// When the file is no core dump, can not be read, or the other can not be written.
pub fn make(core: &Path, to: &Path, symbols: &Symbols) -> anyhow::Result<Minicore> {
    let limits = Limits::default();
    let cannot_read = || format!("can not read {}", core.display());
    let artifact = Artifact::new("core", core);
    let input = Input::open(&artifact, &limits).with_context(cannot_read)?;
    let (mut dump, problems) = CoreDump::open(&input, &limits)
        .map_err(|problem| anyhow::anyhow!(problem.message))
        .with_context(cannot_read)?;
    warn(&problems);
    warn(&symbols.note_needs(&mut dump, LIMIT, &limits));
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
    let cannot_write = || format!("can not write {}", to.display());
    let partial = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new("."))).with_context(cannot_write)?;
    let mut writer = BufWriter::with_capacity(1 << 20, partial);
    let made = dump.write_minicore(&mut writer).with_context(cannot_write)?;
    writer.flush().with_context(cannot_write)?;
    let partial = writer
        .into_inner()
        .map_err(|error| error.into_error())
        .with_context(cannot_write)?;
    partial.as_file().sync_all().with_context(cannot_write)?;
    partial
        .persist(to)
        .map_err(|error| error.error)
        .with_context(cannot_write)?;
    Ok(made)
}

/// Says what was left out.
pub fn warn(problems: &[Problem]) {
    for problem in problems {
        tracing::warn!("{}", problem.message);
    }
}
