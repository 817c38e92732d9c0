//! The readers and what is made of their findings, on small artifacts.

mod gpu_cores;
mod kinds;
mod lines;
mod minidumps;
mod pickles;
mod recorders;
mod snapshots;
mod support;
