//! Tests of the whole.

mod corpus;
mod dependencies;
mod score;
