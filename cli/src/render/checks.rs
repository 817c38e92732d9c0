//! What works on this machine.

use whycrash_evidence::printable;

use crate::commands::doctor::{Check, State};

use super::page::{Page, style};
use crate::output::Clean;

/// A line for each check, and how to mend what does not work.
pub fn checks(checks: &[Check], width: usize) -> Clean {
    let mut page = Page::new(width);
    let widest = checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
    for check in checks {
        let (mark, look) = match check.state {
            State::Ok => ("ok", style::GOOD),
            State::Limited => ("limited", style::WARN),
            State::Broken => ("broken", style::BAD),
        };
        let name = format!("{:widest$} ", check.name);
        page.label(mark, look);
        page.item(0, &name, &check.found);
        if let Some(mend) = &check.mend {
            page.item(widest + 2, "->", mend);
        }
        if let Some(command) = &check.command {
            // In one piece, so that it can be copied.
            page.line(widest + 5, &*printable(command));
        }
    }
    page.finish()
}
