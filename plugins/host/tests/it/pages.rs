//! Pages that people write beside ours: one that is wrong harms itself alone, and what one says is told as it says it.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use whycrash_evidence::Artifact;
use whycrash_plugin_host::{Diagnoser, Diagnosis, Document, Input, Outcome, Settings};

use crate::corpus::{input, various};

/// A page with these tables.
fn page(id: &str, tables: &str) -> String {
    format!(
        "+++\nid = {id:?}\ntitle = \"No seat\"\nsummary = \"The licence server had no seat.\"\nseverity = \"fatal\"\n\
         domain = \"environment\"\nretry = {{ advice = \"retry\", because = \"A seat may be free then.\" }}\n\
         tags = [\"licence\"]\nsigns = [\"LicenceError ends the job\"]\nreferences = [\"https://example.com/\"]\n\n\
         [[fixes]]\nsummary = \"Ask for a seat\"\nsteps = [\"Ask the desk.\"]\n\n{tables}+++\n\nThe licence server had none.\n"
    )
}

const TABLE: &str = "[[recognise]]\nkind = \"python-exception\"\nwhere.exception = { matches = 'LicenceError$' }\n\
                     confidence = 0.9\nexplanation = \"The licence server had no seat.\"\n\n";

const LOG: &str = "step 1 loss 2.9\nlicence server lic-7 said no: 0 seats\nTraceback (most recent call last):\n\
                   \x20 File \"/home/u/train.py\", line 7, in <module>\n    seat.take()\nlicences.LicenceError: no seat\n";

/// A diagnoser with these pages in a folder.
fn with_pages(folder: &Path, pages: &[(&str, String)]) -> Diagnoser {
    for (name, text) in pages {
        fs::write(folder.join(name), text).unwrap();
    }
    Diagnoser::new(Settings {
        knowledge_folders: vec![folder.to_owned()],
        ..Settings::default()
    })
    .unwrap()
}

/// What these pages make of a log.
fn diagnosed(pages: &[(&str, String)], log: &str) -> Document {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("train.log");
    fs::write(&path, log).unwrap();
    let knowledge = tempfile::tempdir().unwrap();
    with_pages(knowledge.path(), pages).diagnose(&Input {
        artifacts: vec![Artifact::new("train.log", path)],
        ..Input::default()
    })
}

/// What was concluded, without how long it took.
fn concluded(document: &Document) -> Value {
    let mut json = serde_json::to_value(document).unwrap();
    json.as_object_mut().unwrap().remove("left_out");
    for plugin in json["plugins"].as_array_mut().unwrap() {
        plugin.as_object_mut().unwrap().remove("millis");
    }
    json
}

fn own<'d>(document: &'d Document, cause: &str) -> Option<&'d whycrash_plugin_host::Finding> {
    document.findings.iter().find(|finding| finding.cause == cause)
}

#[test]
fn a_page_with_a_mistake_harms_itself_alone() {
    let good = ("team-seat.md", page("team-seat", TABLE));
    let alone = diagnosed(std::slice::from_ref(&good), LOG);
    assert!(alone.left_out.is_empty());
    assert_eq!(alone.findings[0].cause, "team-seat", "{:#?}", alone.findings);
    for (from, to, said) in [
        (
            "python-exception",
            "pythn-exception",
            "did you mean `python-exception`?",
        ),
        ("where.exception", "where.exeption", "did you mean `exception`?"),
        ("matches", "match", "did you mean `matches`?"),
        ("LicenceError$", "(LicenceError$", "the pattern is not understood"),
        (
            "confidence",
            "facts.\"lines\" = 5\nconfidence",
            "there is no fact `lines`",
        ),
        ("0.9", "9", "from 0 to 1"),
    ] {
        let bad = page("team-bad", &TABLE.replacen(from, to, 1));
        let beside = diagnosed(&[good.clone(), ("team-bad.md", bad)], LOG);
        let [left_out] = beside.left_out.as_slice() else {
            panic!("{to}: {:?}", beside.left_out);
        };
        assert!(
            left_out.page.ends_with("/team-bad.md") && left_out.line > 15,
            "{left_out}"
        );
        assert!(left_out.message.contains(said), "{left_out}");
        assert_eq!(concluded(&beside), concluded(&alone), "{to}");
    }
}

#[test]
fn the_confidence_of_a_page_is_shown_as_it_is() {
    let document = diagnosed(&[("team-seat.md", page("team-seat", TABLE))], LOG);
    let finding = own(&document, "team-seat").unwrap();
    assert!((finding.confidence - 0.9).abs() < 1e-9, "{}", finding.confidence);
    assert_eq!(finding.plugin.name, "recognise-pages");
}

#[test]
fn nothing_else_changes_for_pages_that_say_nothing_or_are_left_out() {
    let ours = Diagnoser::new(Settings::default()).unwrap();
    let knowledge = tempfile::tempdir().unwrap();
    let line = TABLE.replace(
        "kind = \"python-exception\"\nwhere.exception = { matches = 'LicenceError$' }",
        "kind = \"line\"\ntext = 'qwertzuiop said no'",
    );
    let theirs = with_pages(
        knowledge.path(),
        &[
            ("team-seat.md", page("team-seat", TABLE)),
            ("team-line.md", page("team-line", &line)),
            (
                "team-bad.md",
                page("team-bad", &TABLE.replace("python-exception", "pythn-exception")),
            ),
        ],
    );
    assert_eq!(theirs.left_out().len(), 1);
    let plain = |mut diagnosis: Diagnosis| {
        diagnosis.forget_times();
        diagnosis.plugins.retain(|run| run.name != "recognise-pages");
        serde_json::to_string(&diagnosis).unwrap()
    };
    for case in various() {
        let report = Arc::new(ours.read(&input(case)));
        assert_eq!(
            plain(ours.conclude(&report)),
            plain(theirs.conclude(&report)),
            "{}",
            case.name
        );
    }
}

