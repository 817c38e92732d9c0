//! Tests of the whole.

mod corpus;
mod dependencies;
mod hostile_plugins;
mod house;
mod same_document;
mod score;
mod symbols;
