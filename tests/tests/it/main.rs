//! Tests of the whole.

mod attack;
mod corpus;
mod dependencies;
mod hostile_plugins;
mod house;
mod same_document;
mod score;
mod symbols;
