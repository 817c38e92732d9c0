//! What NCCL itself says of its communicators, and torchcomms' logs: judged from the evidence alone, however it came
//! together.

use whycrash_evidence::model::{Collectives, Communicator, EventPayload, Evidence, Recorder};
use whycrash_evidence::{Account, ArtifactKind, Limits, judge, judge_together, merge, read};

use crate::recorders::said;
use crate::support::artifact;

fn evidence(name: &str, text: &str) -> Evidence {
    let (artifact, _keep) = artifact(name, text.as_bytes());
    let reading = read(&artifact, &Limits::default());
    assert_eq!(reading.problems, [], "{name}");
    reading.evidence
}

/// The evidence of a labelled case's artifacts, in the order of their names.
fn case(name: &str) -> Evidence {
    let mut files: Vec<_> = std::fs::read_dir(whycrash_corpus::folder().join(name))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension != "toml"))
        .collect();
    files.sort();
    let parts = files.iter().map(|path| {
        let text = std::fs::read_to_string(path).unwrap();
        evidence(&path.file_name().unwrap().to_string_lossy(), &text)
    });
    merge(parts.collect(), serde_json::Map::new())
}

fn judged(evidence: &Evidence) -> Collectives {
    judge(&evidence.recorders, &evidence.communicators).unwrap_or_default()
}

fn ranks(collectives: &Collectives, kind: &str) -> Vec<u32> {
    let mut of_kind = collectives.verdicts.iter().filter(|verdict| verdict.kind == kind);
    of_kind.next().map(|verdict| verdict.ranks.clone()).unwrap_or_default()
}

#[test]
fn a_process_that_nccl_gave_up_is_dead_in_json_and_in_words() {
    for (name, pid) in [("dist-ras-json-dead", 49112), ("dist-ras-text-dead", 70112)] {
        let evidence = case(name);
        let collectives = judged(&evidence);
        assert_eq!(ranks(&collectives, "dead-rank"), [6], "{name}: {collectives:#?}");
        assert_eq!(collectives.culprits, [6], "{name}");
        assert!(collectives.verdicts[0].detail.contains(&pid.to_string()), "{name}");
        let [event] = &evidence.timeline[..] else {
            panic!("{name}: {:#?}", evidence.timeline)
        };
        assert_eq!(event.pid, Some(pid), "{name}");
        assert!(
            matches!(&event.payload, EventPayload::NcclWarning(warning) if warning.family == "ras-dead"),
            "{name}: {event:?}"
        );
    }
    let monitor = case("dist-ras-monitor");
    assert_eq!(monitor.timeline.len(), 1);
    assert_eq!(monitor.timeline[0].pid, Some(88231));
    let event = r#"{"timestamp": "2025-12-19 13:07:07", "group": "LIFECYCLE", "event": "PEER_DEAD",
        "peer": {"host": "10.0.3.17", "pid": 88231, "cuda_devs": [5], "nvml_devs": [5]}, "details": ""}"#;
    assert_eq!(evidence("monitor.json", event).timeline[0].pid, Some(88231));
}

#[test]
fn who_is_behind_and_does_not_move_holds_the_others_up() {
    for (name, behind) in [
        ("dist-ras-json-two-states", &[5][..]),
        ("dist-ras-json-appended", &[2, 3]),
        ("dist-ras-text-two-states", &[3, 7]),
    ] {
        let collectives = judged(&case(name));
        assert_eq!(ranks(&collectives, "behind-rank"), behind, "{name}: {collectives:#?}");
        assert_eq!(collectives.culprits, behind, "{name}");
    }
}

/// Ranks start operations ahead of each other: a difference that is seen once may be gone a moment later.
#[test]
fn counts_that_differ_once_or_go_on_prove_nothing() {
    let once = judged(&case("none-ras-json-once"));
    assert_eq!(said(&once), [""; 0]);
    assert_eq!(
        (once.culprits.as_slice(), once.behind_once.as_slice()),
        (&[][..], &[6, 7][..])
    );
    for name in ["none-ras-json-healthy", "none-ras-text-moving"] {
        let moving = judged(&case(name));
        assert_eq!((said(&moving), moving.culprits.len()), (vec![], 0), "{name}");
    }
    let healthy = judged(&case("none-ras-text-healthy"));
    assert_eq!(healthy, Collectives::default());
}

#[test]
fn a_rank_that_called_something_else_is_named() {
    let collectives = judged(&case("dist-ras-json-other-call"));
    assert_eq!(ranks(&collectives, "op-mismatch"), [4], "{collectives:#?}");
}

