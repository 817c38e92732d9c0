//! Attacks the real server as a stranger would, while healthy clients go on using it.
//!
//! A [`case::Case`] is what one hostile client does on its connection, and what may come of it. A [`campaign`] runs all
//! cases of [`cases`] beside a healthy [`load`], breaks the server's disk, descriptors and index under it ([`states`]),
//! ends it at random moments ([`endings`], [`plugin_endings`]), and holds the house's promises against what happened: nothing that was
//! acknowledged is lost or failed, every refusal is a problem document, memory stays bounded, nothing is left on the
//! disk.
//!
//! Everything goes to a server that this crate starts itself on loopback, and ends with it.

pub mod campaign;
pub mod case;
pub mod cases;
pub mod client;
pub mod compiled;
pub mod endings;
pub mod load;
pub mod plugin_endings;
pub mod server;
pub mod states;
pub mod wall_clock;
pub mod wire;
