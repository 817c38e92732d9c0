//! Notebooks as files: what their cells printed and raised, and where.

use serde_json::{Value, json};
use whycrash_evidence::model::{EventPayload, Place};
use whycrash_evidence::readers::{Lines, Reading};
use whycrash_evidence::{ArtifactKind, Limits, read};

use crate::support::{artifact, exceptions};

/// A code cell that ran, or none did where its number is 0.
fn code(ran: u64, source: &str, outputs: &[Value]) -> Value {
    let ran = if ran == 0 { Value::Null } else { json!(ran) };
    json!({"cell_type": "code", "execution_count": ran, "metadata": {}, "source": source, "outputs": outputs})
}

fn stream(name: &str, text: &str) -> Value {
    json!({"output_type": "stream", "name": name, "text": text})
}

fn error(name: &str, message: &str, traceback: &[&str]) -> Value {
    json!({"output_type": "error", "ename": name, "evalue": message, "traceback": traceback})
}

fn notebook(cells: &[Value]) -> Value {
    json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
}

/// What is read of it, and its lines.
fn read_notebook(document: &Value) -> (Reading, Vec<String>) {
    let (artifact, _keep) = artifact("train.ipynb", document.to_string().as_bytes());
    let limits = Limits::default();
    let lines = Lines::open(&artifact, &limits).expect("lines");
    (read(&artifact, &limits), lines.range(1, lines.count()).expect("lines"))
}

/// The colours are those that IPython sets.
const TRACEBACK: [&str; 5] = [
    "\u{1b}[31m---------------------------------------------------------------------------\u{1b}[39m",
    "\u{1b}[31mKeyError\u{1b}[39m                                  Traceback (most recent call last)",
    "\u{1b}[36mCell\u{1b}[39m\u{1b}[36m \u{1b}[39m\u{1b}[32mIn[3]\u{1b}[39m\u{1b}[32m, line 2\u{1b}[39m\n\u{1b}[32m      1\u{1b}[39m cfg = {}\n\u{1b}[32m----> \u{1b}[39m\u{1b}[32m2\u{1b}[39m model = build(cfg)\n",
    "\u{1b}[36mCell\u{1b}[39m\u{1b}[36m \u{1b}[39m\u{1b}[32mIn[2]\u{1b}[39m\u{1b}[32m, line 3\u{1b}[39m, in \u{1b}[36mbuild\u{1b}[39m\u{1b}[34m(cfg)\u{1b}[39m\n\u{1b}[32m      1\u{1b}[39m def build(cfg):\n\u{1b}[32m----> \u{1b}[39m\u{1b}[32m3\u{1b}[39m     return cfg['hidden']\n",
    "\u{1b}[31mKeyError\u{1b}[39m: 'hidden'",
];

fn with_key_error() -> Value {
    notebook(&[
        json!({"cell_type": "markdown", "metadata": {}, "source": ["RuntimeError: CUDA error: out of memory\n"]}),
        code(1, "import torch", &[]),
        code(
            2,
            "def build(cfg):\n    # raise RuntimeError('CUDA error')\n    return cfg['hidden']",
            &[],
        ),
        code(
            3,
            "cfg = {}\nmodel = build(cfg)",
            &[
                stream("stdout", "building\n"),
                error("KeyError", "'hidden'", &TRACEBACK),
            ],
        ),
        code(0, "print(1)", &[]),
    ])
}

