//! Small parts by themselves.

mod arrivals;
mod artifact_names;
mod config_names;
mod disposition;
mod fresh;
mod ids;
mod metadata;
mod pace;
mod public_text;
mod range;
mod space;
