//! One series while it is read: a bounded amount of memory, however long it is.

use crate::model::{NonFinite, Place, Series, SeriesPoint};

/// Points that a series is kept in.
const POINTS: usize = 64;
/// Points of its last half that say whether it grows.
const GROWTH_POINTS: usize = 8;
/// Of a hundred steps from point to point, those that have to go up.
const GROWTH_PERCENT: usize = 85;
/// How much it has to grow over its last half, as a part of where that begins.
const GROWTH_PART: f64 = 0.02;
/// Values that are no numbers before which none was: fewer may be what was not measured.
const NEVER_FINITE: u64 = 3;

/// What is known of a series so far.
#[derive(Debug, Default)]
pub struct Track {
    series: Series,
    finite: u64,
    /// What is no number since the last number.
    lost: Option<Lost>,
    sums: Vec<Sum>,
    /// Finite values that a point is the mean of.
    stride: u64,
}

/// A stretch of values that are no numbers.
#[derive(Clone, Debug)]
pub struct Lost {
    /// The first of them.
    pub value: &'static str,
    pub step: Option<u64>,
    pub at: Place,
    /// What stands there.
    pub text: String,
    pub count: u64,
    /// Which value of the series it was.
    order: u64,
}

/// Finite values that one point stands for.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    steps: f64,
    values: f64,
    count: u64,
}

impl Sum {
    fn point(self) -> SeriesPoint {
        let count = self.count.max(1) as f64;
        SeriesPoint {
            step: self.steps / count,
            value: self.values / count,
        }
    }
}

impl Track {
    /// Adds a value. `place` tells where it stands and what stands there.
    pub fn add(&mut self, step: Option<u64>, value: f64, place: impl FnOnce() -> (Place, String)) {
        let series = &mut self.series;
        series.count += 1;
        if series.count == 1 {
            series.first_step = step;
        }
        series.last_step = step.or(series.last_step);
        if value.is_finite() {
            self.lost = None;
            self.add_finite(step, value);
        } else {
            self.add_other(step, value, place);
        }
    }

    fn add_finite(&mut self, step: Option<u64>, value: f64) {
        let series = &mut self.series;
        self.finite += 1;
        series.first.get_or_insert(value);
        series.last = Some(value);
        series.min = Some(series.min.map_or(value, |min| min.min(value)));
        series.max = Some(series.max.map_or(value, |max| max.max(value)));
        self.add_point(step.unwrap_or(self.series.count), value);
    }

    fn add_other(&mut self, step: Option<u64>, value: f64, place: impl FnOnce() -> (Place, String)) {
        let name = match value {
            value if value.is_nan() => "nan",
            value if value > 0.0 => "inf",
            _ => "-inf",
        };
        if let Some(lost) = &mut self.lost {
            lost.count += 1;
        } else {
            let (at, text) = place();
            self.lost = Some(Lost {
                value: name,
                step,
                at,
                text,
                count: 1,
                order: self.series.count,
            });
        }
        let at = self.lost.as_ref().map(|lost| lost.at.clone());
        let known = self.series.non_finite.get_or_insert_with(|| NonFinite {
            value: name.to_owned(),
            step,
            at,
            ..NonFinite::default()
        });
        known.count += 1;
    }

    fn add_point(&mut self, step: u64, value: f64) {
        self.stride = self.stride.max(1);
        if self.sums.last().is_none_or(|sum| sum.count >= self.stride) {
            if self.sums.len() >= POINTS {
                self.stride *= 2;
                let pairs = self.sums.chunks(2).map(|pair| {
                    pair.iter().fold(Sum::default(), |one, next| Sum {
                        steps: one.steps + next.steps,
                        values: one.values + next.values,
                        count: one.count + next.count,
                    })
                });
                self.sums = pairs.collect();
            }
            self.sums.push(Sum::default());
        }
        if let Some(sum) = self.sums.last_mut() {
            sum.steps += step as f64;
            sum.values += value;
            sum.count += 1;
        }
    }

    /// The stretch at its end in which it is no number, if that means that it was lost: it was one before, or never was
    /// in several values.
    pub fn lost(&self) -> Option<&Lost> {
        let lost = self.lost.as_ref()?;
        (self.finite > 0 || lost.count >= NEVER_FINITE).then_some(lost)
    }

    /// When it was lost: the step, or the number of the value.
    pub fn diverged_at(&self) -> Option<u64> {
        self.lost().map(|lost| lost.step.unwrap_or(lost.order))
    }

    /// The series as it is kept.
    pub fn series(self) -> Series {
        let points: Vec<SeriesPoint> = self.sums.into_iter().map(Sum::point).collect();
        // A sum of large values may be none itself.
        let points: Vec<SeriesPoint> = points.into_iter().filter(|point| point.value.is_finite()).collect();
        let non_finite = self.series.non_finite.map(|non_finite| NonFinite {
            to_the_end: self.lost.as_ref().map_or(0, |lost| lost.count),
            from_step: self.lost.as_ref().and_then(|lost| lost.step),
            ..non_finite
        });
        Series {
            growth: growth(&points),
            non_finite,
            points,
            ..self.series
        }
    }
}

/// How much a series grows from step to step, where it goes up nearly all of the time and by more than a little.
fn growth(points: &[SeriesPoint]) -> Option<f64> {
    let half = points
        .get(points.len() / 2..)
        .filter(|half| half.len() >= GROWTH_POINTS)?;
    let [first, .., last] = half else { return None };
    let pairs = half.windows(2);
    let count = pairs.len();
    let up = pairs
        .filter(|pair| matches!(pair, [one, next] if one.value < next.value))
        .count();
    let grown = last.value - first.value;
    let is_steady = up * 100 >= count * GROWTH_PERCENT && grown > first.value.abs() * GROWTH_PART;
    let steps = last.step - first.step;
    (is_steady && steps > 0.0)
        .then(|| grown / steps)
        .filter(|growth| growth.is_finite())
}