#[test]
fn an_error_that_nccl_keeps_of_a_rank_is_told() {
    let rank = |rank: u32, result: u32| {
        format!(
            r#"{{"rank": {rank}, "host": "10.1.0.9", "pid": {}, "cuda_dev": {rank}, "nvml_dev": {rank},
            "status": {{"init_state": 0, "async_error": {result}}}, "collective_counts": {{"AllReduce": 5}}}}"#,
            900 + rank
        )
    };
    let json = format!(
        r#"{{"nccl_version": "2.30.4", "timestamp": "2026-01-01 00:00:00", "communicators_count": 1, "communicators": [
        {{"hash": "0xa", "secondary_hash": "0x1:0x2", "size": 3, "ranks": [{}, {}, {}], "missing_ranks": []}}]}}"#,
        rank(0, 0),
        rank(1, 2),
        rank(2, 7)
    );
    let text = "Communicators... (0.00s)\n=============\n\n\
                Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n\
                \x20   #  in group  per comm  per node  per comm  in group\n\
                \x20   0         1         1         3         3         3   RUNNING   ERROR\n\n\
                Errors\n======\n\n#0-0 (000000000000000a) ERROR\n  Asynchronous error on 1 rank\n\
                \x20 Rank 1 reported ncclSystemError -- GPU 1 managed by process 901 on node 10.1.0.9\n\n\
                Warnings\n========\n\n";
    for (name, answer) in [("ras.json", json.as_str()), ("ras.txt", text)] {
        let evidence = evidence(name, answer);
        let collectives = judged(&evidence);
        assert_eq!(ranks(&collectives, "failed-rank"), [1], "{name}: {collectives:#?}");
        let [event] = &evidence.timeline[..] else {
            panic!("{name}: {:#?}", evidence.timeline)
        };
        assert!(
            matches!(&event.payload, EventPayload::NcclError(error) if error.result.as_deref() == Some("ncclSystemError")),
            "{name}: {event:?}"
        );
    }
}

/// In a communicator of some ranks each has a number of its own, which is not its rank in the job.
#[test]
fn ranks_are_those_of_the_job_where_a_communicator_has_all_of_it() {
    let rank = |rank: u32, pid: u32| {
        format!(
            r#"{{"rank": {rank}, "host": "a", "pid": {pid}, "cuda_dev": 0, "nvml_dev": 0,
            "status": {{"init_state": 0, "async_error": 0}}, "collective_counts": {{"AllReduce": 5}}}}"#
        )
    };
    let lost = |rank: u32, pid: u32| {
        format!(
            r#"{{"rank": {rank}, "host": "a", "pid": {pid}, "cuda_dev": 0, "nvml_dev": 0,
            "status": {{"unresponsive": true, "considered_dead": false}}}}"#
        )
    };
    let group = |hash: &str, size: u32, ranks: &[String], missing: &[String]| {
        format!(
            r#"{{"hash": "0x{hash}", "secondary_hash": "0x1:0x2", "size": {size}, "ranks_count": 1, "missing_ranks_count": 1,
            "ranks": [{}], "missing_ranks": [{}]}}"#,
            ranks.join(","),
            missing.join(",")
        )
    };
    let pair = group("a", 2, &[rank(0, 102)], &[lost(1, 103)]);
    let state = |world: &str| {
        let all = [world, pair.as_str()].into_iter().filter(|one| !one.is_empty());
        format!(
            r#"{{"nccl_version": "2.29.1", "timestamp": "2026-01-01 00:00:00", "communicators_count": 2,
            "communicators": [{}]}}"#,
            all.collect::<Vec<_>>().join(",")
        )
    };
    let present: Vec<String> = (0..4).map(|number| rank(number, 100 + number)).collect();
    let world = group("b", 4, &present, &[]);
    let found = judged(&evidence("ras.json", &state(&world)));
    assert_eq!(ranks(&found, "unresponsive-rank"), [3]);
    let alone = judged(&evidence("ras.json", &state("")));
    assert_eq!(ranks(&alone, "unresponsive-rank"), [1], "nobody knows better");
}

#[test]
fn the_comma_that_nccl_2_28_9_leaves_out_is_put_in() {
    let text = std::fs::read_to_string(whycrash_corpus::folder().join("dist-ras-json-dead/ncclras.json")).unwrap();
    let broken = text.replace(
        "\"cuda_dev\": 2,\n          \"nvml_dev\": 2,\n          \"status\": {\n            \"unresponsive\"",
        "\"cuda_dev\": 2\n          \"nvml_dev\": 2\n          \"status\": {\n            \"unresponsive\"",
    );
    assert_ne!(text, broken);
    assert_eq!(
        judged(&evidence("ras.json", &broken)),
        judged(&evidence("ras.json", &text))
    );
}

