//! What every target shares: limits small enough to be hit often, what must hold of a reading, and a heap that says
//! when a length was trusted.

mod artifact;
mod crash;
mod heap;
mod reading;

/// Cores written by hand, as the tests of symbols have them.
#[allow(
    dead_code,
    missing_docs,
    clippy::pedantic,
    reason = "written for tests, which use all of it"
)]
#[path = "../../symbols/tests/it/tiny_core.rs"]
pub mod tiny_core;

pub use artifact::{limits, with_artifact};
pub use crash::{split, symbolicate};
pub use heap::bounded;
pub use reading::{check, check_text};
