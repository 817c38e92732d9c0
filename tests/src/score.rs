//! How good answers are: per cause and in all, with how sure they were.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// One case of the corpus, and what was said of it. Causes are ids of pages; the empty one stands for no cause.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The true cause.
    pub truth: String,
    /// What was found, best first, with its confidence.
    pub found: Vec<(String, f64)>,
    /// Whether its artifacts were written from the grammar of messages rather than left by a crash.
    pub synthetic: bool,
    /// Whether it is of the split that nothing is tuned on.
    pub held_out: bool,
    /// What was said first before any rule knew of the case, where somebody looked.
    pub first_try: Option<String>,
}

/// Whether a case is of the split that nothing is tuned on: one in four, by the hash of its name (FNV-1a).
pub fn is_held_out(name: &str) -> bool {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash.is_multiple_of(4)
}

impl Answer {
    fn first(&self) -> &str {
        self.found.first().map_or("", |(cause, _)| cause)
    }

    fn is_right(&self) -> bool {
        self.first() == self.truth
    }

    fn is_negative(&self) -> bool {
        self.truth.is_empty()
    }

    fn is_among(&self, places: usize) -> bool {
        self.found.iter().take(places).any(|(cause, _)| *cause == self.truth)
    }
}

/// What holds of a set of answers. Shares are from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    /// Cases that have a cause.
    pub positives: usize,
    /// Cases that have none.
    pub negatives: usize,
    /// Of the positives, those whose cause came first.
    pub top1: f64,
    /// Of the positives, those whose cause was among the first three.
    pub top3: f64,
    /// Of the positives, those of which nothing was said.
    pub abstained: f64,
    /// Of the negatives, those of which something was said.
    pub false_alarms: f64,
    /// How far confidence is from being right, on average over all first findings.
    pub calibration_error: f64,
}

impl Summary {
    /// Counts some answers.
    pub fn of<'a>(answers: impl IntoIterator<Item = &'a Answer>) -> Self {
        let (negatives, positives): (Vec<&Answer>, Vec<&Answer>) =
            answers.into_iter().partition(|answer| answer.is_negative());
        let share = |of: &[&Answer], holds: fn(&Answer) -> bool| {
            let count = of.iter().filter(|answer| holds(answer)).count();
            count as f64 / of.len().max(1) as f64
        };
        Self {
            positives: positives.len(),
            negatives: negatives.len(),
            top1: share(&positives, Answer::is_right),
            top3: share(&positives, |answer| answer.is_among(3)),
            abstained: share(&positives, |answer| answer.found.is_empty()),
            false_alarms: share(&negatives, |answer| !answer.found.is_empty()),
            calibration_error: calibration_error(positives.iter().chain(&negatives).copied()),
        }
    }

    fn row(&self, name: &str) -> String {
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        format!(
            "{name:22}{:>6}{:>6}{:>10}{:>10}{:>11}{:>14}{:>7.3}",
            self.positives,
            self.negatives,
            percent(self.top1),
            percent(self.top3),
            percent(self.abstained),
            percent(self.false_alarms),
            self.calibration_error
        )
    }
}

/// First findings of about the same confidence.
#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    count: usize,
    confidences: f64,
    right: usize,
}

/// First findings in ten bins of confidence.
fn bins<'a>(answers: impl Iterator<Item = &'a Answer>) -> [Bin; 10] {
    let mut bins = [Bin::default(); 10];
    for answer in answers {
        let Some((_, confidence)) = answer.found.first() else {
            continue;
        };
        let place = (1..=bins.len()).position(|edge| *confidence <= edge as f64 / 10.0);
        if let Some(bin) = place.and_then(|place| bins.get_mut(place)) {
            bin.count += 1;
            bin.confidences += confidence;
            bin.right += usize::from(answer.is_right());
        }
    }
    bins
}

