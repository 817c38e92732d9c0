//! Memory over time, small enough to keep and to draw.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A level over time as columns: one row per stretch of the trace, with the lowest and highest value in it, so that
/// no spike is lost however few rows there are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct UsageCurve {
    /// Index of the first trace event of each stretch.
    pub event: Vec<u64>,
    /// When each stretch begins, in microseconds since the epoch; empty when the trace has no times.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub time_us: Vec<u64>,
    /// Lowest value in the stretch, in bytes.
    pub min: Vec<u64>,
    /// Highest value in the stretch, in bytes.
    pub max: Vec<u64>,
}

impl UsageCurve {
    /// Number of stretches.
    pub fn len(&self) -> usize {
        self.min.len()
    }

    /// True when there is nothing to draw.
    pub fn is_empty(&self) -> bool {
        self.min.is_empty()
    }

    /// The same curve with at most half as many rows: neighbours merged two by two.
    #[must_use]
    pub fn halved(&self) -> Self {
        let first = |column: &[u64]| column.iter().step_by(2).copied().collect();
        Self {
            event: first(&self.event),
            time_us: first(&self.time_us),
            min: self
                .min
                .chunks(2)
                .map(|pair| pair.iter().copied().min().unwrap_or(0))
                .collect(),
            max: self
                .max
                .chunks(2)
                .map(|pair| pair.iter().copied().max().unwrap_or(0))
                .collect(),
        }
    }

    /// The curve and its halvings down to one row: a drawing takes the coarsest level that still has a row per pixel.
    pub fn pyramid(&self) -> Vec<Self> {
        let mut levels = vec![self.clone()];
        while let Some(level) = levels.last().filter(|level| level.len() > 1) {
            levels.push(level.halved());
        }
        levels
    }
}
