//! What a report comes to, as a function of what was found.

use whycrash_evidence::model::{
    EndSign, Event, EventPayload, Frame, FrameKind, LastWords, Place, ProcessExit, PythonException, TextEnd, Thread,
    ThreadId,
};
use whycrash_evidence::{ArtifactKind, Evidence, Problem, Signature};
use whycrash_plugin_host::{ArtifactHead, Citation, Finding, Outcome, PluginRun, ReportHead, Verdict, VerdictKind};

fn artifact(name: &str, kind: ArtifactKind, problem: Option<&str>) -> ArtifactHead {
    ArtifactHead {
        name: name.to_owned(),
        kind,
        bytes: 7,
        sha256: String::new(),
        problems: problem
            .map(|code| Problem::new(code, "what is wrong with it; what to do"))
            .into_iter()
            .collect(),
        archive: None,
        sections: Vec::new(),
    }
}

fn head(artifacts: Vec<ArtifactHead>, failed: bool) -> ReportHead {
    ReportHead {
        artifacts,
        signature: Signature {
            key: if failed { "5eed".to_owned() } else { String::new() },
            ..Signature::default()
        },
        ..ReportHead::default()
    }
}

fn log() -> ArtifactHead {
    artifact("train.log", ArtifactKind::Log, None)
}

fn ending(sign: EndSign) -> Evidence {
    let end = TextEnd {
        artifact: "train.log".to_owned(),
        lines: 1812,
        sign,
        at: Some(Place::Line([1810, 1810])),
        text: "Training completed".to_owned(),
    };
    Evidence {
        text_ends: vec![end],
        ..Evidence::default()
    }
}

fn verdict(head: &ReportHead, evidence: &Evidence) -> Verdict {
    Verdict::of(head, evidence, &[], &[ran(Outcome::Ok)])
}

fn ran(outcome: Outcome) -> PluginRun {
    PluginRun {
        name: "native-crash".to_owned(),
        version: "1.0.0".to_owned(),
        outcome,
        reason: None,
        fuel: 1,
        millis: None,
        memory: 0,
        log: Vec::new(),
    }
}

#[test]
fn that_nothing_failed_has_to_be_earned() {
    use VerdictKind::{NothingFailed, Unreadable};
    let of = |artifacts: Vec<ArtifactHead>, evidence: Evidence| verdict(&head(artifacts, false), &evidence).kind;
    let empty = || artifact("err.log", ArtifactKind::Empty, Some("empty"));
    let unknown = || artifact("x.bin", ArtifactKind::Unknown, Some("unknown-format"));
    let snapshot = |problem| artifact("snap.pickle", ArtifactKind::MemorySnapshot, problem);
    let cases = [
        (
            "the run ended well",
            vec![log()],
            ending(EndSign::Finished),
            NothingFailed,
        ),
        ("the run goes on", vec![log()], ending(EndSign::Progress), NothingFailed),
        ("lines of a log", vec![log()], ending(EndSign::LogLines), NothingFailed),
        ("no sign of a run", vec![log()], ending(EndSign::None), Unreadable),
        (
            "a document",
            vec![artifact("a.py", ArtifactKind::Log, Some("document"))],
            Evidence::default(),
            Unreadable,
        ),
        (
            "an empty file beside a good end",
            vec![log(), empty()],
            ending(EndSign::ExitZero),
            NothingFailed,
        ),
        (
            "an empty file beside no end",
            vec![log(), empty()],
            ending(EndSign::Progress),
            Unreadable,
        ),
        (
            "an unknown file beside a good end",
            vec![log(), unknown()],
            ending(EndSign::Finished),
            Unreadable,
        ),
        (
            "nothing but an unknown file",
            vec![unknown()],
            Evidence::default(),
            Unreadable,
        ),
        (
            "a snapshot without a refusal",
            vec![snapshot(None)],
            Evidence::default(),
            NothingFailed,
        ),
        (
            "a snapshot that was cut",
            vec![snapshot(Some("truncated"))],
            Evidence::default(),
            Unreadable,
        ),
        (
            "a snapshot with more events than are kept",
            vec![snapshot(Some("limit-events"))],
            Evidence::default(),
            NothingFailed,
        ),
        (
            "a core that was cut before it told anything",
            vec![artifact("core", ArtifactKind::ElfCore, Some("not-a-core"))],
            Evidence::default(),
            Unreadable,
        ),
        ("nothing at all", vec![], Evidence::default(), Unreadable),
    ];
    for (what, artifacts, evidence, expected) in cases {
        assert_eq!(of(artifacts, evidence), expected, "{what}");
    }
}

