//! Pages that people write beside ours: what is wrong with them, and what they would say.

use serde_json::Value;

use crate::support::{Home, errors};

/// A page that recognises one exception.
fn page(id: &str, more: &str) -> String {
    format!(
        "+++\nid = {id:?}\ntitle = \"The shard index is stale\"\nsummary = \"The job reads a list of shards that is too old.\"\n\
         severity = \"fatal\"\ndomain = \"data\"\nretry = {{ advice = \"change-first\", because = \"The list stays as it is.\" }}\n\
         tags = [\"shards\"]\nsigns = [\"StaleIndexError ends the job\"]\nreferences = [\"https://example.com/\"]\n\n\
         [[fixes]]\nsummary = \"Write the list anew\"\nsteps = [\"Run the indexer.\"]\n\n{more}+++\n\n## What happens\n\nIt.\n"
    )
}

const TABLE: &str = "[[recognise]]\nkind = \"python-exception\"\nwhere.exception = { matches = 'StaleIndexError$' }\n\
                     confidence = 0.93\nexplanation = \"The list of shards is older than the shards.\"\n\n";

const LOG: &str = "Traceback (most recent call last):\n  File \"train.py\", line 7, in <module>\n    index.open()\n\
                   shards.StaleIndexError: index 41, shards 44\n";

#[test]
fn a_folder_of_pages_is_checked_page_by_page() {
    let home = Home::new();
    home.file("pages/team-stale.md", page("team-stale", TABLE));
    home.file("pages/README.md", "For people.");
    let check = |expected: i32| {
        let output = home.whycrash(&["cause", "check", "pages"]).output().expect("it runs");
        assert_eq!(output.status.code(), Some(expected), "{}", errors(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let said = check(0);
    assert!(
        said.contains("ok  team-stale (1 recognise tables): The shard index is stale"),
        "{said}"
    );
    home.file("pages/oom-exhaustion.md", page("oom-exhaustion", ""));
    assert!(check(0).contains("oom-exhaustion (0 recognise tables, in the place of ours)"));
    home.file("pages/team-other.md", page("team-another", ""));
    home.file(
        "pages/team-broken.md",
        page("team-broken", &TABLE.replace("0.93", "9.3")),
    );
    let said = check(1);
    assert!(
        said.contains("pages/team-other.md:") && said.contains("pages/team-broken.md:"),
        "{said}"
    );
    assert!(said.contains("ok  team-stale"), "what is right is still told: {said}");
}

#[test]
fn a_page_is_tried_on_crashes() {
    let home = Home::new();
    home.file("team-stale.md", page("team-stale", TABLE));
    home.file("stale/train.log", LOG);
    home.file("other/train.log", "step 1 loss 2.9\n");
    let attempt = |page: &str, more: &[&str]| {
        let output = home
            .whycrash(&["cause", "try", page])
            .args(more)
            .output()
            .expect("it runs");
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stdout).into_owned(),
            errors(&output),
        )
    };
    let (status, said, _) = attempt("team-stale.md", &["stale", "other"]);
    assert_eq!(status, Some(0));
    assert!(
        said.contains("stale: place 1, ") && said.contains(": The list of shards is older"),
        "{said}"
    );
    assert!(
        said.contains("    train.log: shards.StaleIndexError: index 41, shards 44"),
        "the place that shows it: {said}"
    );
    assert!(said.contains("other: says nothing; first is nothing"), "{said}");
    let (_, json, _) = attempt("team-stale.md", &["stale", "--format", "json"]);
    let tried: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(
        (&tried[0]["first"], &tried[0]["place"]),
        (&"team-stale".into(), &1.into())
    );
    home.file("team-silent.md", page("team-silent", ""));
    let (status, _, said) = attempt("team-silent.md", &["stale"]);
    assert!(
        status == Some(1) && said.contains("has no [[recognise]] table"),
        "{said}"
    );
    home.file("team-bad.md", page("team-worse", TABLE));
    let (status, _, said) = attempt("team-bad.md", &["stale"]);
    assert!(status == Some(1) && said.contains("team-bad.md:"), "{said}");
}

#[test]
fn a_mistyped_word_is_named_with_file_line_and_the_right_one() {
    let home = Home::new();
    home.file("pages/team-stale.md", page("team-stale", TABLE));
    let typo = TABLE
        .replace("python-exception", "pythn-exception")
        .replace("where.exception", "where.exeption");
    home.file("pages/team-bad.md", page("team-bad", &typo));
    home.file("train.log", LOG);
    let run = |arguments: &[&str]| {
        let output = home.whycrash(arguments).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.code(), said, errors(&output))
    };
    let (status, said, _) = run(&["cause", "check", "pages"]);
    assert_eq!(status, Some(1), "{said}");
    let named =
        "pages/team-bad.md:17: `kind`: there is no kind of event `pythn-exception`; did you mean `python-exception`?";
    assert!(said.contains(named), "{said}");
    let (status, json, told) = run(&["diagnose", "--knowledge", "pages", "--format", "json", "train.log"]);
    assert_eq!(status, Some(0), "{told}");
    assert!(
        told.contains("warning: the page pages/team-bad.md is left out: line 17: ")
            && told.contains("`python-exception`"),
        "{told}"
    );
    let document: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(document["left_out"][0]["page"], "pages/team-bad.md");
    assert_eq!(
        (
            &document["findings"][0]["cause"],
            &document["findings"][0]["confidence"]
        ),
        (&"team-stale".into(), &0.93.into()),
        "the other page stands, and says how sure it is"
    );
    let (_, json, _) = run(&["doctor", "--knowledge", "pages", "--format", "json"]);
    let checks: Value = serde_json::from_str(&json).expect("JSON");
    let pages = checks
        .as_array()
        .expect("a list")
        .iter()
        .find(|check| check["name"] == "pages of causes");
    let pages = pages.expect("it looks at the pages");
    assert_eq!(pages["state"], "limited");
    assert!(
        pages["found"]
            .as_str()
            .is_some_and(|found| found.contains("pages/team-bad.md")),
        "{pages}"
    );
}

