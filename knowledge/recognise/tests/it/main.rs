//! What tables match, and what their authors are told.

mod shown;

use serde_json::{Value, json};
use whycrash_recognise::{Framed, Happened, Rule, Surroundings, Table};

struct Report {
    events: Vec<Happened>,
    evidence: Value,
}

impl Surroundings for Report {
    fn context(&self, path: &str) -> Option<Value> {
        self.fact(&format!("context.{path}"))
    }

    fn fact(&self, path: &str) -> Option<Value> {
        self.evidence.pointer(&format!("/{}", path.replace('.', "/"))).cloned()
    }

    fn events(&self) -> &[Happened] {
        &self.events
    }

    fn stack(&self, _: &Happened) -> Vec<Framed> {
        stack()
    }
}

/// A stack of a library that the program called.
fn stack() -> Vec<Framed> {
    let frame = |whose: &str, function: &str, file: &str, line| Framed {
        world: "python".to_owned(),
        whose: whose.to_owned(),
        function: Some(function.to_owned()),
        file: Some(file.to_owned()),
        line: Some(line),
        module: None,
    };
    vec![
        frame("library", "adam", "/site-packages/torch/optim/adam.py", 311),
        frame("program", "fit", "/home/u/train.py", 40),
        frame("program", "<module>", "/home/u/train.py", 90),
    ]
}

fn event(kind: &str, detail: Value) -> Happened {
    Happened {
        kind: kind.to_owned(),
        text: detail["message"].as_str().unwrap_or_default().to_owned(),
        detail,
        artifact: "train.log".to_owned(),
        primary: true,
        ..Happened::default()
    }
}

fn table(text: &str) -> Table {
    toml::from_str(text).expect("the table can be read")
}

/// What a table says of the first event of a report.
fn said(table_text: &str, events: &[Happened]) -> Option<String> {
    let evidence = json!({"crash": {"signal": "SIGABRT"}, "context": {"environment": {"CUDA_LAUNCH_BLOCKING": "1"}}});
    let report = Report {
        events: events.to_vec(),
        evidence,
    };
    let rule = Rule::checked(&table(table_text)).expect("the table is sound");
    rule.matches(&report.events[0], &report).map(|found| found.explanation)
}

const SYMBOL: &str = r#"
kind = "python-exception"
where.exception = { one_of = ["ImportError", "OSError"] }
where.message = { matches = 'undefined symbol: (?<symbol>\w+)' }
confidence = 0.9
explanation = "`{symbol}` is missing ({exception})."
"#;

fn import_error() -> Happened {
    event(
        "python-exception",
        json!({"exception": "ImportError", "message": "a.so: undefined symbol: _ZN3c10"}),
    )
}

#[test]
fn what_matched_is_in_the_explanation() {
    assert_eq!(
        said(SYMBOL, &[import_error()]).as_deref(),
        Some("`_ZN3c10` is missing (ImportError).")
    );
}

#[test]
fn other_events_echoes_and_survived_ones_are_no_sign() {
    let other = event(
        "python-exception",
        json!({"exception": "ValueError", "message": "undefined symbol: a"}),
    );
    let echo = Happened {
        primary: false,
        ..import_error()
    };
    let survived = Happened {
        survived: true,
        ..import_error()
    };
    let kind = Happened {
        kind: "kernel".into(),
        ..import_error()
    };
    for event in [other, echo.clone(), survived, kind] {
        assert_eq!(said(SYMBOL, &[event]), None);
    }
    assert!(said(&format!("{SYMBOL}\nprimary = false"), &[echo]).is_some());
}

#[test]
fn tests_of_values_hold_or_do_not() {
    let xid = event(
        "xid",
        json!({"code": 79, "nvswitch": false, "process": null, "block": [0, 7]}),
    );
    let holds = [
        ("where.code = 79", true),
        ("where.code = 78", false),
        ("where.code = { from = 79, to = 80 }", true),
        ("where.code = { to = 78 }", false),
        ("where.code = { matches = '^7' }", true),
        ("where.nvswitch = false", true),
        ("where.nvswitch = true", false),
        ("where.process = { present = false }", true),
        ("where.process = { present = true }", false),
        ("where.absent = { present = false }", true),
        ("where.absent = { one_of = [\"a\"] }", false),
        ("where.'block.1' = 7", true),
        ("where.code = { one_of = [1, \"79\"] }", false),
        ("where.code = { none_of = [79, 94] }", false),
        ("where.code = { none_of = [94] }", true),
        ("where.code = { lacks = '^7' }", false),
        ("where.code = { lacks = '^8' }", true),
        ("where.absent = { lacks = '^8' }", false),
    ];
    for (test, expected) in holds {
        let text = format!("kind = \"xid\"\nconfidence = 1\nexplanation = \"x\"\n{test}");
        assert_eq!(said(&text, std::slice::from_ref(&xid)).is_some(), expected, "{test}");
    }
}

