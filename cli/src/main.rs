//! The crash collector and command line.
fn main() {}
