//! Tests of the whole.

mod attack;
mod author_commands;
mod authors;
mod contract;
mod corpus;
mod dependencies;
mod hostile_plugins;
mod house;
mod python_lock;
mod same_document;
mod score;
mod sent_signals;
mod symbols;
