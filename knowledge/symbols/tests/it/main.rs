//! Tests of `whycrash-symbols`.

mod damage;
mod fixtures;
mod missing;
mod truth;
