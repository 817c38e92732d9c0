//! Numbers over the steps of a training.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Place;

/// One number that was logged again and again, such as a loss: what became of it from step to step. Values are finite;
/// what was no number is in `non_finite`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Series {
    /// As it was logged, such as `train/loss`; members of members are joined by a dot.
    pub name: String,
    /// The artifact that has it.
    pub artifact: String,
    /// How many values there are, those that are no numbers included.
    pub count: u64,
    /// Step of the first value, where steps were logged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_step: Option<u64>,
    /// Step of the last value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_step: Option<u64>,
    /// The first finite value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<f64>,
    /// The last finite value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<f64>,
    /// The least finite value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// The greatest finite value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// How much it grows a step, where it grew steadily over its last half; a row counts as a step where none was
    /// logged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub growth: Option<f64>,
    /// The values that are no numbers, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub non_finite: Option<NonFinite>,
    /// The series in at most 64 points of step (or row) and value, each the mean of the finite values that it stands for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<SeriesPoint>,
}

/// Values of a series that are no numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct NonFinite {
    /// The first of them: `nan`, `inf` or `-inf`.
    pub value: String,
    /// Its step, where steps were logged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<u64>,
    /// Where it stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Place>,
    /// How many there are.
    pub count: u64,
    /// How many of them end the series: 0 where a number came last.
    pub to_the_end: u64,
    /// Step from which on nothing but these came, where steps were logged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_step: Option<u64>,
}

/// A point of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct SeriesPoint {
    /// Its step; its number in the series where no steps were logged.
    pub step: f64,
    /// Its value.
    pub value: f64,
}
