//! How much of a core is looked at. Each cap is far above what any real core has, and named when it is hit.

/// Program headers. More mappings than any process has: the kernel's own default limit is 65 530
/// (`vm.max_map_count`).
pub(super) const SEGMENTS: u64 = 1 << 20;
/// Notes of all `PT_NOTE` segments together: a thread has five to ten.
pub(super) const NOTES: u64 = 1 << 20;
/// Bytes of the list of mapped files. The kernel leaves the list out above 16 MiB (`core_file_note_size_limit`).
pub(super) const FILE_NOTE_BYTES: u64 = 16 << 20;
/// Bytes of any other note that are looked at: what is read of them lies within the first few hundred.
pub(super) const NOTE_BYTES: u64 = 8 << 10;
/// Bytes of notes read in all.
pub(super) const ALL_NOTE_BYTES: u64 = 256 << 20;
/// Binaries mapped into one process.
pub(super) const MODULES: usize = 16_384;
/// Bytes of the paths that the dynamic linker's list names, all together.
pub(super) const LIBRARY_NAME_BYTES: usize = 4 << 20;
/// Bytes of one path (`PATH_MAX`).
pub(super) const PATH_BYTES: usize = 4 << 10;
/// Entries of an executable's dynamic section: linkers write some thirty.
pub(super) const DYNAMIC_ENTRIES: u64 = 1 << 10;
/// Program headers of a mapped binary: linkers write some ten.
pub(super) const MODULE_SEGMENTS: u64 = 256;
/// `PT_NOTE` segments of a binary that are searched for its build id.
pub(super) const MODULE_NOTE_SEGMENTS: usize = 8;
/// Bytes of each of them: a build id's note has 36, and what may stand before it is not much longer.
pub(super) const MODULE_NOTE_BYTES: usize = 4 << 10;
/// Bytes of memory given out in one piece.
pub(super) const PIECE_BYTES: u64 = 64 << 20;
