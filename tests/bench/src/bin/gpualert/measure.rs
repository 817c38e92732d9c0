//! Precision, recall and F1 of each class, and how sure these figures are.

use std::collections::BTreeSet;

/// Times that the samples are drawn anew for an interval.
const DRAWS: usize = 2000;

/// A sample's class, and what was said of it.
#[derive(Clone, Debug)]
pub struct Judged {
    pub class: String,
    pub said: String,
}

/// How often a class was right.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    right: usize,
    said: usize,
    there: usize,
}

impl Counts {
    fn of(class: &str, samples: &[&Judged]) -> Self {
        let count = |holds: fn(&Judged, &str) -> bool| samples.iter().filter(|sample| holds(sample, class)).count();
        Self {
            right: count(|sample, class| sample.class == class && sample.said == class),
            said: count(|sample, class| sample.said == class),
            there: count(|sample, class| sample.class == class),
        }
    }

    fn precision(self) -> f64 {
        share(self.right, self.said)
    }

    fn recall(self) -> f64 {
        share(self.right, self.there)
    }

    fn f1(self) -> f64 {
        share(2 * self.right, self.said + self.there)
    }
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Prints the table; gives the macro-F1.
pub fn print(what: &str, samples: &[Judged]) -> f64 {
    let classes: BTreeSet<&str> = samples.iter().map(|sample| sample.class.as_str()).collect();
    let all: Vec<&Judged> = samples.iter().collect();
    println!(
        "\n{what}\n{:18}{:>8}{:>11}{:>8}{:>8}",
        "class", "samples", "precision", "recall", "F1"
    );
    for class in &classes {
        let counts = Counts::of(class, &all);
        println!(
            "{class:18}{:>8}{:>11.3}{:>8.3}{:>8.3}",
            counts.there,
            counts.precision(),
            counts.recall(),
            counts.f1()
        );
    }
    let macro_f1 = macro_f1(&classes, &all);
    let (low, high) = bootstrap(&classes, samples);
    let right = samples.iter().filter(|sample| sample.said == sample.class).count();
    let (least, most) = wilson(right, samples.len());
    println!("macro-F1 {macro_f1:.3}, 95 % of {DRAWS} draws between {low:.3} and {high:.3}");
    println!(
        "accuracy {:.3}, Wilson interval of 95 % from {least:.3} to {most:.3}",
        share(right, samples.len())
    );
    macro_f1
}

fn macro_f1(classes: &BTreeSet<&str>, samples: &[&Judged]) -> f64 {
    let sum: f64 = classes.iter().map(|class| Counts::of(class, samples).f1()).sum();
    sum / classes.len().max(1) as f64
}

/// Macro-F1 of samples drawn with replacement: the middle 95 %.
fn bootstrap(classes: &BTreeSet<&str>, samples: &[Judged]) -> (f64, f64) {
    // A fixed seed: the same table every time.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut draw = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % samples.len() as u64).unwrap_or_default()
    };
    let mut scores: Vec<f64> = (0..DRAWS)
        .map(|_| {
            let drawn: Vec<&Judged> = samples.iter().map(|_| &samples[draw()]).collect();
            macro_f1(classes, &drawn)
        })
        .collect();
    scores.sort_by(f64::total_cmp);
    (scores[DRAWS / 40], scores[DRAWS - 1 - DRAWS / 40])
}

/// Wilson's interval of 95 % for a share.
fn wilson(part: usize, whole: usize) -> (f64, f64) {
    const Z: f64 = 1.96;
    let (n, p) = (whole as f64, share(part, whole));
    let middle = p + Z * Z / (2.0 * n);
    let reach = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + Z * Z / n;
    ((middle - reach) / scale, (middle + reach) / scale)
}