#[test]
fn words_of_failure_are_no_failure_and_no_good_end_either() {
    let words = LastWords {
        family: LastWords::COMPLAINT.to_owned(),
        message: "could not write the manifest".to_owned(),
    };
    let line = Event {
        primary: false,
        artifact: "train.log".to_owned(),
        at: Some(Place::Line([1811, 1811])),
        ..Event::new(EventPayload::LastWords(words))
    };
    let with = |sign| Evidence {
        timeline: vec![line.clone()],
        ..ending(sign)
    };
    let head = head(vec![log()], false);
    assert_eq!(
        verdict(&head, &with(EndSign::Finished)).kind,
        VerdictKind::NothingFailed
    );
    let perhaps = verdict(&head, &with(EndSign::LogLines));
    assert_eq!(perhaps.kind, VerdictKind::UnknownFailure);
    assert!(
        perhaps
            .why
            .starts_with("It is not certain that something failed: line 1811 of train.log"),
        "{}",
        perhaps.why
    );
}

#[test]
fn what_is_only_said_where_nothing_fits_is_no_cause() {
    let last = Finding {
        cause: "py-user-exception".to_owned(),
        last_resort: true,
        ..Finding::default()
    };
    let of = |findings: &[Finding]| {
        Verdict::of(
            &head(vec![log()], true),
            &Evidence::default(),
            findings,
            &[ran(Outcome::Ok)],
        )
    };
    assert_eq!(of(std::slice::from_ref(&last)).kind, VerdictKind::UnknownFailure);
    assert_eq!(of(&[Finding::default(), last]).kind, VerdictKind::Cause);
}

#[test]
fn the_reason_names_the_file_the_line_and_how_much_was_read() {
    let why = verdict(&head(vec![log()], false), &ending(EndSign::Finished)).why;
    assert_eq!(
        why,
        "train.log says at line 1810 that the run came to its end (\"Training completed\"), and none of its 1,812 lines \
         tells of a failure."
    );
    let exit = ProcessExit {
        exit_code: Some(0),
        ..ProcessExit::default()
    };
    let event = Event {
        artifact: "context.json".to_owned(),
        ..Event::new(EventPayload::ProcessExit(exit))
    };
    let evidence = Evidence {
        timeline: vec![event],
        ..Evidence::default()
    };
    let context = head(vec![artifact("context.json", ArtifactKind::Context, None)], false);
    assert!(
        verdict(&context, &evidence)
            .why
            .starts_with("context.json tells that the process ended with exit code 0")
    );
    let mixed = head(
        vec![log(), artifact("x.bin", ArtifactKind::Unknown, Some("unknown-format"))],
        false,
    );
    assert_eq!(
        verdict(&mixed, &ending(EndSign::Finished)).why,
        "x.bin: what is wrong with it; what to do; nothing failed in what could be read."
    );
}

#[test]
fn a_failure_without_a_cause_says_whether_all_plugins_ran() {
    let head = head(vec![log()], true);
    let of = |runs: &[PluginRun]| Verdict::of(&head, &Evidence::default(), &[], runs);
    assert_eq!(of(&[ran(Outcome::Ok)]).kind, VerdictKind::UnknownFailure);
    assert!(of(&[ran(Outcome::Ok)]).why.contains("no cause that is documented here"));
    assert!(
        of(&[ran(Outcome::Unavailable)])
            .why
            .contains("1 plugin that may know the cause could not be run")
    );
    assert!(of(&[]).why.contains("no diagnosis plugin is installed"));
}

