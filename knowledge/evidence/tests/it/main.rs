//! The readers and what is made of their findings, on small artifacts.

mod blocks;
mod gpu_cores;
mod grammars;
mod kinds;
mod lines;
mod merging;
mod minidumps;
mod pickles;
mod recorders;
mod signatures;
mod snapshots;
mod support;
