//! Prints the stacks of a core: `cargo run --example stacks CORE`, with `WHYCRASH_SYMBOLS` for more folders.

use std::path::PathBuf;

use whycrash_evidence::{Artifact, Limits};
use whycrash_symbols::{Sources, Symbols};

fn main() {
    let folders =
        std::env::var_os("WHYCRASH_SYMBOLS").map(|list| std::env::split_paths(&list).collect::<Vec<PathBuf>>());
    let symbols = Symbols::new(Sources {
        folders: folders.unwrap_or_default(),
        local_files: true,
    });
    for path in std::env::args().skip(1) {
        let reading = symbols.read(&Artifact::new(path.clone(), path), &Limits::default());
        println!("{:?}", reading.problems);
        println!("{:?}", reading.evidence.crash);
        for thread in &reading.evidence.threads {
            println!("thread {}", thread.id);
            for (index, frame) in thread.frames.iter().enumerate() {
                let flags = (frame.inline, frame.signal, frame.trust);
                println!(
                    "  #{index} {:?} {:?}:{:?} {:?} {:?} {flags:?}",
                    frame.function, frame.file, frame.line, frame.address, frame.module
                );
            }
        }
    }
}
