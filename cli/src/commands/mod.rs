//! One module per command: its arguments, and what it does.

pub mod cause;
pub mod completions;
pub mod core;
pub mod core_handler;
pub mod delete;
pub mod diagnose;
pub mod diff;
pub mod doctor;
pub mod finish_report;
pub mod inspect;
pub mod look_at;
mod pages;
pub mod plugin;
pub mod run;
pub mod search;
pub mod show;
pub mod snapshot;
pub mod spool;
pub mod symbols;
pub mod upload;
