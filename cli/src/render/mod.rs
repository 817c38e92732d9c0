//! What a person reads: everything here returns text with colours, which the streams of [`crate::output`] drop
//! where they are no terminal. Nothing is told by colour alone.

mod cause;
mod checks;
mod diff;
mod document;
mod evidence;
mod files;
mod frames;
mod hits;
mod markdown;
mod page;
mod paths;
mod proof;

use crate::output::Clean;
pub use cause::{cause, causes};
pub use checks::checks;
pub use diff::diff;
pub use document::{document, document_with};
pub use evidence::evidence;
pub use files::Files;
pub use hits::hits;
use page::{Page, style};

/// An error with what led to it, for the last line of a failed command.
pub fn error(error: &anyhow::Error) -> Clean {
    let what = format!(" {error:#}").replace('\n', "\n  ");
    Clean::styled(style::BAD, "error:").then(Clean::lines(&what))
}

/// Where a report is, for whoever wants to look again.
pub fn kept(folder: &std::path::Path) -> Clean {
    Page::labelled("Kept in", folder.display().to_string())
}
