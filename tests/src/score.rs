//! How good answers are: per cause and in all, with how sure they were; of what was tuned on, of what was not, and at
//! first sight.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use whycrash_corpus::Origin;

/// One case of the corpus, and what was said of it. Causes are ids of pages; the empty one stands for no cause.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The true cause.
    pub truth: String,
    /// Other causes that are as right.
    pub alternatives: Vec<String>,
    /// What is found, best first, with its confidence.
    pub found: Vec<(String, f64)>,
    /// How the case came to be.
    pub origin: Origin,
    /// The month in which it came into the corpus, such as `2026-11`.
    pub month: String,
    /// Whether it is of the part that nothing is tuned on.
    pub is_frozen: bool,
    /// What was said of it before any rule knew of it, where somebody looked: a cause, and how sure it was, where that is
    /// known.
    pub first: Option<(String, Option<f64>)>,
}

impl Answer {
    fn first(&self) -> &str {
        self.found.first().map_or("", |(cause, _)| cause)
    }

    /// Whether a cause is the true one, or as right.
    fn holds(&self, cause: &str) -> bool {
        cause == self.truth || self.alternatives.iter().any(|other| other == cause)
    }

    fn is_right(&self) -> bool {
        self.holds(self.first())
    }

    fn is_negative(&self) -> bool {
        self.truth.is_empty()
    }

    fn is_among(&self, places: usize) -> bool {
        self.found.iter().take(places).any(|(cause, _)| self.holds(cause))
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
    /// First findings that are shown with at least [`SURE`], and those of them that are wrong.
    pub sure: (usize, usize),
}

/// The least confidence of an answer that is shown as sure.
pub const SURE: f64 = 0.95;

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
            sure: sure(positives.iter().chain(&negatives).copied()),
        }
    }

    fn row(&self, name: &str) -> String {
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        format!(
            "{name:22}{:>6}{:>6}{:>10}{:>10}{:>11}{:>14}{:>7.3}{:>16}",
            self.positives,
            self.negatives,
            percent(self.top1),
            percent(self.top3),
            percent(self.abstained),
            percent(self.false_alarms),
            self.calibration_error,
            format!("{} of {}", self.sure.1, self.sure.0)
        )
    }
}

/// Of how many first findings is one sure, and how many of these are wrong.
fn sure<'a>(answers: impl Iterator<Item = &'a Answer>) -> (usize, usize) {
    let is_sure = |answer: &&Answer| answer.found.first().is_some_and(|(_, confidence)| *confidence >= SURE);
    answers.filter(is_sure).fold((0, 0), |(count, wrong), answer| {
        (count + 1, wrong + usize::from(!answer.is_right()))
    })
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

/// One row a part of the corpus: what pages and plugins are tuned on, and what they are not.
pub fn parts(answers: &[Answer]) -> String {
    let parts: [(&str, fn(&Answer) -> bool); 4] = [
        ("frozen", |answer| answer.is_frozen),
        ("tuned on", |answer| !answer.is_frozen),
        ("tuned on, real", |answer| {
            !answer.is_frozen && answer.origin == Origin::Real
        }),
        ("tuned on, written", |answer| {
            !answer.is_frozen && answer.origin == Origin::Written
        }),
    ];
    let mut out = format!(
        "{:22}{:>6}{:>6}{:>10}{:>10}{:>11}{:>14}{:>7}{:>16}\n",
        "part", "cases", "none", "top-1", "top-3", "abstained", "false alarms", "ECE", "sure and wrong"
    );
    for (name, is_in) in parts {
        let part = Summary::of(answers.iter().filter(|answer| is_in(answer)));
        let _ = writeln!(out, "{}", part.row(name));
    }
    out
}

/// First tries of a month and an origin. All are numbers of cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tries {
    positives: usize,
    right: usize,
    silent: usize,
    negatives: usize,
    false_alarms: usize,
}

