//! The plugins that are built into this program.

/// A component, and its code for this architecture as `plugins/build.sh` compiled it (empty when it did not).
pub(crate) struct Builtin {
    pub(crate) wasm: &'static [u8],
    pub(crate) code: &'static [u8],
}

/// All of them; none when the program was built before its plugins were.
pub(crate) const BUILTIN: &[Builtin] = include!(concat!(env!("OUT_DIR"), "/builtin.rs"));
