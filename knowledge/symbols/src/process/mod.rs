//! A crashed process: its memory, its binaries, its stacks, and why it was ended.

pub(crate) mod fault;
pub(crate) mod last_words;
pub(crate) mod memory;
pub(crate) mod modules;
pub(crate) mod stacks;
pub(crate) mod waits;
