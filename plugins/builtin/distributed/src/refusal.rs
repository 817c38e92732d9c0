//! What a rank was told by a check: fingerprints of collectives, the monitored barrier, the model's own checks.

use whycrash_plugin::facts::{Autograd, CollectiveMismatch};
use whycrash_plugin::{Diagnosis, Finding, Report, Told};

use crate::{counts, ranks};

pub fn rule(report: &Report) -> Option<Diagnosis> {
    mismatch(report).or_else(|| autograd(report))
}

fn mismatch(report: &Report) -> Option<Diagnosis> {
    let told: Vec<Told<CollectiveMismatch>> = report.told();
    let told = told.iter().find(|told| counts(&told.event))?;
    let finding = match told.detail.family.as_str() {
        "fingerprint" => fingerprint(&told.detail.detail).or_else(|| both(&told.detail.detail))?,
        "gloo-size" => Finding::new("dist-shape-mismatch", 0.88).because(
            "A rank received more bytes for a collective than it had room for: its peer sent a tensor of another size.",
        ),
        "monitored-barrier" => Finding::new("dist-monitored-barrier", 0.93).because(format!(
            "A monitored barrier waited for {} in vain: look at what that process did instead.",
            named(&told.detail.ranks)
        )),
        "parameter-shape" => Finding::new("ddp-param-shape", 0.95).because(format!(
            "The model of {} has parameters of other shapes than that of the first rank: the ranks built different models.",
            named(&told.detail.ranks)
        )),
        _ => return None,
    };
    Some(finding.cite(report.cite(&told.event)).into())
}

fn named(list: &[u32]) -> String {
    if list.is_empty() {
        "a rank".to_owned()
    } else {
        ranks(list)
    }
}

/// What `TORCH_DISTRIBUTED_DEBUG=DETAIL` found to differ. One call too many or too few shifts the operations as well,
/// so an operation that differs says more than a shape that does.
fn fingerprint(detail: &str) -> Option<Finding> {
    let differs = detail.split("differ in the following aspects").nth(1)?;
    let (cause, what) = [
        ("Op type", "dist-op-mismatch", "operations"),
        ("Tensor shapes", "dist-shape-mismatch", "shapes"),
        ("Tensor dtypes", "dist-dtype-mismatch", "types"),
        ("Sequence number", "dist-rank-branch", "numbers of calls so far"),
    ]
    .into_iter()
    .find_map(|(words, cause, what)| differs.contains(words).then_some((cause, what)))?;
    Some(Finding::new(cause, 0.94).because(format!(
        "The ranks' fingerprints of the same collective have different {what}:{}.",
        differs.trim_start_matches(':').trim_end().trim_end_matches('.')
    )))
}

/// Up to `PyTorch` 1.13 the message holds both fingerprints, and says nothing of how they differ.
fn both(detail: &str) -> Option<Finding> {
    let [own, other] = detail.splitn(3, "CollectiveFingerPrint(").skip(1).collect::<Vec<_>>()[..] else {
        return None;
    };
    let (cause, name, what) = [
        ("dist-op-mismatch", "OpType", "operations"),
        ("dist-shape-mismatch", "TensorShape", "shapes"),
        ("dist-dtype-mismatch", "TensorDtypes", "types"),
        ("dist-rank-branch", "SequenceNumber", "numbers of calls so far"),
    ]
    .into_iter()
    .find(|(_, name, _)| value(own, name).is_some() && value(own, name) != value(other, name))?;
    let differ = value(own, name).zip(value(other, name));
    let differ = differ.map_or_else(String::new, |(own, other)| format!(": {own} and {other}"));
    Some(Finding::new(cause, 0.94).because(format!(
        "The ranks' fingerprints of the same collective have different {what}{differ}."
    )))
}

/// A member of a fingerprint: `OpType=ALLREDUCE, TensorShape=[20, 10], …`.
fn value<'t>(fingerprint: &'t str, name: &str) -> Option<&'t str> {
    let (_, behind) = fingerprint.split_once(name)?;
    let behind = behind.strip_prefix('=')?;
    let end = if behind.starts_with('[') {
        behind.find(']')? + 1
    } else {
        behind.find([',', ')'])?
    };
    behind.get(..end)
}

fn autograd(report: &Report) -> Option<Diagnosis> {
    let told: Vec<Told<Autograd>> = report.told();
    let of = |family: &str| -> Vec<&Told<Autograd>> {
        let all = told.iter().filter(|told| counts(&told.event));
        all.filter(|told| told.detail.family == family).collect()
    };
    let (unused, twice) = (of("unused-parameters"), of("ready-twice"));
    if !unused.is_empty() {
        let parameters = unused.iter().find(|told| !told.detail.parameters.is_empty());
        let which = parameters.map_or_else(String::new, |told| {
            format!(" (parameters {})", told.detail.parameters.join(", "))
        });
        let finding = Finding::new("ddp-unused-params", 0.95).because(format!(
            "DistributedDataParallel waited for gradients of parameters that took no part in the loss{which}."
        ));
        return Some(
            finding
                .cite_all(unused.iter().map(|told| report.cite(&told.event)))
                .into(),
        );
    }
    let first = twice.first()?;
    let finding = Finding::new("ddp-ready-twice", 0.93).because(
        "A parameter's gradient was ready twice in one backward pass: its module ran more than once, under a checkpoint or by sharing weights.",
    );
    Some(finding.cite(report.cite(&first.event)).into())
}
