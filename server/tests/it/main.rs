//! The server as its clients see it, and its stores as the server sees them.

mod access;
mod api;
mod children;
mod conformance;
mod diagnoses;
mod downloads;
mod durability;
mod errors;
mod index;
mod ingest;
mod lines;
mod previews;
mod processing;
mod published;
mod raw;
mod refusals;
mod scale;
mod search;
mod security;
mod shortage;
mod stalls;
mod support;
mod symbols;
mod terminal;
mod upkeep;
