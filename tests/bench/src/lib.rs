//! What `make bench` and `make truth` share: where the artifacts are, and what is unpacked from them.

pub mod artifacts;

pub use artifacts::Artifacts;
