//! What the tests of the whole share.

pub mod corpus;
pub mod score;
