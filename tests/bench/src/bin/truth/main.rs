//! How right whycrash is: what it finds in each artifact beside what is known about it, one table per kind.
//!
//! `truth [WORD…]` compares the artifacts whose names have one of the words, and shows where they differ; all without
//! one. It ends with status 1 when a total is below its bar.

mod build_ids;
mod cores;
mod logs;
mod minidumps;
mod recorders;
mod snapshots;
mod stacks;
mod table;

use std::process::ExitCode;

use anyhow::Result;
use whycrash_bench::Artifacts;

use table::Table;

/// What a comparison works with.
struct Context {
    artifacts: Artifacts,
    words: Vec<String>,
}

impl Context {
    /// Whether an artifact was asked for.
    fn wants(&self, name: &str) -> bool {
        self.words.is_empty() || self.words.iter().any(|word| name.contains(word.as_str()))
    }

    /// Whether differences are to be shown one by one.
    fn explains(&self) -> bool {
        !self.words.is_empty()
    }
}

fn main() -> Result<ExitCode> {
    let unpacked = tempfile::tempdir()?;
    let context = Context {
        artifacts: Artifacts::open(unpacked.path().to_owned())?,
        words: std::env::args().skip(1).collect(),
    };
    let comparisons: [fn(&Context) -> Result<Table>; 8] = [
        cores::compare,
        cores::compare_alone,
        build_ids::compare,
        snapshots::compare,
        recorders::compare,
        minidumps::compare,
        minidumps::compare_others,
        logs::compare,
    ];
    let mut all_pass = true;
    for compare in comparisons {
        let table = compare(&context)?;
        table.print();
        all_pass &= table.passes();
    }
    println!(
        "{}",
        if all_pass {
            "every bar is reached"
        } else {
            "NOT every bar is reached"
        }
    );
    Ok(if all_pass { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
