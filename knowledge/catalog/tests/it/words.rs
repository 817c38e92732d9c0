//! Recognise tables whose words are mistyped: each is named with file, line and the right word.

use std::fs;

use whycrash_catalog::{Catalog, Folder, Vocabulary, read_page};

use crate::{GOOD, good_with};

/// A page with a table; a table of another page is what it would be if it were right.
fn page(table: &str) -> String {
    good_with("+++\nProse", &format!("\n[[recognise]]\n{table}+++\nProse"))
}

const TABLE: &str = "\
kind = \"python-exception\"
where.exception = \"LicenceError\"
where.message = { matches = 'no seat' }
confidence = 0.9
explanation = \"The licence server had no seat.\"
";

fn table_with(from: &str, to: &str) -> String {
    assert!(TABLE.contains(from), "the table has `{from}`");
    page(&TABLE.replacen(from, to, 1))
}

fn more(members: &str) -> String {
    page(&format!("{TABLE}{members}"))
}

/// Pages with one mistake each.
fn broken() -> Vec<(&'static str, String)> {
    vec![
        ("kind", table_with("python-exception", "pythn-exception")),
        (
            "kind in another spelling",
            table_with("python-exception", "PythonException"),
        ),
        ("kind that is none", table_with("python-exception", "weather")),
        ("particular", table_with("where.message", "where.mesage")),
        (
            "particular of another kind",
            table_with("where.message", "where.sticky"),
        ),
        (
            "message of a line",
            table_with(
                "\"python-exception\"\nwhere.exception = \"LicenceError\"",
                "\"line\"\ntext = 'licence'",
            ),
        ),
        ("line without a text", table_with("\"python-exception\"", "\"line\"")),
        (
            "line without words",
            page("kind = \"line\"\ntext = '\\d+'\nconfidence = 0.9\nexplanation = \"x\"\n"),
        ),
        ("member of the table", table_with("where.message", "wher.message")),
        ("member of a test", table_with("matches", "macthes")),
        ("pattern", table_with("'no seat'", "'no (seat'")),
        ("look-around", table_with("'no seat'", "'(?=no seat)'")),
        (
            "pattern that is too large",
            table_with("'no seat'", "'(?:\\w{1,200}){1,200}x'"),
        ),
        ("number for a text", table_with("\"LicenceError\"", "5")),
        (
            "text for a number",
            more("with = [{ kind = \"xid\", where.code = \"79\" }]\n"),
        ),
        ("range of a text", table_with("{ matches = 'no seat' }", "{ from = 5 }")),
        (
            "empty range",
            more("with = [{ kind = \"xid\", where.code = { from = 9, to = 5 } }]\n"),
        ),
        (
            "list for a value",
            more("with = [{ kind = \"device-assert\", where.block = 7 }]\n"),
        ),
        ("kind in with", more("with = [{ kind = \"xids\", where.code = 79 }]\n")),
        (
            "particular in the second without",
            more("without = [{ kind = \"xid\" }, { kind = \"xid\", where.cod = 79 }]\n"),
        ),
        ("with that is no list", more("with = \"xid\"\n")),
        ("fact", more("facts.\"lines\" = { present = true }\n")),
        ("fact with a typo", more("facts.\"crsh.signal\" = \"SIGABRT\"\n")),
        ("fact further down", more("facts.\"crash.signl\" = \"SIGABRT\"\n")),
        (
            "fact in a list",
            more("facts.\"memory_snapshots.reserved\" = { from = 5 }\n"),
        ),
        (
            "fact behind a text",
            more("facts.\"crash.signal.name\" = \"SIGABRT\"\n"),
        ),
        ("value of a fact", more("facts.\"crash.signal\" = 6\n")),
        ("context among facts", more("facts.\"environment.HOME\" = \"/root\"\n")),
        ("context", more("context.\"enviroment.HOME\" = \"/root\"\n")),
        (
            "context as a fact",
            more("facts.\"context.packges.torch\" = { matches = '^2' }\n"),
        ),
        ("frame", more("frames = [{ whose = \"mine\" }]\n")),
        ("member of a frame", more("frames = [{ functon = 'fit' }]\n")),
        (
            "name in the explanation",
            table_with("no seat.\"", "no seat for {user}.\""),
        ),
        ("confidence", table_with("0.9", "90")),
        ("confidence as a text", table_with("0.9", "\"high\"")),
        ("member of the page", good_with("severity = ", "severty = ")),
        ("word of the page", good_with("\"change-first\"", "\"change-frist\"")),
        ("link", good_with("(oom-example.md)", "(oom-exmple.md)")),
    ]
}

