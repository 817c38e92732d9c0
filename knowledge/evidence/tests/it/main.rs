//! The readers and what is made of their findings, on small artifacts.

mod kinds;
mod lines;
mod pickles;
mod recorders;
mod snapshots;
mod support;
