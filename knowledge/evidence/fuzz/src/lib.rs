//! What every target shares: limits small enough to be hit often, what must hold of a reading, and a heap that says
//! when a length was trusted.

mod artifact;
mod heap;
mod reading;

pub use artifact::{limits, with_artifact};
pub use heap::bounded;
pub use reading::{check, check_text};
