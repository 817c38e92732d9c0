//! What the evidence says, as Rust types.

mod model;

use serde::de::DeserializeOwned;

pub use model::*;

/// The particulars of a kind of event.
pub trait EventDetail: DeserializeOwned {
    /// The kind's name in the timeline.
    const KIND: &'static str;
}

impl Crash {
    /// The fault address as a number.
    pub fn address(&self) -> Option<u64> {
        let text = self.address.as_deref()?;
        u64::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok()
    }
}
