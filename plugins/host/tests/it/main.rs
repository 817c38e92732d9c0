//! The host against plugins that keep to the rules and plugins that do not, and the built-in ones against the labelled
//! corpus.

mod answers;
mod consequences;
mod corpus;
mod diagnosis;
mod document;
mod every_call;
mod facts;
mod hardware;
mod hostile;
mod interface;
mod packed;
mod pages;
mod reading_lines;
mod refused;
mod support;
mod unavailable;
mod verdict;
