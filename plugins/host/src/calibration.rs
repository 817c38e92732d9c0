//! From how sure a rule says it is to how often answers that are as sure are right.
//!
//! Authors of tables and plugins order their rules: what is specific is surer than what is general. The numbers that
//! they give are no shares of anything. The map below turns them into shares: fitted to what was said first of crashes
//! that no rule had been written for, and to the part of the corpus that rules are tuned on (`docs/diagnosis.md` has
//! the counts).

/// How sure a rule is, and the share of answers so sure that are right; straight lines between. It rises everywhere, so
/// that no order changes.
pub(crate) const POINTS: [(f64, f64); 7] = [
    (0.0, 0.0),
    (0.36, 0.5),
    (0.5, 0.65),
    (0.7, 0.86),
    (0.8, 0.965),
    (0.9, 0.987),
    (1.0, 0.997),
];

/// The share of right answers among those whose rules are this sure.
pub(crate) fn calibrated(said: f64) -> f64 {
    let mut lines = POINTS.iter().zip(POINTS.iter().skip(1));
    let line = lines.find(|(_, (to, _))| said <= *to);
    line.map_or(said, |((from, low), (to, high))| {
        low + (said - from) / (to - from) * (high - low)
    })
}

/// How sure a rule was that is shown so: what [`calibrated`] was given.
pub fn said(shown: f64) -> f64 {
    let mut lines = POINTS.iter().zip(POINTS.iter().skip(1));
    let line = lines.find(|(_, (_, high))| shown <= *high);
    line.map_or(1.0, |((from, low), (to, high))| {
        from + (shown - low) / (high - low) * (to - from)
    })
}

#[cfg(test)]
mod tests {
    use super::{POINTS, calibrated, said};

    #[test]
    fn what_a_rule_said_is_found_again() {
        for step in 0..=1000 {
            let sure = f64::from(step) / 1000.0;
            assert!((said(calibrated(sure)) - sure).abs() < 1e-9, "{sure}");
        }
    }

    #[test]
    fn what_is_surer_stays_surer() {
        let steps: Vec<f64> = (0..=1000).map(|step| calibrated(f64::from(step) / 1000.0)).collect();
        assert!(steps.windows(2).all(|pair| pair[0] < pair[1]), "{steps:?}");
        assert!((0.0..=1.0).contains(&steps[1000]) && steps[0].abs() < 1e-9);
    }

    #[test]
    fn points_lie_on_the_map() {
        for (said, share) in POINTS {
            assert!((calibrated(said) - share).abs() < 1e-9, "{said}");
        }
    }
}