#[test]
fn why_a_page_says_nothing_is_told() {
    let home = Home::new();
    home.file("train.log", LOG);
    let why = |from: &str, to: &str| {
        home.file("team-stale.md", page("team-stale", &TABLE.replacen(from, to, 1)));
        let output = home
            .whycrash(&["cause", "try", "team-stale.md", "train.log"])
            .output()
            .expect("it runs");
        assert!(output.status.success(), "{}", errors(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    for (from, to, told) in [
        (
            "kind = \"python-exception\"\nwhere.exception = { matches = 'StaleIndexError$' }",
            "kind = \"cuda-oom\"\nwhere.backend = \"CUDA\"",
            "table 1: no event is of kind `cuda-oom`",
        ),
        (
            "StaleIndexError$",
            "StalledIndexError$",
            "`where.exception` asks for what matches 'StalledIndexError$'; there is \"shards.StaleIndexError\"",
        ),
        (
            "confidence",
            "facts.\"crash.signal\" = \"SIGABRT\"\nconfidence",
            "`facts.crash.signal` asks for \"SIGABRT\"; there is no value",
        ),
        (
            "confidence",
            "with = [{ kind = \"xid\", where.code = 79 }]\nconfidence",
            "`with` asks for xid event: code 79; there is \"0 of this kind",
        ),
        (
            "kind = \"python-exception\"\nwhere.exception = { matches = 'StaleIndexError$' }",
            "kind = \"line\"\ntext = 'no such words'",
            "table 1: no line matches its `text`",
        ),
    ] {
        let said = why(from, to);
        assert!(said.contains("train.log: says nothing"), "{said}");
        assert!(said.contains("there are these events: 1 python-exception"), "{said}");
        assert!(said.contains(told), "{said}");
    }
}

/// What a launcher prints when one of its workers was told to end: nothing but its own words says so.
#[test]
fn a_worker_that_was_told_to_end_is_named_by_the_launchers_words_alone() {
    const SAID: &str = "\
W1203 04:05:16.270000 812 torch/distributed/elastic/multiprocessing/api.py:1028] Sending process 901 closing signal SIGTERM
E1203 04:05:17.224000 812 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: -15) local_rank: 1 (pid: 902) of binary: /usr/bin/python3
torch.distributed.elastic.multiprocessing.errors.ChildFailedError: 
======================================================
train.py FAILED
------------------------------------------------------
Failures:
[1]:
  time      : 2026-12-03_04:05:17
  host      : node7
  rank      : 4 (local_rank: 0)
  exitcode  : -15 (pid: 901)  (SIGTERM)
  error_file: <N/A>
  traceback : Signal 15 (SIGTERM) received by PID 901
------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-12-03_04:05:16
  host      : node7
  rank      : 5 (local_rank: 1)
  exitcode  : -15 (pid: 902)  (SIGTERM)
  error_file: <N/A>
  traceback : Signal 15 (SIGTERM) received by PID 902
======================================================
";
    let home = Home::new();
    home.file("train.log", SAID);
    let output = home
        .whycrash(&["diagnose", "--format", "json", "train.log"])
        .output()
        .expect("it runs");
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let finding = &document["findings"][0];
    assert_eq!(finding["cause"], "op-terminated", "{document}");
    assert!(
        finding["explanation"]
            .as_str()
            .is_some_and(|why| why.contains("rank 1 of its machine")),
        "{finding}"
    );
}
