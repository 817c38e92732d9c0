//! Prints what a report for tests answers to every call, one line of JSON for each case.

use whycrash_plugin::Report;

// Not as a library: with one among the components, what all of them depend on is compiled in another way (build.sh).
#[path = "../src/lib.rs"]
mod every_call;

fn main() -> std::io::Result<()> {
    for folder in std::env::args().skip(1) {
        println!("{}", every_call::calls(&Report::of_case(folder)?));
    }
    Ok(())
}
