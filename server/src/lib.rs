//! The crash knowledge base over HTTP: takes in crash reports, diagnoses them, finds them again, and shows them.
//!
//! A report is answered only after it is durable; a worker then reads it with the same code as the command line, stores
//! evidence and diagnosis, and the index follows. [`api::configure`] is what both the binary and the tests serve.

pub mod api;
pub mod config;
pub mod connections;
pub mod documents;
pub mod ingest;
pub mod lines;
pub mod maintenance;
pub mod memory;
pub mod pipeline;
pub mod plugins;
pub mod previews;
pub mod public_text;
pub mod reading;
pub mod search;
pub mod serve;
pub mod services;
mod shelf;
pub mod store;
pub mod symbols;
pub mod telemetry;
pub mod threads;
pub mod ui;
pub mod watching;
