//! Diagnoses the whole corpus and tells how often what is said is right.

use std::fmt::Write as _;
use std::num::NonZero;
use std::path::Path;

use sha2::{Digest as _, Sha256};
use whycrash_catalog::Catalog;
use whycrash_corpus::Case;
use whycrash_plugin_host::{Diagnoser, Document, Outcome};
use whycrash_tests::judge::{diagnose, diagnoser, found, page};
use whycrash_tests::score::{Answer, Summary, causes, first_confidences, first_tries, in_markdown, parts};

/// Around the counts in `docs/diagnosis.md`, and what is set to have them written.
const COUNTS: (&str, &str) = ("<!-- counts -->", "<!-- end of counts -->");
const MAKE: &str = "WHYCRASH_MAKE_COUNTS";
/// Names a file that the digest of each case's document is written to: what was only moved changes none (`make digests`).
const DIGESTS: &str = "WHYCRASH_DIGESTS";

/// The least share of right answers in what is tuned on, and the largest of false alarms. Raise and lower them when they
/// are passed.
const LEAST_RIGHT: f64 = 0.85;
const MOST_FALSE_ALARMS: f64 = 0.02;

/// What must not be: plugins that failed, and causes that a case excludes.
fn forbidden(case: &Case, document: &Document) -> Vec<String> {
    let failed = document.plugins.iter().filter(|run| run.outcome == Outcome::Failed);
    let failed = failed.map(|run| {
        let reason = run.reason.as_deref().unwrap_or_default();
        format!("{}: {} failed: {reason}", case.name, run.name)
    });
    let excluded = document
        .findings
        .iter()
        .filter(|finding| case.label.expect_not.contains(&finding.cause));
    let excluded = excluded.map(|finding| {
        format!(
            "{}: {} was named, with {:.2}",
            case.name, finding.cause, finding.confidence
        )
    });
    failed.chain(excluded).collect()
}

/// What came of one case.
struct Judged {
    answer: Answer,
    /// What it was taken for, where that is not what it is.
    missed: Option<String>,
    /// Whether another cause was named than the right one and its families.
    is_wrong: bool,
    problems: Vec<String>,
    /// Of its document, in hexadecimal digits.
    digest: String,
}

/// Of all that is said in a document, but for how long plugins took.
fn digest(mut document: Document) -> String {
    document.plugins.iter_mut().for_each(|run| run.millis = None);
    let json = serde_json::to_vec(&document).expect("a document is JSON");
    hex::encode(Sha256::digest(json))
}

fn judged(case: &Case, is_frozen: bool, diagnoser: &Diagnoser, catalog: &Catalog) -> Judged {
    let document = diagnose(case, diagnoser);
    let label = &case.label;
    let pages = |causes: &[String]| causes.iter().map(|cause| page(catalog, cause)).collect();
    let first = label.first.as_ref();
    let answer = Answer {
        truth: page(catalog, &label.cause),
        alternatives: pages(&label.alternatives),
        found: found(&document, catalog),
        origin: label.origin,
        month: label.date.chars().take("2026-11".len()).collect(),
        is_frozen,
        first: first.map(|first| (page(catalog, &first.cause), first.confidence)),
    };
    let said = answer.found.first().map_or("nothing", |(cause, _)| cause.as_str());
    let truth = if answer.truth.is_empty() {
        "nothing"
    } else {
        &answer.truth
    };
    Judged {
        missed: (said != truth).then(|| format!("{}: {said} instead of {truth}", case.name)),
        is_wrong: said != truth && said != "nothing" && !is_family(catalog, said, truth),
        problems: forbidden(case, &document),
        digest: digest(document),
        answer,
    }
}

/// The same of all, in their order, as fast as the machine can.
fn all_judged(cases: &[Case], is_frozen: bool, diagnoser: &Diagnoser, catalog: &Catalog) -> Vec<Judged> {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let shares = cases.chunks(cases.len().div_ceil(threads).max(1));
    std::thread::scope(|scope| {
        let of = |case| judged(case, is_frozen, diagnoser, catalog);
        let running: Vec<_> = shares
            .map(|share| scope.spawn(move || share.iter().map(of).collect::<Vec<_>>()))
            .collect();
        let done = running.into_iter().map(|thread| thread.join().expect("no case panics"));
        done.flatten().collect()
    })
}

#[test]
fn corpus_score() {
    let cases = whycrash_corpus::cases().expect("every folder of the corpus is a case");
    let catalog = Catalog::embedded();
    let diagnoser = diagnoser(&cases).expect("the built-in plugins load");
    assert!(
        !diagnoser.plugins().is_empty(),
        "built without plugins: run `make plugins` and build again"
    );
    let (mut answers, mut wrong, mut problems, mut digests) = (Vec::new(), Vec::new(), Vec::new(), String::new());
    for (judged, case) in all_judged(&cases, false, &diagnoser, &catalog).into_iter().zip(&cases) {
        let _ = writeln!(digests, "{} {}", judged.digest, case.name);
        if let Some(missed) = judged.missed {
            println!("{missed}");
            wrong.extend(judged.is_wrong.then_some(missed));
        }
        problems.extend(judged.problems);
        answers.push(judged.answer);
    }
    if let Some(path) = std::env::var_os(DIGESTS) {
        std::fs::write(path, digests).expect("the digests can be written");
    }
    let per_cause = causes(&answers);
    let tuned = Summary::of(&answers);
    // What judges has no names: of each of these cases only what it adds to the counts is kept.
    let frozen = whycrash_corpus::frozen().expect("every folder is a case");
    let judges = all_judged(&frozen, true, &diagnoser, &catalog).into_iter();
    answers.extend(judges.map(|judged| judged.answer));
    println!(
        "\n{per_cause}\n{}\n{}\n{}",
        parts(&answers),
        first_tries(&answers),
        first_confidences(&answers)
    );
    the_page_has(&in_markdown(&answers));
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(
        wrong.is_empty(),
        "a wrong answer is worse than none:\n{}",
        wrong.join("\n")
    );
    assert!(tuned.top1 >= LEAST_RIGHT, "{tuned:?}");
    assert!(tuned.false_alarms <= MOST_FALSE_ALARMS, "{tuned:?}");
}

/// Holds the counts that `docs/diagnosis.md` tells against those of the corpus, or writes them (`make score-page`).
fn the_page_has(counts: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/diagnosis.md");
    let page = std::fs::read_to_string(&path).expect("the page is there");
    let (head, rest) = page.split_once(COUNTS.0).expect("the page says where its counts begin");
    let (there, tail) = rest.split_once(COUNTS.1).expect("the page says where its counts end");
    if std::env::var_os(MAKE).is_some() {
        let made = format!("{head}{}\n{counts}{}{tail}", COUNTS.0, COUNTS.1);
        std::fs::write(&path, made).expect("the page can be written");
        return;
    }
    assert!(
        there.trim() == counts.trim(),
        "docs/diagnosis.md has other counts than the corpus: run `make score-page`"
    );
}

/// Whether what was said is the family of the truth: less than the truth, and not wrong.
fn is_family(catalog: &Catalog, said: &str, truth: &str) -> bool {
    let members = catalog.get(said).map(|page| page.members.as_slice());
    members.is_some_and(|members| members.iter().any(|member| member == truth))
}
