//! What ranks did together.

use whycrash_evidence::model::{CollectiveVerdict, Collectives};

use crate::sandbox::bindings::ranks;

pub(in crate::sandbox) fn overview(collectives: &Collectives) -> ranks::Overview {
    ranks::Overview {
        recorded: collectives.ranks.clone(),
        unrecorded: collectives.ranks_without_recorder.clone(),
        culprits: collectives.culprits.clone(),
        circle: collectives.circle.clone(),
        behind_once: collectives.behind_once.clone(),
        verdicts: collectives.verdicts.len() as u32,
    }
}

pub(in crate::sandbox) fn verdict(number: usize, verdict: &CollectiveVerdict) -> ranks::Verdict {
    ranks::Verdict {
        number: number as u32,
        group: verdict.group.clone(),
        group_description: verdict.group_description.clone(),
        sequence: verdict.sequence,
        kind: verdict.kind.clone(),
        ranks: verdict.ranks.clone(),
        entered: verdict.entered.clone(),
        operation: verdict.operation.clone(),
        detail: verdict.detail.clone(),
        time: verdict.time.clone(),
        point_to_point: verdict.point_to_point,
        frames: verdict.frames.clone(),
    }
}
