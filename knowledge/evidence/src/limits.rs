//! The caps every reader works under.

/// Upper bounds on what one artifact may cost to read. A cap that is hit becomes a [`crate::Problem`] naming it.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes that decompression may produce from one artifact. Cores of tens of GB are normal (they are mostly
    /// zeros); only what is kept costs memory.
    pub decompressed_bytes: u64,
    /// Bytes of a decompressed artifact kept in memory; more goes to an unlinked temporary file.
    pub resident_bytes: u64,
    /// Bytes of a core that is read as a stream put into that file. A core that is not compressed is read in place and
    /// needs none.
    pub spilled_bytes: u64,
    /// How many times its stored size a compressed artifact may become, ELF cores apart: those are mostly zeros, and
    /// shrink without limit. Whatever the ratio, 64 MiB are allowed.
    pub expansion_ratio: u64,
    /// Values in one pickle (each is a few bytes in the arena).
    pub pickle_values: usize,
    /// Threads of one process.
    pub threads: usize,
    /// Frames of one thread. A runaway recursion has hundreds of thousands; the first and last are what matters.
    pub frames: usize,
    /// Events of one artifact.
    pub events: usize,
    /// Bytes of one log line that are looked at.
    pub line_bytes: usize,
    /// Bytes of one text artifact, decompressed, that are read; a log bomb ends here.
    pub text_bytes: u64,
    /// Bytes of one JSON artifact, which is parsed as a whole.
    pub json_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            decompressed_bytes: 1 << 40,
            resident_bytes: 256 << 20,
            spilled_bytes: 64 << 30,
            expansion_ratio: 2_000,
            pickle_values: 12_000_000,
            threads: 16_384,
            frames: 4_096,
            events: 100_000,
            line_bytes: 64 << 10,
            text_bytes: 64 << 30,
            json_bytes: 64 << 20,
        }
    }
}