#[test]
fn a_mistyped_word_is_named_with_its_line_and_the_right_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut told = Vec::new();
    for (name, text) in broken() {
        let file = folder.path().join("oom-example.md");
        fs::write(&file, &text).unwrap();
        let read = Folder::read(folder.path(), &Catalog::default()).unwrap();
        assert!(read.pages.is_empty(), "{name} was taken: {text}");
        for fault in &read.faults {
            let line = text.lines().nth(fault.line - 1).unwrap_or_default();
            told.push(format!("{name}:\n  {}\n  {}: {line}", fault.message, fault.line));
        }
    }
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn what_is_right_is_taken() {
    for (name, text) in [
        ("a table", page(TABLE)),
        (
            "a line",
            page(
                "kind = \"line\"\ntext = 'licence (?<server>\\S+) said no'\nwhere.artifact = { matches = 'log$' }\nconfidence = 0.9\nexplanation = \"{server}\"\n",
            ),
        ),
        (
            "facts",
            more(
                "facts.\"memory_snapshots.0.reserved\" = { from = 5 }\nfacts.\"/crash/signal\" = \"SIGABRT\"\nfacts.\"history.earlier.0\" = { present = false }\n",
            ),
        ),
        (
            "context",
            more(
                "context.\"environment.A.B\" = \"1\"\ncontext.\"packages.ruamel.yaml\" = { matches = '^0' }\ncontext.\"team\" = \"vision\"\n",
            ),
        ),
        (
            "an entry of a list",
            more("with = [{ kind = \"device-assert\", where.\"block.0\" = 7 }]\n"),
        ),
    ] {
        assert_eq!(read_page("oom-example.md", &text).err(), None, "{name}");
    }
}

#[test]
fn a_page_that_is_left_out_takes_no_other_along() {
    let folder = tempfile::tempdir().unwrap();
    let id = |id: &str, text: &str| text.replacen("oom-example", id, 1);
    for (name, text) in [
        ("oom-example", table_with("python-exception", "pythn-exception")),
        ("oom-other", id("oom-other", GOOD)),
        (
            "oom-leads",
            id(
                "oom-leads",
                &good_with("tags", "leads_to = [{ cause = \"oom-example\", says = 'x' }]\ntags"),
            ),
        ),
    ] {
        fs::write(folder.path().join(name).with_extension("md"), text).unwrap();
    }
    let read = Folder::read(folder.path(), &Catalog::default()).unwrap();
    let pages: Vec<&str> = read.pages.iter().map(|page| page.cause.id.as_str()).collect();
    assert_eq!(pages, ["oom-leads", "oom-other"], "{:?}", read.faults);
    assert_eq!(read.faults.len(), 1);
    assert_eq!(read.faults[0].file, "oom-example.md");
}

/// They are checked when they are built for all but the words, which the evidence model has.
#[test]
fn our_tables_ask_for_what_there_is() {
    let words = Vocabulary::of_model();
    let mut tables = 0;
    for cause in Catalog::embedded().causes() {
        for (number, table) in cause.recognise.iter().enumerate() {
            let flaws: Vec<String> = words.flaws(table).iter().map(ToString::to_string).collect();
            assert!(
                flaws.is_empty(),
                "knowledge/causes/{}.md: recognise table {}: {flaws:?}",
                cause.id,
                number + 1
            );
            tables += 1;
        }
    }
    assert!(tables > 500, "{tables} tables");
}

#[test]
fn a_need_of_a_plugin_is_evidence_that_there_is() {
    let words = Vocabulary::of_model();
    for (need, flaw) in [
        ("text", None),
        ("memory-snapshots", None),
        ("event:cuda-oom", None),
        ("memory-snapshot", Some("did you mean `memory-snapshots`?")),
        ("memory_snapshots", Some("did you mean `memory-snapshots`?")),
        ("event:cuda-omo", Some("did you mean `event:cuda-oom`?")),
        ("cuda-oom", Some("did you mean `event:cuda-oom`?")),
        ("event:line", Some("")),
        ("weather", Some("there are `crash`, `threads`")),
    ] {
        let found = words.of_need(need);
        match flaw {
            None => assert_eq!(found, None, "{need}"),
            Some(flaw) => assert!(
                found.as_ref().is_some_and(|found| found.contains(flaw)),
                "{need}: {found:?}"
            ),
        }
    }
}