#[test]
fn a_page_that_can_not_be_evaluated_is_passed_over_by_name() {
    // Each repetition may begin and end at each letter of a long message.
    let slow = "[[recognise]]\nkind = \"python-exception\"\nwhere.message = { matches = 'seat(?:[a-z ]{0,90}[a-z ]{0,90}){0,9}\\d!' }\n\
                confidence = 0.9\nexplanation = \"x\"\n\n";
    let log = LOG.replace("no seat", &format!("no seat {}", "seat ".repeat(390)));
    let document = diagnosed(
        &[
            ("team-slow.md", page("team-slow", &slow.repeat(40))),
            ("team-seat.md", page("team-seat", TABLE)),
        ],
        &log,
    );
    let run = |name: &str| document.plugins.iter().find(|run| run.name == name).unwrap();
    assert_eq!(run("recognise").outcome, Outcome::Ok);
    let pages = run("recognise-pages");
    assert_eq!(pages.outcome, Outcome::Failed, "{pages:?}");
    let reason = pages.reason.as_deref().unwrap();
    assert!(reason.contains("the page team-slow was passed over"), "{reason}");
    assert!(own(&document, "team-seat").is_some(), "{:#?}", document.findings);
}

#[test]
fn a_table_may_ask_for_any_line() {
    let line = |members: &str| {
        page(
            "team-line",
            &format!(
                "[[recognise]]\nkind = \"line\"\n{members}\nconfidence = 0.8\nexplanation = \"{{server}} refused.\"\n\n"
            ),
        )
    };
    let said = "text = 'licence server (?<server>\\S+) said no'";
    let found = |members: &str, log: &str| {
        let document = diagnosed(&[("team-line.md", line(members))], log);
        assert!(document.left_out.is_empty(), "{:?}", document.left_out);
        let finding = own(&document, "team-line")?;
        assert_eq!(finding.explanation, "lic-7 refused.");
        Some(serde_json::to_value(&finding.citations).unwrap())
    };
    let cited = found(said, LOG).expect("the line is there");
    assert_eq!(
        cited,
        json!([{"artifact": "train.log", "at": {"line": [2, 2]}, "quote": "licence server lic-7 said no: 0 seats"}])
    );
    let went_on = format!("{LOG}step 2 loss 2.8\nstep 3 loss 2.7\nstep 4 loss 2.6\n");
    for (members, log, expected) in [
        (said.to_owned(), "step 1 loss 2.9\n", false),
        (said.to_owned(), went_on.as_str(), false),
        (format!("{said}\nwhere.artifact = \"train.log\""), LOG, true),
        (format!("{said}\nwhere.artifact = \"other.log\""), LOG, false),
        (
            format!(
                "{said}\nwith = [{{ kind = \"python-exception\", where.exception = {{ matches = 'LicenceError' }} }}]"
            ),
            LOG,
            true,
        ),
        (
            format!("{said}\nwithout = [{{ kind = \"line\", text = '0 seats' }}]"),
            LOG,
            false,
        ),
        (
            format!("{said}\nwithout = [{{ kind = \"line\", text = 'nobody says so' }}]"),
            LOG,
            true,
        ),
    ] {
        assert_eq!(found(&members, log).is_some(), expected, "{members} in {log}");
    }
}

#[test]
fn lines_are_searched_only_where_a_table_asks_for_them() {
    let fuel = |pages: &[(&str, String)]| {
        let document = diagnosed(pages, LOG);
        let run = document.plugins.iter().find(|run| run.name == "recognise").cloned();
        (run.unwrap().fuel, document.plugins.len())
    };
    let line = TABLE.replace(
        "kind = \"python-exception\"\nwhere.exception = { matches = 'LicenceError$' }",
        "kind = \"line\"\ntext = 'said no'",
    );
    let (without, rows) = fuel(&[]);
    let (with, rows_with) = fuel(&[("team-line.md", page("team-line", &line))]);
    assert_eq!(
        (with, rows_with),
        (without, rows + 1),
        "the tables of our pages cost what they did"
    );
}

#[test]
fn more_pages_than_findings_do_not_fail_each_other() {
    let pages: Vec<(String, String)> = (0..40)
        .map(|number| {
            (
                format!("team-seat-{number}.md"),
                page(&format!("team-seat-{number}"), TABLE),
            )
        })
        .collect();
    let named: Vec<(&str, String)> = pages.iter().map(|(name, text)| (name.as_str(), text.clone())).collect();
    let document = diagnosed(&named, LOG);
    let run = document
        .plugins
        .iter()
        .find(|run| run.name == "recognise-pages")
        .unwrap();
    assert_eq!((run.outcome, &run.reason), (Outcome::Ok, &None));
}
