//! Prints what a report for tests answers to every call, one line of JSON for each case.

use whycrash_plugin::Report;

fn main() -> std::io::Result<()> {
    for folder in std::env::args().skip(1) {
        println!("{}", every_call::calls(&Report::of_case(folder)?));
    }
    Ok(())
}
