//! What a person reads: everything here returns text with colours, which the streams of [`crate::output`] drop
//! where they are no terminal. Nothing is told by colour alone.

mod anew;
#[cfg(feature = "diagnosis")]
mod annotations;
#[cfg(feature = "diagnosis")]
mod answer;
#[cfg(feature = "diagnosis")]
mod cause;
mod checks;
#[cfg(feature = "diagnosis")]
mod diff;
#[cfg(feature = "diagnosis")]
mod document;
#[cfg(feature = "diagnosis")]
mod evidence;
#[cfg(feature = "diagnosis")]
mod files;
#[cfg(feature = "diagnosis")]
mod frames;
#[cfg(feature = "diagnosis")]
mod hits;
#[cfg(feature = "diagnosis")]
mod inventory;
#[cfg(feature = "diagnosis")]
mod junit;
#[cfg(feature = "diagnosis")]
mod markdown;
#[cfg(feature = "diagnosis")]
mod not_run;
mod page;
#[cfg(feature = "diagnosis")]
mod paths;
#[cfg(feature = "diagnosis")]
mod proof;
#[cfg(feature = "diagnosis")]
mod screen;
#[cfg(feature = "diagnosis")]
mod short;
#[cfg(feature = "diagnosis")]
mod threads;
#[cfg(feature = "diagnosis")]
mod ticket;

use crate::output::Clean;
pub use anew::diagnosed_anew;
#[cfg(feature = "diagnosis")]
pub use annotations::annotations;
#[cfg(feature = "diagnosis")]
pub use answer::Answer;
#[cfg(feature = "diagnosis")]
pub use cause::{cause, causes};
pub use checks::checks;
#[cfg(feature = "diagnosis")]
pub use diff::diff;
#[cfg(feature = "diagnosis")]
pub use document::document;
#[cfg(feature = "diagnosis")]
pub use evidence::evidence;
#[cfg(feature = "diagnosis")]
pub use files::Files;
#[cfg(feature = "diagnosis")]
pub use hits::{hit_lines, hits};
#[cfg(feature = "diagnosis")]
pub use junit::junit;
#[cfg(feature = "diagnosis")]
pub use not_run::not_run;
use page::{Page, style};
#[cfg(feature = "diagnosis")]
pub use screen::screen;
#[cfg(feature = "diagnosis")]
pub use short::short;
#[cfg(feature = "diagnosis")]
pub use threads::threads;
#[cfg(feature = "diagnosis")]
pub use ticket::ticket;

/// An error with what led to it, for the last line of a failed command.
pub fn error(error: &anyhow::Error) -> Clean {
    let what = format!(" {error:#}").replace('\n', "\n  ");
    Clean::styled(style::BAD, "error:").then(Clean::lines(&what))
}

/// Where a report is, for whoever wants to look again.
pub fn kept(folder: &std::path::Path) -> Clean {
    Page::labelled("Kept in", folder.display().to_string())
}
