//! The files that symbols are in: found, opened with care, and taken apart.

pub(crate) mod build_id;
pub(crate) mod cache;
pub(crate) mod debuginfod;
pub(crate) mod finder;
pub(crate) mod folders;
pub(crate) mod mapped;
pub(crate) mod memory_image;
pub(crate) mod object_file;
pub(crate) mod reach;
pub(crate) mod regular;
pub(crate) mod shared;
pub(crate) mod symbol_file;
pub(crate) mod symbol_table;
pub(crate) mod unpack;
pub(crate) mod xz_size;
