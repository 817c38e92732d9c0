//! A component and its native code, packed beside it to be built into a program.

use std::ffi::OsStr;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;
use std::{fs, io};

use anyhow::Context as _;

/// Packed once and unpacked at every start, which takes the same time at every level.
const LEVEL: i32 = 19;

/// The two files that [`pack`] makes of a component have its name with these extensions: itself, and its code.
pub const PACKED: [&str; 2] = ["wasm.zst", "cwasm.zst"];

/// Of what they were made.
const MADE_OF: &str = "made-of";

/// Compiles a component for the architecture this program was built for and writes it and its code, packed, beside it;
/// nothing where they are there, of this component and of this engine.
///
/// # Errors
/// When a file can not be read or written, or the component is refused.
pub fn pack(component: &Path) -> anyhow::Result<()> {
    let wasm = fs::read(component).context("it can not be read")?;
    let made_of = made_of(&wasm)?;
    let made_of_file = component.with_extension(MADE_OF);
    let are_there = PACKED
        .iter()
        .all(|extension| component.with_extension(extension).exists());
    if are_there && fs::read(&made_of_file).is_ok_and(|known| known == made_of.as_bytes()) {
        return Ok(());
    }
    let code = crate::precompile(&wasm)?;
    for (extension, bytes) in PACKED.iter().zip([&wasm, &code]) {
        let packed = zstd::bulk::compress(bytes, LEVEL)?;
        put(&packed, &component.with_extension(extension))?;
    }
    // Last, so that one who is interrupted begins anew.
    put(made_of.as_bytes(), &made_of_file)
}

/// Names a component and an engine, for comparing with what this program or one built like it said.
fn made_of(wasm: &[u8]) -> anyhow::Result<String> {
    let mut hasher = DefaultHasher::new();
    crate::engine()?.precompile_compatibility_hash().hash(&mut hasher);
    wasm.hash(&mut hasher);
    Ok(format!("{:016x}\n", hasher.finish()))
}

/// Writes a file beside its place and puts it there whole: a build may be reading what is there.
fn put(bytes: &[u8], to: &Path) -> anyhow::Result<()> {
    let mut name = to.file_name().map(OsStr::to_owned).unwrap_or_default();
    name.push(".new");
    let new = to.with_file_name(name);
    let written: io::Result<()> = fs::write(&new, bytes).and_then(|()| fs::rename(&new, to));
    written.with_context(|| format!("{} can not be written", to.display()))
}
