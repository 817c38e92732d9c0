//! One module per command: its arguments, and what it does.

pub mod completions;
pub mod core_handler;
pub mod diagnose;
pub mod inspect;
pub mod run;
