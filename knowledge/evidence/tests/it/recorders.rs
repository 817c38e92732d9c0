//! Flight recorder dumps: what each rank left, and what all of them together say.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use whycrash_evidence::model::{Collectives, EntryState, Evidence, Recorder, RecorderEntry, RecorderGroup};
use whycrash_evidence::readers::flight_recorder::read as read_recorder;
use whycrash_evidence::{Artifact, ArtifactKind, Limits, match_ranks, merge, read};

pub(crate) const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/flight_recorder");

/// What the recorders of a folder's files with these names' endings say together.
pub(crate) fn folder(folder: &Path, ending: &str) -> Collectives {
    match_ranks(&recorders(folder, ending))
}

/// The recorders of a folder's files with these names' endings.
pub(crate) fn recorders(folder: &Path, ending: &str) -> Vec<Recorder> {
    let mut files: Vec<PathBuf> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let name = |file: &Path| file.file_name().unwrap().to_string_lossy().into_owned();
    let dumps = files
        .iter()
        .filter(|file| name(file).ends_with(ending) && name(file) != "case.toml");
    let parts: Vec<Evidence> = dumps
        .map(|file| {
            let reading = read(&Artifact::new(name(file), file), &Limits::default());
            assert_eq!(reading.kind, Some(ArtifactKind::FlightRecorder));
            assert_eq!(reading.problems, []);
            reading.evidence
        })
        .collect();
    merge(parts, serde_json::Map::new()).recorders
}

pub(crate) fn said(collectives: &Collectives) -> Vec<String> {
    let verdicts = collectives.verdicts.iter();
    verdicts
        .map(|verdict| {
            format!(
                "{} {}:{} {:?}",
                verdict.kind, verdict.group, verdict.sequence, verdict.ranks
            )
        })
        .collect()
}

#[test]
fn all_ranks_together_name_the_one_that_differs() {
    for (case, verdict) in [
        ("dist-op-mismatch-gloo", "op-mismatch 0:4 [2]"),
        ("dist-shape-mismatch-gloo", "shape-mismatch 0:4 [2]"),
        ("dist-dtype-mismatch-gloo", "dtype-mismatch 0:4 [2]"),
        ("dist-rank-branch-gloo", "missing-rank 0:4 [2]"),
    ] {
        let collectives = folder(&whycrash_corpus::folder().join(case), "");
        assert_eq!(said(&collectives), [verdict], "{case}");
        assert_eq!(
            (collectives.ranks, collectives.culprits),
            (vec![0, 1, 2], vec![2]),
            "{case}"
        );
    }
}

#[test]
fn healthy_ranks_give_no_verdict() {
    let healthy = [
        folder(&whycrash_corpus::folder().join("dist-healthy-gloo"), ""),
        folder(&Path::new(FIXTURES).join("gloo_ok"), ""),
    ];
    for collectives in healthy {
        assert_eq!(said(&collectives), [""; 0]);
        assert!(collectives.culprits.is_empty());
        assert!(collectives.ranks_without_recorder.is_empty());
    }
}

/// JSON has no stacks and no third rank here; where both say something they say the same.
#[test]
fn json_and_pickle_agree() {
    for case in ["gloo_ok", "gloo_exc", "gloo_sigkill"] {
        let pickle = folder(&Path::new(FIXTURES).join(case), ".pickle");
        let json = folder(&Path::new(FIXTURES).join(case), ".json");
        assert_eq!(said(&pickle), said(&json), "{case}");
        assert_eq!(
            (&pickle.ranks, &pickle.culprits),
            (&json.ranks, &json.culprits),
            "{case}"
        );
        let both = folder(&Path::new(FIXTURES).join(case), "");
        assert_eq!(both, pickle, "of two dumps of one rank the one with stacks counts");
    }
    let json = folder(&Path::new(FIXTURES).join("op_json"), "");
    assert_eq!(said(&json), ["missing-rank 0:4 [2]"]);
    assert_eq!(json.ranks_without_recorder, [2]);
}

#[test]
fn a_whole_recorder_is_read() {
    let recorders = recorders(&Path::new(FIXTURES).join("gloo_exc"), ".pickle");
    let last = recorders[0].entries.last().unwrap();
    assert_eq!((recorders[0].rank, recorders[0].version.as_str()), (Some(0), "2.10"));
    assert_eq!(
        (&*last.backend, &*last.operation, &*last.input_sizes),
        ("gloo", "all_reduce", "[[696]]")
    );
    assert_eq!((&*last.input_dtypes, last.sequence, last.retired), ("[Float]", 9, true));
    assert!(
        last.frames[0].starts_with("_engine_run_backward ("),
        "{:?}",
        last.frames
    );
    assert_eq!(recorders[0].groups[""].ranks, [0, 1]);
}

#[test]
fn the_rank_is_in_the_name() {
    let dump = std::fs::read(whycrash_corpus::folder().join("dist-healthy-gloo/nccl_trace_rank_1")).unwrap();
    for (name, rank) in [
        ("nccl_trace_rank_12", Some(12)),
        ("nccl_trace_rank_node-7_3", Some(3)),
        ("fr/trace_0.pickle", Some(0)),
        ("rank_5.json.zst", Some(5)),
        ("_dump_15", Some(15)),
        ("nccl_trace_rank_", None),
        ("trace.pickle", None),
    ] {
        let reading = read_recorder(dump.as_slice(), name, &Limits::default());
        assert_eq!(reading.evidence.recorders[0].rank, rank, "{name}");
        assert_eq!(
            reading.problems.iter().any(|problem| problem.code == "no-rank"),
            rank.is_none(),
            "{name}"
        );
    }
}

