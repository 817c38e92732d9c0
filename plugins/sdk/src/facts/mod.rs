//! What the evidence says, as Rust types.
//!
//! All are read tolerantly: what is absent is the default, what is new is ignored. The files beside this one are made
//! from the evidence model.

mod collectives;
mod events;
mod evidence;
mod gpu;
mod memory;
mod shared;

use serde::de::DeserializeOwned;

pub use collectives::*;
pub use events::*;
pub use evidence::*;
pub use gpu::*;
pub use memory::*;
pub use shared::*;

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
