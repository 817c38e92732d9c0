//! The report of a crash, from the job's end on.
//!
//! The process that everybody waits for does little: it hands what it knows over to another one ([`handover`]), shows
//! what that one says, and ends as the job did, at the latest when its time is up. The other one ([`mod@finish`])
//! keeps, diagnoses and uploads, in a session of its own, for as long as that takes.

mod artifacts;
mod end;
mod finish;
mod folder;
mod handover;
mod hang;
mod kept;
mod said;

pub use end::end;
pub use finish::finish;
pub use folder::{temporary, unique_name};
pub use handover::{Handover, Options, in_memory, path_of};
pub use hang::{HangReport, handover as of_running, hang};
pub use kept::named as kept;
