//! The readers and what is made of their findings, on small artifacts.

#![allow(clippy::format_collect, reason = "test texts are small, and read better this way")]

mod blocks;
mod bombs;
mod checks;
mod communicators;
mod core_builder;
mod cores;
mod damage;
mod event_files;
mod exchanges;
mod fault_addresses;
mod first_failures;
mod floods;
mod gpu_cores;
mod grammars;
mod hostile;
mod kinds;
mod lines;
mod log_exports;
mod logs;
mod merging;
mod minidumps;
mod nearest;
mod notebook_files;
mod notebooks;
mod odd_snapshots;
mod pages;
mod pickle_writer;
mod pickles;
mod printable;
mod recorders;
mod series;
mod signatures;
mod snapshots;
mod support;
mod text_ends;
mod trimming;
mod unread;
mod valgrind;
