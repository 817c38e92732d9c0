//! Prints what a report for tests answers to every call, one line of JSON for each case.

use whycrash_plugin::Report;

// Not as a library: what plugins depend on is compiled for all of them once, as a component wants it.
#[path = "../src/lib.rs"]
mod every_call;

fn main() -> std::io::Result<()> {
    for folder in std::env::args().skip(1) {
        println!("{}", every_call::calls(&Report::of_case(folder)?));
    }
    Ok(())
}