/// Expected calibration error: the distance of each bin's mean confidence from its share of right findings, weighed by
/// how many are in it.
fn calibration_error<'a>(answers: impl Iterator<Item = &'a Answer>) -> f64 {
    let bins = bins(answers);
    let all: usize = bins.iter().map(|bin| bin.count).sum();
    let distances = bins.iter().map(|bin| (bin.confidences - bin.right as f64).abs());
    distances.sum::<f64>() / all.max(1) as f64
}

/// One row a bin of confidence: how many first findings of the part that rules are tuned on it has, and how many of
/// them are right.
pub fn reliability(answers: &[Answer]) -> String {
    let mut out = format!("{:22}{:>8}{:>10}{:>8}\n", "confidence", "cases", "mean", "right");
    for (place, bin) in bins(answers.iter().filter(|answer| !answer.held_out))
        .iter()
        .enumerate()
    {
        let (from, count) = (place as f64 / 10.0, bin.count);
        let mean = bin.confidences / count.max(1) as f64;
        let _ = writeln!(
            out,
            "{from:.1} to {:.1}{count:>20}{mean:>10.2}{:>8}",
            from + 0.1,
            bin.right
        );
    }
    out
}

/// One row a cause: its cases, how many were right, how many were passed over in silence, precision and recall.
pub fn causes(answers: &[Answer]) -> String {
    #[derive(Default)]
    struct Row {
        cases: usize,
        right: usize,
        abstained: usize,
        named: usize,
    }
    let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
    for answer in answers {
        let row = rows.entry(&answer.truth).or_default();
        row.cases += 1;
        row.right += usize::from(answer.is_right());
        row.abstained += usize::from(answer.found.is_empty() && !answer.is_negative());
        rows.entry(answer.first()).or_default().named += 1;
    }
    let percent = |part: usize, whole: usize| match whole {
        0 => "-".to_owned(),
        _ => format!("{:.0} %", 100.0 * part as f64 / whole as f64),
    };
    let mut out = format!(
        "{:34}{:>6}{:>6}{:>10}{:>11}{:>8}\n",
        "cause", "cases", "right", "abstained", "precision", "recall"
    );
    for (cause, row) in rows {
        let name = if cause.is_empty() { "(none)" } else { cause };
        let precision = percent(row.right, row.named);
        let recall = percent(row.right, row.cases);
        let _ = writeln!(
            out,
            "{name:34}{:>6}{:>6}{:>10}{precision:>11}{recall:>8}",
            row.cases, row.right, row.abstained
        );
    }
    out
}

/// One row a part of the corpus: all, the held-out split and the rest, what really crashed and what was written.
pub fn parts(answers: &[Answer]) -> String {
    let parts: [(&str, fn(&Answer) -> bool); 7] = [
        ("all", |_| true),
        ("held out", |answer| answer.held_out),
        ("the rest", |answer| !answer.held_out),
        ("real", |answer| !answer.synthetic),
        ("real, held out", |answer| !answer.synthetic && answer.held_out),
        ("synthetic", |answer| answer.synthetic),
        ("synthetic, held out", |answer| answer.synthetic && answer.held_out),
    ];
    let mut out = format!(
        "{:22}{:>6}{:>6}{:>10}{:>10}{:>11}{:>14}{:>7}\n",
        "part", "cases", "none", "top-1", "top-3", "abstained", "false alarms", "ECE"
    );
    for (name, is_in) in parts {
        let _ = writeln!(
            out,
            "{}",
            Summary::of(answers.iter().filter(|answer| is_in(answer))).row(name)
        );
    }
    out
}

/// Ranges of confidence as it is shown, surest first, and what answers of them are.
const SHOWN: [(f64, &str); 4] = [
    (0.965, "one message, or several pieces that agree"),
    (0.81, "a kind of failure, of which a program's own exception may be one"),
    (0.65, "what is certain of a kind and not of the member"),
    (0.0, "the last resort"),
];

