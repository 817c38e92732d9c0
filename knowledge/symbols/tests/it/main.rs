//! Tests of `whycrash-symbols`.

mod damage;
mod debuginfod;
mod fixtures;
mod minidumps;
mod missing;
mod truth;
