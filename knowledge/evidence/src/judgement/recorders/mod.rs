//! Flight recorders laid side by side.
//!
//! One dump alone says where its rank stands; only together they say who is missing.

mod alignment;
mod exchanges;
mod groups;
mod matching;
mod waiting;

pub use matching::match_ranks;
pub(super) use matching::{list, minority, said};