/// The same as a table of Markdown, for `docs/diagnosis.md`: how many first findings of each range are right, on the part
/// that rules are tuned on and on the part that they are not; and what was said on first tries.
pub fn in_markdown(answers: &[Answer]) -> String {
    let mut out = String::from("| shown as | what such answers are | tuned part | held out |\n|---|---|---|---|\n");
    let mut below = f64::INFINITY;
    for (from, what) in SHOWN {
        let share = |held_out: bool| {
            let first = |answer: &Answer| answer.found.first().map(|(_, confidence)| *confidence);
            let of_range = |answer: &&Answer| first(answer).is_some_and(|shown| (from..below).contains(&shown));
            let part: Vec<&Answer> = answers
                .iter()
                .filter(|answer| answer.held_out == held_out)
                .filter(of_range)
                .collect();
            format!(
                "{} of {}",
                part.iter().filter(|answer| answer.is_right()).count(),
                part.len()
            )
        };
        let range = if below.is_finite() {
            format!("{from} to {below}")
        } else {
            format!("{from} and more")
        };
        let _ = writeln!(out, "| {range} | {what} | {} | {} |", share(false), share(true));
        below = from;
    }
    let _ = write!(out, "\nOn their {}", first_tries(answers));
    out
}

/// How the cases did of which somebody looked at what was said before any rule knew of them: nearer to crashes that
/// nobody here has seen than anything that a corpus says once its rules were mended.
pub fn first_tries(answers: &[Answer]) -> String {
    let tried: Vec<(&str, &str)> = answers
        .iter()
        .filter_map(|answer| Some((answer.truth.as_str(), answer.first_try.as_deref()?)))
        .collect();
    let (negatives, positives): (Vec<_>, Vec<_>) = tried.into_iter().partition(|(truth, _)| truth.is_empty());
    let count = |holds: fn(&(&str, &str)) -> bool| positives.iter().filter(|try_| holds(try_)).count();
    format!(
        "first tries: {} cases, {} right, {} passed over in silence; {} without a cause, {} false alarms\n",
        positives.len(),
        count(|(truth, said)| truth == said),
        count(|(_, said)| said.is_empty()),
        negatives.len(),
        negatives.iter().filter(|(_, said)| !said.is_empty()).count()
    )
}

#[cfg(test)]
mod tests {
    use super::{Answer, Summary, first_tries};

    fn answer(truth: &str, found: &[(&str, f64)]) -> Answer {
        Answer {
            truth: truth.to_owned(),
            found: found
                .iter()
                .map(|(cause, confidence)| ((*cause).to_owned(), *confidence))
                .collect(),
            synthetic: false,
            held_out: false,
            first_try: None,
        }
    }

    #[test]
    fn shares_are_of_what_they_are_named_after() {
        let answers = [
            answer("a", &[("a", 0.95)]),
            answer("a", &[("b", 0.95), ("a", 0.5)]),
            answer("a", &[]),
            answer("a", &[("a", 0.95)]),
            answer("", &[]),
            answer("", &[("a", 0.45)]),
        ];
        let summary = Summary::of(&answers);
        assert_eq!((summary.positives, summary.negatives), (4, 2));
        assert_eq!((summary.top1, summary.top3), (0.5, 0.75));
        assert_eq!((summary.abstained, summary.false_alarms), (0.25, 0.5));
        // Three answers of 0.95, two of them right; one of 0.45, which was not.
        let expected = ((3.0 * 0.95 - 2.0_f64).abs() + 0.45) / 4.0;
        assert!((summary.calibration_error - expected).abs() < 1e-9);
    }

    #[test]
    fn first_tries_are_counted_by_what_was_said_then() {
        let tried = |truth: &str, said: &str| Answer {
            first_try: Some(said.to_owned()),
            ..answer(truth, &[(truth, 0.9)])
        };
        let answers = [
            tried("a", "a"),
            tried("a", "b"),
            tried("a", ""),
            tried("", "a"),
            tried("", ""),
            answer("a", &[]),
        ];
        assert_eq!(
            first_tries(&answers),
            "first tries: 3 cases, 1 right, 1 passed over in silence; 2 without a cause, 1 false alarms\n"
        );
    }
}
