//! Numbers that a training loop logged over its steps: rows of a table, `TensorBoard`'s events, runs of Weights & Biases.

pub mod table;
pub mod tfevents;
mod track;
pub mod wandb;

use indexmap::IndexMap;

use self::track::Track;
use super::{Reading, text};
use crate::model::{Divergence, Event, EventPayload, Place, Series};
use crate::{Limits, Problem};

/// Series of one artifact.
const SERIES: usize = 256;
/// Bytes of the name of one.
const NAME_BYTES: usize = 200;
/// Characters of what stands at a place that are quoted.
const TEXT_CHARS: usize = 400;

/// Names of the step that a row is of: of several that a table has, the first counts.
const STEPS: [&str; 14] = [
    "global_step",
    "trainer/global_step",
    "train/global_step",
    "_step",
    "step",
    "steps",
    "iteration",
    "iter",
    "it",
    "num_updates",
    "update",
    "batch",
    "epoch",
    "train/epoch",
];

/// Names of times, which grow by themselves.
const TIMES: [&str; 14] = [
    "time",
    "timestamp",
    "_timestamp",
    "datetime",
    "date",
    "ts",
    "_runtime",
    "runtime",
    "elapsed",
    "elapsed_time",
    "wall_time",
    "walltime",
    "relative time",
    "wall time",
];

fn is_one_of(name: &str, names: &[&str]) -> bool {
    names.iter().any(|known| name.trim().eq_ignore_ascii_case(known))
}

/// How good a name is for the step of a row: the lower, the better.
fn step_order(name: &str) -> Option<usize> {
    STEPS.iter().position(|known| name.trim().eq_ignore_ascii_case(known))
}

/// Words in names of what is logged of a training, and of the machine beside it.
const METRICS: [&str; 16] = [
    "loss",
    "acc",
    "lr",
    "learning_rate",
    "grad",
    "reward",
    "ppl",
    "perplexity",
    "memory",
    "mem_",
    "rss",
    "utilization",
    "tokens",
    "throughput",
    "samples_per",
    "gnorm",
];

fn is_metric(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    METRICS.iter().any(|word| name.contains(word))
}

/// A number as it is written, also one that is none: `nan`, `-Infinity`, `81559 MiB`.
fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    text.parse().ok().or_else(|| {
        let (number, unit) = text.split_once(' ')?;
        let is_unit = unit.len() <= 8
            && unit
                .bytes()
                .all(|byte| byte.is_ascii_alphabetic() || b"%/".contains(&byte));
        number.parse().ok().filter(|_| is_unit)
    })
}

/// All series of one artifact, while they are read.
#[derive(Debug, Default)]
struct Logged {
    tracks: IndexMap<String, Track>,
    left_out: u64,
}

impl Logged {
    /// Adds a value. `place` tells where it stands and what stands there.
    fn add(&mut self, name: &str, step: Option<u64>, value: f64, place: impl FnOnce() -> (Place, String)) {
        let name = name.trim();
        if name.is_empty() || name.len() > NAME_BYTES {
            return;
        }
        if !self.tracks.contains_key(name) {
            if self.tracks.len() >= SERIES {
                self.left_out += 1;
                return;
            }
            self.tracks.insert(name.to_owned(), Track::default());
        }
        if let Some(track) = self.tracks.get_mut(name) {
            track.add(step, value, place);
        }
    }

    /// Puts the series into a reading, and what became of those that must stay numbers.
    fn finish(self, artifact: &str, limits: &Limits, reading: &mut Reading) {
        for event in self.divergences() {
            let timeline = &mut reading.evidence.timeline;
            if timeline.len() < limits.events {
                timeline.push(Event {
                    event: timeline.len(),
                    artifact: artifact.to_owned(),
                    ..event
                });
            }
        }
        let series = self.tracks.into_iter().map(|(name, track)| Series {
            name,
            artifact: artifact.to_owned(),
            ..track.series()
        });
        reading.evidence.series.extend(series);
        if self.left_out > 0 {
            let message = format!("the artifact has more than {SERIES} series; the first of them were read");
            reading.problems.push(Problem::new("limit-series", message));
        }
    }

    /// Of each quantity that must stay a number, the series that first was none to its end.
    fn divergences(&self) -> Vec<Event> {
        let mut first: IndexMap<&str, (&Track, u64)> = IndexMap::new();
        for (name, track) in &self.tracks {
            let (Some(quantity), Some(order)) = (quantity(name), track.diverged_at()) else {
                continue;
            };
            let known = first.get(quantity).is_some_and(|(_, known)| *known <= order);
            if !known {
                first.insert(quantity, (track, order));
            }
        }
        let events = first
            .into_iter()
            .filter_map(|(quantity, (track, _))| event(quantity, track));
        events.collect()
    }
}

fn event(quantity: &str, track: &Track) -> Option<Event> {
    let lost = track.lost()?;
    let divergence = Divergence {
        quantity: quantity.to_owned(),
        value: lost.value.trim_start_matches('-').to_owned(),
        step: lost.step,
        rows: Some(lost.count),
    };
    Some(Event {
        text: lost.text.chars().take(TEXT_CHARS).collect(),
        at: Some(lost.at.clone()),
        ..Event::new(EventPayload::Divergence(divergence))
    })
}

/// Beginnings and parts of names that have such a word and are no such value: what a value is compared with, and the
/// factor that a gradient scaler tries.
const OTHERS: [&str; 6] = ["best", "min", "prev", "last", "scale", "stopp"];

/// What the name of a series names, where that must stay a number.
fn quantity(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let is_told =
        text::regex!(r"loss|(?:^|[\W_])(?:grad(?:ient)?[_ ]?norm|gnorm|perplexity|ppl)(?:[\W_]|$)").is_match(&name);
    let is_other = OTHERS.iter().any(|word| name.contains(word));
    (is_told && !is_other).then(|| text::quantity(&name))
}
