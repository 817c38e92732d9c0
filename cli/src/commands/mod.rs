//! One module per command: its arguments, and what it does.

#[cfg(feature = "diagnosis")]
mod answering;
pub mod ask_driver;
#[cfg(feature = "diagnosis")]
pub mod cause;
pub mod completions;
pub mod core;
pub mod core_handler;
pub mod delete;
#[cfg(feature = "diagnosis")]
pub mod diagnose;
#[cfg(feature = "diagnosis")]
pub mod diff;
pub mod doctor;
pub mod finish_report;
#[cfg(feature = "diagnosis")]
pub mod inspect;
pub mod licenses;
pub mod look_at;
pub mod man;
#[cfg(feature = "diagnosis")]
mod pages;
#[cfg(feature = "diagnosis")]
pub mod plugin;
#[cfg(feature = "diagnosis")]
mod published_pages;
#[cfg(feature = "diagnosis")]
pub mod reading;
pub mod rediagnose;
pub mod run;
#[cfg(feature = "diagnosis")]
pub mod search;
#[cfg(feature = "diagnosis")]
pub mod show;
pub mod snapshot;
pub mod spool;
pub mod symbols;
pub mod upload;
