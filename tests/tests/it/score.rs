//! Diagnoses the whole corpus and counts, per cause, how often the first finding is right.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Map;
use whycrash_catalog::Catalog;
use whycrash_plugin_host::{Diagnoser, Input, Outcome, Settings};
use whycrash_symbols::Sources;
use whycrash_tests::corpus::{self, Case};

/// The least number of right answers. Raise it when it is passed.
const LEAST_RIGHT: usize = 90;

/// The name that a missing cause gets in the table.
const NONE: &str = "(none)";

/// What was found for one case.
struct Answer {
    truth: String,
    found: String,
}

/// One row of the table.
#[derive(Default)]
struct Row {
    cases: usize,
    right: usize,
    abstained: usize,
    /// How often this cause was named first, rightly or not.
    named: usize,
}

impl Row {
    fn percent(part: usize, whole: usize) -> String {
        if whole == 0 {
            "-".to_owned()
        } else {
            format!("{:.0} %", 100.0 * part as f64 / whole as f64)
        }
    }
}

fn diagnoser(cases: &[Case]) -> Diagnoser {
    let folders = cases.iter().filter_map(Case::binaries).collect();
    let symbols = Sources {
        folders,
        local_files: true,
        ..Sources::default()
    };
    Diagnoser::new(Settings {
        symbols,
        ..Settings::default()
    })
    .expect("the built-in plugins load")
}

/// The id of the page that answers for a cause: labels and plugins may use any id that a page lists.
fn page(catalog: &Catalog, cause: Option<&str>) -> String {
    let page = cause
        .and_then(|id| catalog.get(id))
        .map_or(NONE, |cause| cause.id.as_str());
    page.to_owned()
}

fn table(answers: &[Answer]) -> String {
    let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
    for answer in answers {
        let row = rows.entry(&answer.truth).or_default();
        row.cases += 1;
        row.right += usize::from(answer.found == answer.truth);
        row.abstained += usize::from(answer.found == NONE && answer.truth != NONE);
        rows.entry(&answer.found).or_default().named += 1;
    }
    let mut out = format!(
        "{:34}{:>6}{:>6}{:>10}{:>11}{:>8}\n",
        "cause", "cases", "right", "abstained", "precision", "recall"
    );
    for (cause, row) in rows {
        let precision = Row::percent(row.right, row.named);
        let recall = Row::percent(row.right, row.cases);
        let Row {
            cases,
            right,
            abstained,
            ..
        } = row;
        let _ = writeln!(
            out,
            "{cause:34}{cases:>6}{right:>6}{abstained:>10}{precision:>11}{recall:>8}"
        );
    }
    out
}

#[test]
fn corpus_score() {
    let cases = corpus::cases().expect("every folder of the corpus is a case");
    let catalog = Catalog::embedded();
    let diagnoser = diagnoser(&cases);
    assert!(
        !diagnoser.plugins().is_empty(),
        "built without plugins: run `make plugins` and build again"
    );

    let mut answers = Vec::new();
    let mut forbidden = Vec::new();
    for case in &cases {
        let document = diagnoser.diagnose(&Input {
            artifacts: case.artifacts(),
            metadata: Map::new(),
        });
        for run in document.plugins.iter().filter(|run| run.outcome == Outcome::Failed) {
            forbidden.push(format!(
                "{}: {} failed: {}",
                case.name,
                run.name,
                run.reason.as_deref().unwrap_or("")
            ));
        }
        for finding in document
            .findings
            .iter()
            .filter(|finding| case.label.expect_not.contains(&finding.cause))
        {
            forbidden.push(format!(
                "{}: {} was named, with {:.2}",
                case.name, finding.cause, finding.confidence
            ));
        }
        let first = document.findings.first();
        let answer = Answer {
            truth: page(&catalog, Some(&case.label.cause)),
            found: page(&catalog, first.map(|finding| finding.cause.as_str())),
        };
        if answer.found != answer.truth {
            println!("{}: {} instead of {}", case.name, answer.found, answer.truth);
        }
        answers.push(answer);
    }
    println!("\n{}", table(&answers));

    let right = answers.iter().filter(|a| a.found == a.truth).count();
    let abstained = answers.iter().filter(|a| a.found == NONE && a.truth != NONE).count();
    let wrong = answers.len() - right - abstained;
    println!(
        "{} cases: {right} right, {abstained} abstained, {wrong} wrong",
        answers.len()
    );
    assert!(forbidden.is_empty(), "{}", forbidden.join("\n"));
    assert!(
        right >= LEAST_RIGHT,
        "{right} right answers; {LEAST_RIGHT} were reached before"
    );
    assert_eq!(wrong, 0, "a wrong answer is worse than none");
}