#[test]
fn of_the_inspectors_log_the_last_operation_of_each_rank_is_kept() {
    let evidence = case("none-inspector-healthy");
    assert_eq!(evidence.communicators.len(), 2);
    for communicator in &evidence.communicators {
        assert_eq!(
            (communicator.source.as_str(), communicator.size),
            ("inspector", Some(4))
        );
        assert_eq!(communicator.ranks[0].counts["AllReduce"], 12);
        assert_eq!(communicator.time.as_deref(), Some("2026-02-13T16:26:43Z"));
    }
    assert_eq!(said(&judged(&evidence)), [""; 0], "what never ended is not in it");
}

#[test]
fn torchcomms_logs_are_judged_as_flight_recorders_are() {
    let kinds = [
        ("dist-clog-rank-missing", vec!["missing-rank world:13 [2]"]),
        ("dist-clog-other-call", vec!["op-mismatch world:9 [1]"]),
        ("none-clog-healthy", vec![]),
    ];
    for (name, verdicts) in kinds {
        let evidence = case(name);
        assert_eq!(said(&judged(&evidence)), verdicts, "{name}");
    }
    let (log, _keep) = artifact("clog", b"V|1|base_timestamp=1714234567.890\n");
    let reading = read(&log, &Limits::default());
    assert_eq!(reading.kind, Some(ArtifactKind::TorchcommsLog));
    assert_eq!(reading.problems[0].code, "no-rank");
}

#[test]
fn sends_of_a_torchcomms_log_meet_their_receives() {
    let head = |rank| format!("V|1|base_timestamp=1771000000.000\nnew_comm|comm=pp|rank={rank}|world_size=2\n");
    let send = |count| {
        format!("C1|sig|send|in_count={count}|out_count=0|dtype=f32|peer=1|async_op=f|comm=pp\nC1|Q|work_id=1|+0.1\n")
    };
    let recv = "C1|sig|recv|in_count=0|out_count=64|dtype=f32|peer=0|async_op=f|comm=pp\nC1|Q|work_id=1|+0.1\n";
    let both = |sent: u32, done: bool| {
        let end = if done { "C1|S|+0.2\nC1|E|+0.3\n" } else { "" };
        let logs = [
            ("clog_rank_0", format!("{}{}{end}", head(0), send(sent))),
            ("clog_rank_1", format!("{}{recv}{end}", head(1))),
        ];
        let parts = logs.iter().map(|(name, text)| evidence(name, text));
        judged(&merge(parts.collect(), serde_json::Map::new()))
    };
    assert_eq!(said(&both(64, true)), [""; 0]);
}

/// What rank 0 sent now and rank 1 sends an hour later are two reports. What is stored of them says together what one
/// report of both would.
#[test]
fn what_is_stored_of_two_reports_is_judged_together() {
    let parts: Vec<Evidence> = (0..3)
        .map(|rank| {
            let name = format!("nccl_trace_rank_{rank}");
            let path = whycrash_corpus::folder().join("dist-op-mismatch-gloo").join(&name);
            read(&whycrash_evidence::Artifact::new(name, path), &Limits::default()).evidence
        })
        .collect();
    let together = judged(&merge(parts.clone(), serde_json::Map::new()));
    assert_eq!(said(&together), ["op-mismatch 0:4 [2]"]);
    let stored: Vec<Vec<u8>> = parts
        .iter()
        .map(|part| serde_json::to_vec(&part.recorders).unwrap())
        .collect();
    let loaded: Vec<Recorder> = stored
        .iter()
        .flat_map(|stored| serde_json::from_slice::<Vec<Recorder>>(stored).unwrap())
        .collect();
    assert_eq!(judge(&loaded, &[]), Some(together));
    for part in &parts {
        assert_ne!(
            said(&judged(part)),
            ["op-mismatch 0:4 [2]"],
            "one rank alone does not know"
        );
    }
}

#[test]
fn what_ranks_told_of_themselves_on_another_day_is_not_of_this_incident() {
    let told = |report: &str, time: &str| Account {
        report: report.to_owned(),
        communicators: vec![Communicator {
            hash: "51d2b7a00c94e6f3".to_owned(),
            time: Some(time.to_owned()),
            ..Communicator::default()
        }],
        ..Account::default()
    };
    let own = || told("own", "2026-03-02T17:40:10Z");
    let (_, reports) = judge_together(own(), vec![told("other", "2026-01-19T12:00:01Z")]);
    assert_eq!(Vec::from_iter(reports), ["own"]);
    let (_, reports) = judge_together(own(), vec![told("other", "2026-03-02T17:41:00Z")]);
    assert_eq!(Vec::from_iter(reports), ["other", "own"]);
}