#[test]
fn the_rest_of_the_report_can_be_asked_for_and_excluded() {
    let assertion = event("device-assert", json!({"expression": "t >= 0"}));
    let error = event("cuda-error", json!({"code": 710}));
    let asked = [
        (
            "[[with]]\nkind = \"device-assert\"\nwhere.expression = { present = true }",
            true,
        ),
        ("[[with]]\nkind = \"xid\"", false),
        ("[[without]]\nkind = \"device-assert\"", false),
        ("[[without]]\nkind = \"xid\"", true),
        ("[context]\n\"environment.CUDA_LAUNCH_BLOCKING\" = \"1\"", true),
        ("[context]\n\"environment.CUDA_LAUNCH_BLOCKING\" = \"0\"", false),
        ("[facts]\n\"crash.signal\" = \"SIGABRT\"", true),
        ("[facts]\n\"crash.signal\" = { present = false }", false),
    ];
    for (members, expected) in asked {
        let text = format!("kind = \"cuda-error\"\nconfidence = 1\nexplanation = \"x\"\nwhere.code = 710\n{members}");
        assert_eq!(
            said(&text, &[error.clone(), assertion.clone()]).is_some(),
            expected,
            "{members}"
        );
    }
}

#[test]
fn authors_are_told_what_to_change() {
    let flaws = [
        (
            "where.message = { matches = '(' }",
            "`where.message`: the pattern is not understood",
        ),
        (
            "where.message = { matches = '(?=a)' }",
            "`where.message`: the pattern is not understood",
        ),
        ("where.message = {}", "`where.message`: the test is empty"),
        ("text = '['", "`text`: the pattern is not understood"),
        ("", "`kind`: a kind alone proves no cause"),
    ];
    for (members, expected) in flaws {
        let text = format!("kind = \"xid\"\nconfidence = 1\nexplanation = \"x\"\n{members}");
        let flaw = Rule::checked(&table(&text)).expect_err(members).to_string();
        assert!(flaw.starts_with(expected), "{members}: {flaw}");
    }
    for (explanation, expected) in [
        ("{who}", "nothing in the table gives `{who}` a value"),
        ("{", "a `{` is not closed"),
        (" ", "it is empty"),
    ] {
        let text = format!("kind = \"xid\"\nconfidence = 1\nwhere.code = 79\nexplanation = \"{explanation}\"");
        let flaw = Rule::checked(&table(&text)).expect_err(explanation).to_string();
        assert!(flaw.contains(expected), "{explanation}: {flaw}");
    }
    let unknown = toml::from_str::<Table>("kind = \"xid\"\nconfidence = 1\nexplanation = \"x\"\nwher.code = 79");
    assert!(
        unknown
            .expect_err("a typing mistake")
            .message()
            .contains("unknown field `wher`")
    );
}

#[test]
fn a_table_may_ask_for_frames_and_quote_the_first_of_them() {
    let text = |frames: &str| {
        format!(
            "kind = \"python-exception\"\nwhere.exception = \"ImportError\"\nconfidence = 1\n\
             explanation = \"{{frame.function}} at {{frame.file}}:{{frame.line}}\"\n{frames}"
        )
    };
    let own = said(
        &text("frames = [{ whose = \"program\", world = \"python\" }]"),
        &[import_error()],
    );
    assert_eq!(own.as_deref(), Some("fit at train.py:40"));
    let sought = [
        ("frames = [{ function = 'adam', file = 'torch/optim' }]", true),
        ("frames = [{ function = 'adam', whose = \"program\" }]", false),
        ("frames = [{ whose = \"program\", within = 1 }]", false),
        ("frames = [{ world = \"native\" }]", false),
        ("frames = [{ module = 'libtorch' }]", false),
        ("frames = [{ function = 'fit' }, { function = 'adam' }]", true),
        (
            "frames = [{ function = 'fit' }]\nwithout_frames = [{ file = 'torch/optim' }]",
            false,
        ),
        (
            "frames = [{ function = 'fit' }]\nwithout_frames = [{ file = 'torch/nn' }]",
            true,
        ),
    ];
    for (frames, expected) in sought {
        assert_eq!(said(&text(frames), &[import_error()]).is_some(), expected, "{frames}");
    }
}

#[test]
fn frames_that_can_not_be_are_refused() {
    let flaw = |frames: &str| {
        let text = format!("kind = \"xid\"\nwhere.code = 79\nconfidence = 1\nexplanation = \"x\"\n{frames}");
        Rule::checked(&table(&text)).expect_err(frames).to_string()
    };
    assert!(flaw("frames = [{ whose = \"mine\" }]").contains("program, library, machinery"));
    assert!(flaw("frames = [{}]").contains("the frame is empty"));
    assert!(flaw("frames = [{ function = '(' }]").contains("frames.function"));
}
