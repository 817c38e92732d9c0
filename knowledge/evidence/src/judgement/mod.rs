//! What ranks did together, judged.
//!
//! A room above the readers: it knows no format and no artifact, only what readers have left in the evidence. So it
//! does not matter whether the dumps of two ranks came in one report or in two, an hour apart: whoever has the evidence
//! of both gives it here together.

mod communicators;
mod faults;
mod kinship;
mod recorders;
mod together;

use crate::model::{Collectives, Communicator, Recorder};

pub use faults::locate;
pub use kinship::{Kinship, kinship};
pub use recorders::match_ranks;
pub use together::{Account, judge_together};

/// Judges all that is known of the ranks of one job; nothing where nothing is known.
///
/// Recorders know what each call was, and NCCL only counts: what recorders decide comes first.
pub fn judge(recorders: &[Recorder], communicators: &[Communicator]) -> Option<Collectives> {
    if recorders.is_empty() && communicators.is_empty() {
        return None;
    }
    let mut judged = match_ranks(recorders);
    let found = communicators::judge(communicators);
    if judged.culprits.is_empty() && judged.circle.is_empty() {
        judged.culprits = found.culprits;
    }
    if judged.verdicts.is_empty() {
        judged.behind_once = found.behind_once;
    }
    judged.verdicts.extend(found.verdicts);
    Some(judged)
}