#[test]
fn a_failed_cell_is_read_as_the_text_that_people_see() {
    let (reading, lines) = read_notebook(&with_key_error());
    assert_eq!(reading.kind, Some(ArtifactKind::Notebook));
    let [raised] = exceptions(&reading.evidence)[..] else {
        panic!("{:#?}", reading.evidence.timeline)
    };
    assert_eq!((&*raised.exception, &*raised.message), ("KeyError", "'hidden'"));
    let [event] = &reading.evidence.timeline[..] else {
        panic!("{:#?}", reading.evidence.timeline)
    };
    let Some(Place::Line([first, last])) = event.at else {
        panic!("{event:#?}")
    };
    let cited = &lines[first as usize - 1..last as usize];
    assert_eq!(
        cited[0],
        "KeyError                                  Traceback (most recent call last)"
    );
    assert_eq!(cited.last().unwrap(), "KeyError: 'hidden'");
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn sections_name_the_cells_that_lines_are_in() {
    let (reading, lines) = read_notebook(&with_key_error());
    let names: Vec<_> = reading
        .sections
        .iter()
        .map(|section| (section.name.as_str(), lines[section.line as usize - 1].as_str()))
        .collect();
    assert_eq!(
        names,
        [
            ("cell 2, In [1]", "# %% cell 2, In [1]"),
            ("cell 3, In [2]", "# %% cell 3, In [2]"),
            ("cell 4, In [3]", "# %% cell 4, In [3]"),
            ("cell 5", "# %% cell 5"),
        ]
    );
}

#[test]
fn frames_have_the_cells_they_are_in() {
    let (reading, _) = read_notebook(&with_key_error());
    let frames: Vec<_> = reading.evidence.threads[0]
        .frames
        .iter()
        .map(|frame| (frame.function.as_deref(), frame.file.as_deref(), frame.line))
        .collect();
    assert_eq!(
        frames,
        [
            (Some("build"), Some("Cell In[2]"), Some(3)),
            (Some("<module>"), Some("Cell In[3]"), Some(2)),
        ]
    );
}

#[test]
fn cells_are_read_in_the_order_in_which_they_ran() {
    let document = notebook(&[
        code(4, "b()", &[error("RuntimeError", "second", &[])]),
        code(2, "a()", &[error("RuntimeError", "first", &[])]),
    ]);
    let (reading, lines) = read_notebook(&document);
    let messages: Vec<_> = exceptions(&reading.evidence)
        .iter()
        .map(|raised| raised.message.as_str())
        .collect();
    assert_eq!(messages, ["first", "second"]);
    assert_eq!(lines[0], "# %% cell 2, In [2]");
}

#[test]
fn what_a_cell_ran_as_a_command_is_read_as_well() {
    let printed = "Traceback (most recent call last):\r\n  File \"train.py\", line 3, in <module>\r\n    main()\r\nRuntimeError: CUDA error: an illegal memory access was encountered\r\n";
    let (reading, lines) = read_notebook(&notebook(&[code(1, "!python train.py", &[stream("stdout", printed)])]));
    let raised = exceptions(&reading.evidence);
    assert_eq!(raised[0].exception, "RuntimeError");
    assert!(lines.contains(&"  File \"train.py\", line 3, in <module>".to_owned()));
}

#[test]
fn notebooks_of_format_3_are_read() {
    let cell = json!({"cell_type": "code", "prompt_number": 7, "input": ["x = 1/0"], "outputs": [
        {"output_type": "stream", "stream": "stderr", "text": ["careful\n"]},
        {"output_type": "pyerr", "ename": "ZeroDivisionError", "evalue": "division by zero", "traceback": []},
    ]});
    let document = json!({"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": [{"cells": [cell]}]});
    let (reading, lines) = read_notebook(&document);
    assert_eq!(exceptions(&reading.evidence)[0].exception, "ZeroDivisionError");
    assert_eq!(
        lines,
        [
            "# %% cell 1, In [7]",
            "x = 1/0",
            "# %% stderr",
            "careful",
            "",
            "# %% error",
            "ZeroDivisionError: division by zero",
            ""
        ]
    );
}

#[test]
fn what_is_expected_shown_or_written_did_not_happen() {
    let expected = json!({"cell_type": "code", "execution_count": 1, "metadata": {"tags": ["raises-exception"]},
        "source": "1/0", "outputs": [error("ZeroDivisionError", "division by zero", &[])]});
    let result =
        json!({"output_type": "execute_result", "data": {"text/plain": ["RuntimeError: CUDA error: out of memory"]}});
    let quoting = code(2, "raise RuntimeError('CUDA error: out of memory')", &[result]);
    let (reading, _) = read_notebook(&notebook(&[
        expected,
        quoting,
        code(3, "2", &[stream("stdout", "step 3 loss 0.1\n")]),
    ]));
    assert!(reading.evidence.timeline.is_empty(), "{:#?}", reading.evidence.timeline);
}

#[test]
fn a_kernel_that_died_is_a_failure() {
    let began = json!({"cell_type": "code", "execution_count": 1, "metadata": {"execution": {"iopub.status.busy": "2026-11-29T12:30:05Z"}},
        "source": "os.abort()", "outputs": [stream("stderr", "going down\n")]});
    let told = error(
        "",
        "",
        &["\u{1b}[1;31mThe Kernel crashed while executing code in the current cell or a previous cell. "],
    );
    for (document, words) in [
        (
            notebook(&[began]),
            "cell 1, In [1] began and never ended: its kernel died, or the notebook was saved while it ran",
        ),
        (
            notebook(&[code(1, "os.abort()", &[told])]),
            "The Kernel crashed while executing code in the current cell or a previous cell.",
        ),
    ] {
        let (reading, lines) = read_notebook(&document);
        let [event] = &reading.evidence.timeline[..] else {
            panic!("{:#?}", reading.evidence.timeline)
        };
        assert!(
            matches!(&event.payload, EventPayload::LastWords(said) if said.message == words),
            "{event:#?}"
        );
        assert!(event.primary);
        let Some(Place::Line([line, _])) = event.at else {
            panic!("{event:#?}")
        };
        assert!(lines[line as usize - 1].contains(words), "{lines:#?}");
    }
}

#[test]
fn a_notebook_that_is_cut_is_damaged() {
    let whole = with_key_error().to_string();
    let (artifact, _keep) = artifact("train.ipynb", &whole.as_bytes()[..whole.len() / 2]);
    let reading = read(&artifact, &Limits::default());
    let codes: Vec<_> = reading.problems.iter().map(|problem| problem.code.as_str()).collect();
    assert_eq!((reading.kind, codes), (Some(ArtifactKind::Notebook), vec!["damaged"]));
}

#[test]
fn odd_members_are_passed_over() {
    for document in [
        json!({"cells": 3, "cell_type": 1, "nbformat": 4}),
        json!({"cells": [1, null, "x", {"cell_type": 7}], "nbformat": 4}),
        json!({"cells": [{"cell_type": "code", "outputs": [3, {"output_type": "error"}, {"output_type": "stream"}], "source": 5}], "nbformat": 4}),
        json!({"worksheets": {"cells": []}, "nbformat": "3"}),
    ] {
        let (reading, lines) = read_notebook(&document);
        assert_eq!(reading.kind, Some(ArtifactKind::Notebook), "{document}");
        for event in &reading.evidence.timeline {
            let Some(Place::Line([first, last])) = event.at else {
                panic!("{event:#?}")
            };
            assert!(
                1 <= first && first <= last && last <= lines.len() as u64,
                "{document}: {event:#?}"
            );
        }
    }
}

#[test]
fn a_text_of_too_many_lines_is_cut_and_says_so() {
    let limits = Limits {
        resident_bytes: 4_000,
        ..Limits::default()
    };
    let cells: Vec<Value> = (1..100)
        .map(|ran| code(ran, "x", &[stream("stdout", "\n\n\n\nlines\n"), error("E", "m", &[])]))
        .collect();
    let (artifact, _keep) = artifact("train.ipynb", notebook(&cells).to_string().as_bytes());
    let reading = read(&artifact, &limits);
    let count = Lines::open(&artifact, &limits).expect("lines").count();
    assert!(
        reading
            .problems
            .iter()
            .any(|problem| problem.code == "limit-text-bytes")
    );
    for event in &reading.evidence.timeline {
        assert!(
            matches!(event.at, Some(Place::Line([_, last])) if last <= count),
            "{event:#?}"
        );
    }
}
