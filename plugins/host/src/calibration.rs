//! From how sure a rule says it is to how often answers that are as sure are right.
//!
//! Authors of tables and plugins order their rules: what is specific is surer than what is general. The numbers that
//! they give are no shares of anything. The map of `calibration.toml` turns them into shares; `make calibrate` fits it
//! to what was said of cases before any rule knew of them (`docs/diagnosis.md` has the counts).

use std::sync::LazyLock;

use serde::Deserialize;

/// The map as its file has it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Map {
    /// How sure rules are, and the share of answers so sure that are right; both rise everywhere, so that no order
    /// changes.
    points: Vec<(f64, f64)>,
}

static MAP: LazyLock<Map> = LazyLock::new(|| {
    // The file is part of the program, and a test reads it.
    toml::from_str(include_str!("calibration.toml")).unwrap_or(Map { points: Vec::new() })
});

/// How sure rules are, and the share of answers so sure that are right, from 0 to 1; straight lines between.
pub fn points() -> &'static [(f64, f64)] {
    &MAP.points
}

/// The share of right answers among those whose rules are this sure.
pub(crate) fn calibrated(said: f64) -> f64 {
    on_a_line(said, points().iter().copied())
}

/// How sure a rule was that is shown so: what was made this share.
pub fn said(shown: f64) -> f64 {
    on_a_line(shown, points().iter().map(|(said, share)| (*share, *said)))
}

/// The height at a place of the line through points that rise; beyond the last of them, that place.
fn on_a_line(at: f64, points: impl Iterator<Item = (f64, f64)> + Clone) -> f64 {
    let mut lines = points.clone().zip(points.skip(1));
    let line = lines.find(|(_, (to, _))| at <= *to);
    line.map_or(at, |((from, low), (to, high))| {
        low + (at - from) / (to - from) * (high - low)
    })
}

#[cfg(test)]
mod tests {
    use super::{calibrated, points, said};

    #[test]
    fn what_a_rule_said_is_found_again() {
        for step in 0..=1000 {
            let sure = f64::from(step) / 1000.0;
            assert!((said(calibrated(sure)) - sure).abs() < 1e-9, "{sure}");
        }
    }

    #[test]
    fn what_is_surer_stays_surer() {
        assert_eq!(points().first(), Some(&(0.0, 0.0)));
        assert!(
            points()
                .last()
                .is_some_and(|(said, share)| *said > 0.999 && *share < 1.0)
        );
        let steps: Vec<f64> = (0..=1000).map(|step| calibrated(f64::from(step) / 1000.0)).collect();
        assert!(steps.windows(2).all(|pair| pair[0] < pair[1]), "{steps:?}");
    }

    #[test]
    fn points_lie_on_the_map() {
        for (said, share) in points() {
            assert!((calibrated(*said) - share).abs() < 1e-9, "{said}");
        }
    }
}
