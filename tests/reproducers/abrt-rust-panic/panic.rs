//! Unwraps a missing entry in a program built to abort on panic.
//!
//!     rustc -g -O -C panic=abort panic.rs && ./panic

use std::collections::HashMap;

#[inline(never)]
fn token_id(vocabulary: &HashMap<&str, u32>, token: &str) -> u32 {
    *vocabulary.get(token).expect("token is in the vocabulary")
}

fn main() {
    let vocabulary = HashMap::from([("<pad>", 0), ("<eos>", 1)]);
    println!("{}", token_id(&vocabulary, "<mask>"));
}
