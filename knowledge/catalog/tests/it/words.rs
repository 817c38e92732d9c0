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

/// Pages with one mistake each: what it is, the page, how its line begins, and what is said.
fn broken() -> Vec<(&'static str, String, &'static str, &'static str)> {
    let of_table = |name, from: &str, to: &str, line, said| (name, table_with(from, to), line, said);
    let with = |name, members: &str, line, said| (name, more(members), line, said);
    let whole = |name, from: &str, to: &str, line, said| (name, good_with(from, to), line, said);
    vec![
        of_table(
            "kind",
            "python-exception",
            "pythn-exception",
            "kind",
            "did you mean `python-exception`?",
        ),
        of_table(
            "spelling",
            "python-exception",
            "PythonException",
            "kind",
            "did you mean `python-exception`?",
        ),
        of_table(
            "no such kind",
            "python-exception",
            "weather",
            "kind",
            "there are `autograd`, ",
        ),
        of_table(
            "particular",
            "where.message",
            "where.mesage",
            "where.mesage",
            "did you mean `message`?",
        ),
        of_table(
            "of another kind",
            "where.message",
            "where.sticky",
            "where.sticky",
            "no particular `sticky`; there are ",
        ),
        of_table(
            "message of a line",
            "\"python-exception\"\nwhere.exception = \"LicenceError\"",
            "\"line\"\ntext = 'licence'",
            "where.message",
            "held against `text`",
        ),
        of_table(
            "line without a text",
            "\"python-exception\"",
            "\"line\"",
            "kind",
            "found by its `text`",
        ),
        (
            "line without words",
            page("kind = \"line\"\ntext = '\\d+'\nconfidence = 0.9\nexplanation = \"x\"\n"),
            "text",
            "a line is found by its words",
        ),
        of_table(
            "member of the table",
            "where.message",
            "wher.message",
            "wher.message",
            "did you mean `where`?",
        ),
        of_table(
            "member of a test",
            "matches",
            "macthes",
            "where.message",
            "did you mean `matches`?",
        ),
        of_table(
            "pattern",
            "'no seat'",
            "'no (seat'",
            "where.message",
            "the pattern is not understood",
        ),
        of_table(
            "look-around",
            "'no seat'",
            "'(?=no seat)'",
            "where.message",
            "the pattern is not understood",
        ),
        of_table(
            "large pattern",
            "'no seat'",
            "'(?:\\w{1,200}){1,200}x'",
            "where.message",
            "not understood",
        ),
        of_table(
            "number for a text",
            "\"LicenceError\"",
            "5",
            "where.exception",
            "it is a text, and 5 is a number",
        ),
        with(
            "text for a number",
            "with = [{ kind = \"xid\", where.code = \"79\" }]\n",
            "with",
            "it is a number, and \"79\" is a text",
        ),
        of_table(
            "range of a text",
            "{ matches = 'no seat' }",
            "{ from = 5 }",
            "where.message",
            "it is a text, and 5 is a number",
        ),
        with(
            "empty range",
            "with = [{ kind = \"xid\", where.code = { from = 9, to = 5 } }]\n",
            "with",
            "no number is in the range",
        ),
        with(
            "list for a value",
            "with = [{ kind = \"device-assert\", where.block = 7 }]\n",
            "with",
            "it is a list",
        ),
        with(
            "kind in with",
            "with = [{ kind = \"xids\", where.code = 79 }]\n",
            "with",
            "did you mean `xid`?",
        ),
        with(
            "the second of without",
            "[[recognise.without]]\nkind = \"xid\"\n[[recognise.without]]\nkind = \"xid\"\nwhere.cod = 79\n",
            "where.cod",
            "did you mean `code`?",
        ),
        with(
            "with that is no list",
            "with = \"xid\"\n",
            "with",
            "expected a sequence",
        ),
        with(
            "fact",
            "facts.\"lines\" = { present = true }\n",
            "facts",
            "there is no fact `lines`; there are ",
        ),
        with(
            "fact with a typo",
            "facts.\"crsh.signal\" = \"SIGABRT\"\n",
            "facts",
            "did you mean `crash`?",
        ),
        with(
            "fact further down",
            "facts.\"crash.signl\" = \"SIGABRT\"\n",
            "facts",
            "did you mean `signal`?",
        ),
        with(
            "fact in a list",
            "facts.\"memory_snapshots.reserved\" = { from = 5 }\n",
            "facts",
            "such as `memory_snapshots.0.reserved`",
        ),
        with(
            "fact behind a text",
            "facts.\"crash.signal.name\" = \"SIGABRT\"\n",
            "facts",
            "`crash.signal` is a text, and has no `name`",
        ),
        with(
            "value of a fact",
            "facts.\"crash.signal\" = 6\n",
            "facts",
            "it is a text, and 6 is a number",
        ),
        with(
            "context among facts",
            "facts.\"environment.HOME\" = \"/root\"\n",
            "facts",
            "as `context.environment.HOME`",
        ),
        with(
            "context",
            "context.\"enviroment.HOME\" = \"/root\"\n",
            "context",
            "did you mean `environment`?",
        ),
        with(
            "context as a fact",
            "facts.\"context.packges.torch\" = { matches = '^2' }\n",
            "facts",
            "did you mean `packages`?",
        ),
        with(
            "frame",
            "frames = [{ whose = \"mine\" }]\n",
            "frames",
            "program, library, machinery",
        ),
        with(
            "member of a frame",
            "frames = [{ functon = 'fit' }]\n",
            "frames",
            "did you mean `function`?",
        ),
        of_table(
            "name in a text",
            "no seat.\"",
            "no seat for {user}.\"",
            "explanation",
            "nothing in the table gives `{user}` a value",
        ),
        of_table("confidence", "0.9", "90", "confidence", "from 0 to 1"),
        of_table("confidence as a text", "0.9", "\"high\"", "confidence", "expected f64"),
        whole(
            "member of the page",
            "severity = ",
            "severty = ",
            "severty",
            "did you mean `severity`?",
        ),
        whole(
            "word of the page",
            "\"change-first\"",
            "\"change-frist\"",
            "retry",
            "did you mean `change-first`?",
        ),
        whole(
            "link",
            "(oom-example.md)",
            "(oom-exmple.md)",
            "Prose",
            "did you mean `oom-example`?",
        ),
    ]
}

#[test]
fn a_mistyped_word_is_named_with_its_line_and_the_right_one() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text, line, said) in broken() {
        fs::write(folder.path().join("oom-example.md"), &text).unwrap();
        let read = Folder::read(folder.path(), &Catalog::default()).unwrap();
        assert!(read.pages.is_empty(), "{name} was taken: {text}");
        let [fault] = read.faults.as_slice() else {
            panic!("{name}: {:?}", read.faults);
        };
        let at = text.lines().nth(fault.line - 1).unwrap_or_default();
        assert!(at.starts_with(line), "{name}: line {} is {at:?}: {fault}", fault.line);
        assert!(fault.message.contains(said), "{name}: {fault}");
    }
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