/// What was said of cases before any rule knew of them, by the month in which they came: nearer to crashes that nobody
/// here has seen than anything that a corpus says once its rules were mended. A table of Markdown.
pub fn first_tries(answers: &[Answer]) -> String {
    let mut rows: BTreeMap<(&str, bool), Tries> = BTreeMap::new();
    for answer in answers {
        let Some((said, _)) = &answer.first else { continue };
        let row = rows
            .entry((&answer.month, answer.origin == Origin::Written))
            .or_default();
        if answer.is_negative() {
            row.negatives += 1;
            row.false_alarms += usize::from(!said.is_empty());
        } else {
            row.positives += 1;
            row.right += usize::from(answer.holds(said));
            row.silent += usize::from(said.is_empty());
        }
    }
    let mut out = String::from(
        "| month | cases | with a cause | right | silent | wrong | without one | false alarms |\n|---|---|---|---|---|---|---|---|\n",
    );
    for ((month, is_written), row) in rows {
        let origin = if is_written { "written" } else { "real" };
        let share = match row.positives {
            0 => String::new(),
            all => format!(" ({:.0} %)", 100.0 * row.right as f64 / all as f64),
        };
        let wrong = row.positives - row.right - row.silent;
        let _ = writeln!(
            out,
            "| {month} | {origin} | {} | {}{share} | {} | {wrong} | {} | {} |",
            row.positives, row.right, row.silent, row.negatives, row.false_alarms
        );
    }
    out
}

/// Ranges of confidence as it is shown, surest first, and what answers of them are.
const SHOWN: [(f64, &str); 4] = [
    (SURE, "one message, or several pieces that agree"),
    (0.8, "a kind of failure, of which a program's own exception may be one"),
    (0.6, "what is certain of a kind and not of the member"),
    (0.0, "the last resort"),
];

/// How many of the first tries that were shown as so sure were right; of many nobody wrote down how sure. A table of
/// Markdown.
pub fn first_confidences(answers: &[Answer]) -> String {
    let mut out = String::from("| shown as | what such answers are | right at first sight |\n|---|---|---|\n");
    let mut below = f64::INFINITY;
    for (from, what) in SHOWN {
        let of_range = answers.iter().filter_map(|answer| {
            let (said, confidence) = answer.first.as_ref()?;
            let is_of_range = confidence.is_some_and(|shown| (from..below).contains(&shown));
            is_of_range.then(|| answer.holds(said))
        });
        let of_range: Vec<bool> = of_range.collect();
        let right = of_range.iter().filter(|is_right| **is_right).count();
        let range = if below.is_finite() {
            format!("{from} to {below}")
        } else {
            format!("{from} and more")
        };
        let _ = writeln!(out, "| {range} | {what} | {right} of {} |", of_range.len());
        below = from;
    }
    out
}

/// What `docs/diagnosis.md` tells of all this: first tries first, then what today's knowledge says of what it was not
/// tuned on, and of what it was.
pub fn in_markdown(answers: &[Answer]) -> String {
    let mut out = format!("{}\n{}\n", first_tries(answers), first_confidences(answers));
    out.push_str("| today | with a cause | first | among three | silent | sure, and of these wrong | false alarms |\n");
    out.push_str("|---|---|---|---|---|---|---|\n");
    for (name, is_frozen) in [("frozen: nothing is tuned on it", true), ("tuned on", false)] {
        let part = Summary::of(answers.iter().filter(|answer| answer.is_frozen == is_frozen));
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        let _ = writeln!(
            out,
            "| {name} | {} | {} | {} | {} | {}, {} | {} of {} |",
            part.positives,
            percent(part.top1),
            percent(part.top3),
            percent(part.abstained),
            part.sure.0,
            part.sure.1,
            percent(part.false_alarms),
            part.negatives
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use whycrash_corpus::Origin;

    use super::{Answer, Summary, first_confidences, first_tries};

    fn answer(truth: &str, found: &[(&str, f64)]) -> Answer {
        Answer {
            truth: truth.to_owned(),
            found: found
                .iter()
                .map(|(cause, confidence)| ((*cause).to_owned(), *confidence))
                .collect(),
            alternatives: Vec::new(),
            origin: Origin::Real,
            month: "2026-11".to_owned(),
            is_frozen: false,
            first: None,
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
        let tried = |truth: &str, said: &str, confidence: f64| Answer {
            first: Some((said.to_owned(), (!said.is_empty()).then_some(confidence))),
            ..answer(truth, &[(truth, 0.9)])
        };
        let answers = [
            tried("a", "a", 0.97),
            tried("a", "b", 0.97),
            Answer {
                alternatives: vec!["b".to_owned()],
                ..tried("a", "b", 0.7)
            },
            tried("a", "", 0.0),
            tried("", "a", 0.7),
            tried("", "", 0.0),
            answer("a", &[]),
        ];
        let table = first_tries(&answers);
        assert!(
            table.ends_with("| 2026-11 | real | 4 | 2 (50 %) | 1 | 1 | 2 | 1 |\n"),
            "{table}"
        );
        let table = first_confidences(&answers);
        assert!(
            table.contains("agree | 1 of 2 |") && table.contains("member | 1 of 2 |"),
            "{table}"
        );
    }
}
