//! The plugins that are built into this program, packed: unpacking them all takes a few milliseconds, and a program that
//! is a third smaller is what people download.

use std::io;

/// A component, and its code for this architecture, each as `plugins/build.sh` had it packed.
pub(crate) struct Builtin {
    component: &'static [u8],
    code: &'static [u8],
}

/// All of them; none when the program was built before its plugins were.
pub(crate) const BUILTIN: &[Builtin] = include!(concat!(env!("OUT_DIR"), "/builtin.rs"));

/// At once, in room of the size that was packed.
fn unpacked(packed: &[u8]) -> io::Result<Vec<u8>> {
    let bytes = zstd::zstd_safe::get_frame_content_size(packed).ok().flatten();
    zstd::bulk::decompress(
        packed,
        bytes.and_then(|bytes| bytes.try_into().ok()).unwrap_or_default(),
    )
}

impl Builtin {
    /// The component.
    pub(crate) fn component(&self) -> io::Result<Vec<u8>> {
        unpacked(self.component)
    }

    /// Its code.
    pub(crate) fn code(&self) -> io::Result<Vec<u8>> {
        unpacked(self.code)
    }
}