fn frame(function: &str, file: &str, line: u32, source: Option<&str>) -> Frame {
    Frame {
        kind: FrameKind::Python,
        function: Some(function.to_owned()),
        file: Some(file.to_owned()),
        line: Some(line),
        source: source.map(str::to_owned),
        ..Frame::default()
    }
}

fn stack(id: &str, frames: Vec<Frame>) -> Thread {
    Thread {
        id: ThreadId::Label(id.to_owned()),
        name: None,
        rank: None,
        pid: None,
        crashed: true,
        artifact: "train.log".to_owned(),
        frames,
        frames_omitted: None,
        holds_gil: false,
        activity: None,
    }
}

#[test]
fn the_line_of_the_program_is_on_the_stack_of_what_is_cited() {
    let library = || {
        frame(
            "linear",
            "/venv/lib/python3.12/site-packages/torch/nn/linear.py",
            125,
            None,
        )
    };
    let other = stack("traceback-1", vec![frame("main", "/job/eval.py", 3, None)]);
    let own = vec![
        library(),
        frame("forward", "/job/model.py", 88, Some("return self.head(x)")),
        frame("<module>", "/opt/conda/bin/torchrun", 8, None),
    ];
    let raised = |number, thread: &str| {
        let raised = PythonException {
            exception: "RuntimeError".to_owned(),
            thread: Some(ThreadId::Label(thread.to_owned())),
            ..PythonException::default()
        };
        Event {
            event: number,
            artifact: "train.log".to_owned(),
            at: Some(Place::Line([10 * number as u64 + 1, 10 * number as u64 + 9])),
            ..Event::new(EventPayload::PythonException(raised))
        }
    };
    let evidence = Evidence {
        threads: vec![other, stack("traceback-2", own)],
        timeline: vec![raised(0, "traceback-1"), raised(1, "traceback-2")],
        ..Evidence::default()
    };
    let finding = Finding {
        cause: "py-shape-mismatch".to_owned(),
        explanation: "The sizes do not fit. Look at `x.shape`.".to_owned(),
        citations: vec![Citation {
            artifact: "train.log".to_owned(),
            at: Place::Line([19, 19]),
            quote: String::new(),
        }],
        ..Finding::default()
    };
    let of = |findings: &[Finding]| Verdict::of(&head(vec![log()], true), &evidence, findings, &[]);
    let verdict = of(&[finding]);
    assert_eq!(
        (verdict.kind, verdict.why.as_str()),
        (VerdictKind::Cause, "The sizes do not fit.")
    );
    let code = verdict.code.expect("a line");
    assert_eq!((code.file.as_str(), code.line), ("/job/model.py", 88));
    assert_eq!(code.source.as_deref(), Some("return self.head(x)"));
    let unknown = of(&[]).code.expect("a line");
    assert_eq!(
        unknown.file, "/job/eval.py",
        "without a finding it is the stack of what failed first"
    );
    let launcher = Evidence {
        threads: vec![stack(
            "traceback-1",
            vec![library(), frame("<module>", "/opt/conda/bin/torchrun", 8, None)],
        )],
        ..Evidence::default()
    };
    assert_eq!(
        Verdict::of(&head(vec![log()], true), &launcher, &[], &[]).code,
        None,
        "nobody edits that script"
    );
}

#[test]
fn a_verdict_of_a_later_version_is_no_error() {
    let later = r#"{"kind": "half-read", "why": "…", "more": 1}"#;
    let verdict: Verdict = serde_json::from_str(later).expect("it is read");
    assert_eq!(verdict.kind, VerdictKind::UnknownFailure);
}
