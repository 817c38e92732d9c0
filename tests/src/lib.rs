//! What the tests of the whole share.

pub mod contract;
pub mod interface;
pub mod isotonic;
pub mod judge;
pub mod score;
