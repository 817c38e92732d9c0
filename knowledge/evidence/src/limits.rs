//! The caps every reader works under.
//!
//! What is hostile costs no more than what is large. Every cap that is hit becomes a [`crate::Problem`] with the code
//! below; what was read before it is kept. With the default limits a reader stays within 512 MiB of memory.
//!
//! | what | how much | code |
//! |---|---|---|
//! | bytes after decompression | [`Limits::decompressed_bytes`] | `limit-decompressed-bytes` |
//! | size after decompression over size stored, cores apart | [`Limits::expansion_ratio`], and 64 MiB always | `limit-expansion-ratio` |
//! | bytes put aside on disk | [`Limits::spilled_bytes`] | `limit-spilled-bytes`; `no-room` when the disk is full |
//! | bytes of a minidump | [`Limits::resident_bytes`] | `limit-resident-bytes` |
//! | what a pickle holds at once | [`Limits::pickle_values`] | `limit-pickle-values` |
//! | bytes of one string of a pickle | 16 MiB | `limit-pickle-string` |
//! | threads (warps of a GPU) | [`Limits::threads`] | `limit-threads` |
//! | frames of a thread | [`Limits::frames`] | counted in [`crate::model::Thread::frames_omitted`] |
//! | events of a text, entries of a flight recorder | [`Limits::events`] | `limit-events` |
//! | events of one kind in a text | [`Limits::events_of_kind`] | `limit-events` |
//! | bytes that events and stacks of a text quote | [`Limits::evidence_bytes`]; while it is read 64 MiB, and 8 MiB of one kind | `limit-evidence-bytes` |
//! | lines that grammars read, those that are like lines before apart | 60 000, and one for 1024 bytes of the text; one that tells of nothing new counts as four | `limit-text-work` |
//! | bytes of a traceback or report in a text | 8 MiB; 16 MiB of those that are open at once | `limit-block-bytes` |
//! | bytes of a line | [`Limits::line_bytes`]; 16 KiB for grammars | `limit-line-bytes` |
//! | bytes of a text | [`Limits::text_bytes`] | `limit-text-bytes` |
//! | bytes of a JSON artifact | [`Limits::json_bytes`] | `limit-json-bytes` |
//! | values of a JSON artifact | 2 000 000 | `limit-json-values` |
//! | nesting of JSON | 128 | `bad-json` |
//! | text that is made of a notebook, an export of logs or a run | half of [`Limits::resident_bytes`]; 4096 sections with names | `limit-text-bytes` |
//! | records of an export of logs that has one a line | half of [`Limits::resident_bytes`], the oldest go | `limit-text-bytes` |
//! | series of an artifact; points of one | 256; 64 | `limit-series` |
//! | bytes of a record of an event file; of a run | 1 MiB; 4 MiB | longer ones are passed over |
//! | segments of a core | 1 048 576 | `limit-segments` |
//! | notes of a core | 1 048 576; 16 MiB of mapped files or of what a minicore holds, 256 MiB in all | `limit-notes` |
//! | binaries mapped; names of the dynamic linker | 16 384; 4 MiB | `limit-modules` |
//! | entries and names of a minidump's lists | 65 536; 64 MiB | `limit-minidump` |
//! | sections and tables of a GPU core | 1 048 576; [`Limits::resident_bytes`] | `limit-gpu-core` |
//! | functions of a GPU core's images | 1 048 576; 64 MiB of names | `limit-gpu-functions` |
//! | line tables of a GPU core's images | 4 194 304 rows; 64 MiB of names | `limit-gpu-lines` |
//! | GPUs of one artifact | 64 | `limit-devices` |
//! | bytes and nesting of a sanitizer's XML | [`Limits::json_bytes`]; 64 | `limit-json-bytes`; `damaged-xml` |
//! | communicators of an Inspector's log; ranks of RAS answers | 4096; [`Limits::recorder_ranks`] | `limit-recorder` |
//! | signatures of a torchcomms log | 65 536 | `limit-recorder` |
//! | groups, ranks and texts of a flight recorder | 4096; [`Limits::recorder_ranks`]; [`Limits::recorder_text_bytes`] | `limit-recorder` |
//!
//! What is in archives is bounded in the crate that unpacks them (`unpack` of the readings). What symbols cost has a table of its own, in `costs.rs` of the crate that finds them.
//!
//! Nesting of pickles costs heap, never stack, and counts as what is held. There is no clock: a reader does a bounded
//! amount of work for each byte it reads, so that the caps on bytes bound its time, and the same artifact always gives
//! the same evidence. Lists made for people (verdicts, clusters, pools, faults) show the largest or first few only and
//! are no caps on reading.

/// Process groups of one rank that count.
pub(crate) const GROUPS: usize = 4096;

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
    /// What is held of one pickle at any moment, in units of some 32 bytes: an item is one, a container or string three
    /// and what is in it. Trace entries pass through and are not held, so that the size of a snapshot is no matter.
    pub pickle_values: usize,
    /// Threads of one process.
    pub threads: usize,
    /// Frames of one thread. A runaway recursion has hundreds of thousands; the first and last are what matters.
    pub frames: usize,
    /// Events of one artifact.
    pub events: usize,
    /// Events of one kind in a text. Equal ones are one event; of those that differ, the first are kept and a quarter
    /// for those at the end.
    pub events_of_kind: usize,
    /// Bytes, as JSON, of the events and stacks of one text: a flood of failures is no better understood by reading it
    /// whole.
    pub evidence_bytes: usize,
    /// Bytes of one log line that are looked at.
    pub line_bytes: usize,
    /// Bytes of one text artifact, decompressed, that are read; a log bomb ends here.
    pub text_bytes: u64,
    /// Bytes of one JSON artifact, which is parsed as a whole.
    pub json_bytes: u64,
    /// Ranks that all process groups of one flight recorder list together.
    pub recorder_ranks: usize,
    /// Bytes of distinct names, shapes and stacks of one flight recorder.
    pub recorder_text_bytes: usize,
    /// What unwinding and naming the stacks of one artifact may cost: bytes of memory, of unwinding rules and of
    /// interpreter structures that are read, each read with a share for itself. A walk through a million frames takes
    /// some thousand million; what a few seconds suffice for is the default.
    pub symbol_work: u64,
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
            events_of_kind: 2_048,
            evidence_bytes: 900 << 10,
            line_bytes: 64 << 10,
            text_bytes: 64 << 30,
            json_bytes: 64 << 20,
            recorder_ranks: 1 << 20,
            recorder_text_bytes: 32 << 20,
            symbol_work: 16 << 30,
        }
    }
}
