//! Plugins that try to hurt their host, each made from a short description in `cases/`.
//!
//! A [`Case`] says what a plugin does (in WebAssembly text), what it claims, or what its file is instead of a plugin;
//! and how it must end. [`Case::install`] makes the file. Nothing here knows the host: the tests of this crate bring
//! the two together.

mod bombs;
mod case;
mod component;
mod data;

pub use case::{Case, Claim, Info, Outcome, Place, cases};
pub use component::component;
