//! From an archive to its members, each of which is read like an artifact of its own.
//!
//! Nothing of an archive is ever written where its names say: a member goes to a file without a name, is read, and is
//! gone. What could harm whoever unpacks it by hand (a path that leads out, a link, a device) is refused all the same,
//! and named, as is what takes more than a report may: its bytes are counted as they come, whatever a header claims.
//!
//! | what | how much | code |
//! |---|---|---|
//! | files in the archives of a report | [`ReportLimits::members`](crate::ReportLimits) | `limit-members` |
//! | entries of one archive, and bytes that tell of them | 65 536; 64 MiB, 8 MiB of one entry | `limit-members` |
//! | bytes of the files in an artifact over the artifact's own | [`Limits::expansion_ratio`], and 64 MiB always | `limit-expansion-ratio` |
//! | bytes that members take on disk | [`ReportLimits::unpacked_bytes`](crate::ReportLimits) | `limit-unpacked-bytes` |
//! | bytes of cores among members, with their holes | [`ReportLimits::core_bytes`](crate::ReportLimits) | `limit-unpacked-bytes` |
//! | archives within archives | 2 | `not-unpacked` |
//! | bytes of a member's name | 1000 | `not-unpacked` |
//!
//! [`Limits::expansion_ratio`]: whycrash_evidence::Limits::expansion_ratio

mod member_name;
mod members;
mod refusals;
mod room;
mod sparse;
mod tar;
mod zip;

use whycrash_evidence::readers::archive::{ArchiveForm, form};
use whycrash_evidence::readers::{Input, read_problem};
use whycrash_evidence::{Artifact, Limits, Problem};

pub(crate) use room::Room;

use members::Members;

/// Archives within each other that are unpacked.
pub(crate) const DEPTH: usize = 2;

/// Entries of one archive that are looked at, and bytes of all that tells of them.
const ENTRIES: usize = 65_536;
const HEADER_BYTES: u64 = 64 << 20;

/// Hands every file of an archive to `read`; what could not be unpacked of it.
pub(crate) fn walk(
    artifact: &Artifact,
    limits: &Limits,
    room: &mut Room,
    read: &mut dyn FnMut(&Artifact, &mut Room),
) -> Vec<Problem> {
    let input = match Input::open(artifact, limits) {
        Ok(input) => input,
        Err(error) => return vec![read_problem(&error)],
    };
    let mut members = Members::new(&artifact.name, room, read);
    match form(input.head()) {
        Some(ArchiveForm::Tar) => tar::walk(&input, &mut members),
        Some(ArchiveForm::Zip) => zip::walk(&input, &mut members),
        // It was one a moment ago: somebody writes to it.
        None => members.problem(Problem::new(
            "unreadable",
            "the archive changed while it was read: give it again",
        )),
    }
    members.finish()
}
