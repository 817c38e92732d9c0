//! Tests of `whycrash-symbols`.

// The files of a test are its own.
#![allow(clippy::disallowed_methods)]

mod aarch64;
mod caps;
mod crashes;
mod damage;
mod debug_files;
mod debuginfod;
mod fixtures;
mod gpu;
mod last_words;
mod minicore;
mod minidumps;
mod missing;
mod named_files;
mod tiny_core;
mod truth;
mod waits;
