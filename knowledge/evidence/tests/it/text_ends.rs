//! How the text of a program ends, and what tracebacks quote of the program.

use serde_json::Map;
use whycrash_evidence::model::{EndSign, Place};
use whycrash_evidence::{Evidence, Limits, code_line, merge, read, title};

use crate::support::artifact;

fn evidence(name: &str, text: &str) -> Evidence {
    let (artifact, _keep) = artifact(name, text.as_bytes());
    merge(vec![read(&artifact, &Limits::default()).evidence], Map::new())
}

#[test]
fn the_last_lines_show_how_a_run_ended_or_that_there_was_none() {
    let cases = [
        (
            "step 1 loss 2.0\nstep 2 loss 1.9\nTraining finished.\n",
            EndSign::Finished,
            3,
        ),
        (
            "tests/a.py ....\n===== 4 passed in 0.12s =====\n",
            EndSign::TestsPassed,
            2,
        ),
        (
            "2026-01-02 03:04:05 INFO job exited with code 0\n",
            EndSign::ExitZero,
            1,
        ),
        (
            "loading\nstep 1 loss 2.0\nstep 2 loss 1.9\nsaving\n",
            EndSign::Progress,
            3,
        ),
        (
            "2026-01-02 03:04:05 INFO ready\n2026-01-02 03:04:06 INFO serving\n",
            EndSign::LogLines,
            2,
        ),
        ("[rank0]: ready\n[rank1]: ready\n", EndSign::LogLines, 2),
        ("name,age\nann,33\nbob,44\n", EndSign::None, 0),
        ("remember to buy milk\nand to call home\n", EndSign::None, 0),
        ("{\n  \"lr\": 0.001,\n  \"layers\": 12\n}\n", EndSign::None, 0),
    ];
    for (text, sign, line) in cases {
        let ends = evidence("job.log", text).text_ends;
        let end = ends.first().unwrap_or_else(|| panic!("no end of {text:?}"));
        assert_eq!((end.artifact.as_str(), end.sign), ("job.log", sign), "{text:?}");
        assert_eq!(end.lines, text.lines().count() as u64, "{text:?}");
        let at = (line > 0).then_some(Place::Line([line, line]));
        assert_eq!(end.at, at, "{text:?}");
        assert_eq!(end.text.is_empty(), line == 0, "{text:?}");
    }
    assert!(
        evidence("train.py", "print('step 1 loss 2.0')\n").text_ends.is_empty(),
        "a document is of no run"
    );
}

#[test]
fn the_best_signs_of_many_texts_are_kept() {
    let texts = (0..200).map(|number| match number {
        150 => "step 1 loss 2.0\nTraining finished.\n",
        _ => "milk\n",
    });
    let readings = texts.enumerate().map(|(number, text)| {
        let (artifact, _keep) = artifact(&format!("{number}.log"), text.as_bytes());
        read(&artifact, &Limits::default()).evidence
    });
    let ends = merge(readings.collect(), Map::new()).text_ends;
    assert_eq!(ends.len(), 64);
    assert_eq!(
        (ends[0].artifact.as_str(), ends[0].sign),
        ("150.log", EndSign::Finished)
    );
}

#[test]
fn the_programs_own_line_is_told_with_its_text() {
    let library = "  File \"/venv/lib/python3.12/site-packages/torch/nn/linear.py\", line 125, in forward\n    return F.linear(x)\n";
    let cases = [
        (
            format!(
                "Traceback (most recent call last):\n  File \"/job/train.py\", line 40, in <module>\n    main()\n  File \
                 \"/job/model.py\", line 88, in forward\n    return self.head(x)\n           ^^^^^^^^^^^^\n{library}RuntimeError: no\n"
            ),
            Some(("/job/model.py", 88, Some("return self.head(x)"))),
            "RuntimeError in model.py:88: no",
        ),
        (
            "Traceback (most recent call last):\n  File \"/job/train.py\", line 4, in check\n    assert len(batch) == 8\nAssertionError\n".to_owned(),
            Some(("/job/train.py", 4, Some("assert len(batch) == 8"))),
            "AssertionError in train.py:4: assert len(batch) == 8",
        ),
        (
            format!("Traceback (most recent call last):\n  File \"/opt/bin/torchrun\", line 8, in <module>\n    sys.exit(main())\n{library}RuntimeError: no\n"),
            None,
            "RuntimeError: no",
        ),
        (
            "Traceback (most recent call last):\n  File \"<string>\", line 1, in <module>\nValueError: no\n".to_owned(),
            Some(("<string>", 1, None)),
            "ValueError in <string>:1: no",
        ),
        (
            "Traceback (most recent call last):\n  File \"C:\\job\\train.py\", line 7, in <module>\n    go()\n  File \
             \"C:\\Python312\\Lib\\json\\decoder.py\", line 2, in f\n    x()\n  File \
             \"C:\\venv\\Lib\\site-packages\\lab\\io.py\", line 3, in g\n    y()\nValueError: no\n"
                .to_owned(),
            Some(("C:\\job\\train.py", 7, Some("go()"))),
            "ValueError in train.py:7: no",
        ),
    ];
    for (text, expected, known_as) in cases {
        let evidence = evidence("job.log", &text);
        let line = code_line(&evidence, &[], &[]);
        let told = line
            .as_ref()
            .map(|line| (line.file.as_str(), line.line, line.source.as_deref()));
        assert_eq!(told, expected, "{text}");
        assert_eq!(title(&evidence), known_as, "{text}");
    }
}

#[test]
fn titles_are_no_raw_lines_of_a_log() {
    let cases = [
        (
            "step 129 | loss 2.1\nstep 130 | loss nan | lr 3.0e-04\n",
            "the loss became nan at step 130",
        ),
        (
            "working\n2026-01-02 03:04:05 ERROR - [core] could not write the manifest\n",
            "ended with the error: could not write the manifest",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(title(&evidence("job.log", text)), expected, "{text}");
    }
}
