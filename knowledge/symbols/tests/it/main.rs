//! Tests of `whycrash-symbols`.

mod aarch64;
mod caps;
mod crashes;
mod damage;
mod debug_files;
mod debuginfod;
mod fixtures;
mod gpu;
mod last_words;
mod minidumps;
mod missing;
mod tiny_core;
mod truth;