/// One rank of a made-up job: which collectives of one NCCL group its ring holds, how each ended, and how far its
/// status says it is.
fn rank(rank: u32, calls: &[(u64, &str, EntryState)], enqueued: u64) -> Recorder {
    let entries = calls.iter().map(|(sequence, operation, state)| RecorderEntry {
        record: *sequence,
        group: "7".into(),
        group_number: 3,
        sequence: *sequence,
        backend: "nccl".into(),
        operation: (*operation).into(),
        state: *state,
        created_ns: 1_000 * sequence,
        seen_ns: 1_000 * sequence,
        ..RecorderEntry::default()
    });
    let progress = whycrash_evidence::model::Progress {
        enqueued: Some(enqueued),
        completed: None,
    };
    let group = RecorderGroup {
        description: "tensor".to_owned(),
        ranks: vec![0, 1, 2],
    };
    Recorder {
        rank: Some(rank),
        entries: entries.collect(),
        groups: [("7".to_owned(), group)].into(),
        progress: [(3, progress)].into(),
        ..Recorder::default()
    }
}

#[test]
fn rings_and_states_are_told_apart() {
    use EntryState::{Completed, Scheduled, Started};
    let done = |sequence| (sequence, "all_reduce", Completed);
    let wait = |sequence| (sequence, "all_reduce", Scheduled);
    for (what, ranks, verdicts, culprits) in [
        (
            "all is done",
            [rank(0, &[done(5)], 5), rank(1, &[done(5)], 5), rank(2, &[done(5)], 5)],
            vec![],
            vec![],
        ),
        // Rank 2's ring is shorter, and only lists what is active: what it lacks it has done.
        (
            "rings differ",
            [
                rank(0, &[done(3), done(4), done(5)], 5),
                rank(1, &[done(5)], 5),
                rank(2, &[], 5),
            ],
            vec![],
            vec![],
        ),
        (
            "one never came",
            [rank(0, &[wait(5)], 5), rank(1, &[wait(5)], 5), rank(2, &[done(4)], 4)],
            vec!["missing-rank 7:5 [2]"],
            vec![2],
        ),
        (
            "one never came, and its ring is empty",
            [rank(0, &[wait(5)], 5), rank(1, &[wait(5)], 5), rank(2, &[], 4)],
            vec!["missing-rank 7:5 [2]"],
            vec![2],
        ),
        (
            "one is stuck in what the others completed",
            [
                rank(0, &[done(5), wait(6)], 6),
                rank(1, &[done(5), wait(6)], 6),
                rank(2, &[wait(5)], 5),
            ],
            vec!["not-completed 7:5 [2]", "missing-rank 7:6 [2]"],
            vec![2],
        ),
        (
            "one is a moment behind the others",
            [rank(0, &[done(5)], 5), rank(1, &[done(5)], 5), rank(2, &[wait(5)], 5)],
            vec![],
            vec![],
        ),
        (
            "one is past its timeout while the others went on",
            [
                rank(0, &[done(5), done(800_000_000)], 800_000_000),
                rank(1, &[done(5)], 800_000_000),
                rank(2, &[wait(5)], 800_000_000),
            ],
            vec!["not-completed 7:5 [2]"],
            vec![2],
        ),
        (
            "nobody gets out",
            [
                rank(0, &[wait(5)], 5),
                rank(1, &[(5, "all_reduce", Started)], 5),
                rank(2, &[wait(5)], 5),
            ],
            vec!["not-completed 7:5 [0, 1, 2]"],
            vec![],
        ),
        (
            "nobody agrees: nobody is in the majority",
            [
                rank(0, &[(5, "all_reduce", Scheduled)], 5),
                rank(1, &[(5, "broadcast", Scheduled)], 5),
                rank(2, &[(5, "barrier", Scheduled)], 5),
            ],
            vec!["op-mismatch 7:5 [0, 1, 2]"],
            vec![],
        ),
    ] {
        let collectives = match_ranks(&ranks);
        assert_eq!(said(&collectives), verdicts, "{what}");
        assert_eq!(collectives.culprits, culprits, "{what}");
    }
}

#[test]
fn damaged_dumps_are_named() {
    for (bytes, code) in [
        (&b"{\"entries\": ["[..], "damaged-json"),
        (b"\x80\x02}(X\x07\x00\x00\x00entriesq\x00", "truncated"),
        (b"\x80\x02cos\nsystem\n", "pickle-refused-opcode"),
    ] {
        let reading = read_recorder(bytes, "trace_0", &Limits::default());
        assert_eq!(reading.problems[0].code, code);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn damage_is_survived(damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20), json in any::<bool>()) {
        let file = if json { "gloo_exc/fr_exc_rank0.json" } else { "gloo_exc/fr_exc_rank0.pickle" };
        let mut bytes = std::fs::read(Path::new(FIXTURES).join(file)).unwrap();
        for (at, byte) in damage {
            let place = at.index(bytes.len());
            bytes[place] = byte;
        }
        read_recorder(bytes.as_slice(), "trace_0", &Limits::default());
    }
}
