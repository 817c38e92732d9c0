//! Sends and receives: which belong together, and whose other end never came.
//!
//! The fixtures are what PyTorch's recorder wrote for three ranks over gloo: see `tests/generators/exchanges`.

use std::path::Path;

use whycrash_evidence::model::{Collectives, EntryState, Peers, Progress, Recorder, RecorderEntry, RecorderGroup};
use whycrash_evidence::{Evidence, match_ranks, title};

use crate::recorders::{FIXTURES, recorders, said};
use EntryState::{Completed, Scheduled};

/// The labelled cases among them are in the corpus.
fn exchange(kind: &str) -> Collectives {
    match_ranks(&exchange_recorders(kind))
}

fn exchange_recorders(kind: &str) -> Vec<Recorder> {
    let labelled = whycrash_corpus::folder().join(format!("dist-exchange-{kind}-gloo"));
    let other = Path::new(FIXTURES).join("exchanges").join(kind);
    recorders(if labelled.exists() { &labelled } else { &other }, "")
}

#[test]
fn healthy_exchanges_give_no_verdict() {
    for kind in [
        "healthy",
        "healthy-untold",
        "wrapped-healthy",
        "tags",
        "any-source",
        "batch",
    ] {
        let collectives = exchange(kind);
        assert_eq!(said(&collectives), [""; 0], "{kind}");
        assert_eq!(collectives.ranks, [0, 1, 2], "{kind}");
        assert!(
            collectives.culprits.is_empty() && collectives.circle.is_empty(),
            "{kind}"
        );
    }
}

#[test]
fn ends_that_do_not_fit_are_named() {
    for (kind, verdict, detail) in [
        (
            "size",
            "shape-mismatch 0:7 [0, 1]",
            "rank 0: send 0->1 of [[4]] [Float]; rank 1: recv 1<-0 of [[8]] [Float]",
        ),
        (
            "dtype",
            "dtype-mismatch 0:7 [0, 1]",
            "rank 0: send 0->1 of [[8]] [Float]; rank 1: recv 1<-0 of [[8]] [Int]",
        ),
    ] {
        let collectives = exchange(kind);
        assert_eq!(said(&collectives), [verdict]);
        assert_eq!(collectives.verdicts[0].detail, detail);
        assert_eq!(collectives.culprits, [0, 1]);
        let evidence = Evidence {
            collectives: Some(collectives),
            ..Evidence::default()
        };
        let mismatch = verdict.split(' ').next().unwrap_or_default().replace('-', " ");
        assert_eq!(
            title(&evidence),
            format!("{mismatch} at a send and its receive: {detail}")
        );
    }
}

#[test]
fn who_never_came_is_named() {
    for (kind, peer, waiting, operation) in [
        ("no-receive", 1, 0, "relay:send"),
        ("no-send", 0, 1, "relay:recv"),
        // The ring has forgotten the beginning: only times tell which send belongs to which receive.
        ("wrapped", 1, 0, "relay:send"),
    ] {
        let collectives = exchange(kind);
        let [verdict] = collectives.verdicts.as_slice() else {
            panic!("{kind}: {:?}", said(&collectives))
        };
        assert_eq!(
            (verdict.kind.as_str(), verdict.operation.as_str()),
            ("missing-rank", operation)
        );
        assert_eq!(
            (&verdict.ranks, &verdict.entered),
            (&vec![peer], &vec![waiting]),
            "{kind}"
        );
        assert!(verdict.point_to_point && verdict.time.is_some());
        assert_eq!(collectives.culprits, [peer], "{kind}");
    }
}

#[test]
fn a_circle_of_waiting_ranks_is_named_as_one() {
    for (kind, ranks, words) in [
        (
            "both-receive",
            vec![0, 1],
            "they wait in a circle: rank 0 for rank 1 for rank 0",
        ),
        (
            "both-receive-untold",
            vec![0, 1],
            "they wait in a circle: rank 0 for rank 1 for rank 0",
        ),
        (
            "both-send",
            vec![0, 1],
            "they wait in a circle: rank 0 for rank 1 for rank 0",
        ),
        (
            "circle",
            vec![0, 1, 2],
            "they wait in a circle: rank 0 for rank 1 for rank 2 for rank 0",
        ),
    ] {
        let collectives = exchange(kind);
        assert_eq!(
            collectives.verdicts.len(),
            ranks.len(),
            "{kind}: {:?}",
            said(&collectives)
        );
        assert!(
            collectives
                .verdicts
                .iter()
                .all(|verdict| verdict.detail.ends_with(words)),
            "{kind}: {:?}",
            collectives.verdicts
        );
        assert_eq!((collectives.circle, collectives.culprits), (ranks, vec![]), "{kind}");
    }
}

/// With some ranks' dumps lacking, those whose operations did not end wait for a rank without a recorder.
#[test]
fn a_rank_without_a_recorder_may_be_the_one() {
    let with = |kind: &str, ranks: &[u32]| {
        let mut recorders = exchange_recorders(kind);
        recorders.retain(|recorder| ranks.contains(&recorder.rank.unwrap()));
        match_ranks(&recorders)
    };
    assert_eq!(said(&with("healthy", &[0, 2])), [""; 0]);
    assert_eq!(said(&with("no-receive", &[1, 2])), [""; 0]);
    let one = with("no-receive", &[0]);
    assert_eq!(said(&one), ["missing-rank 0:7 [1]"]);
    assert!(one.verdicts[0].detail.ends_with("no recorder from rank 1"));
}

/// Of several dumps of a rank the latest counts, however much the others hold.
#[test]
fn an_earlier_dump_of_a_rank_does_not_count() {
    let mut recorders = exchange_recorders("no-receive");
    let mut early = recorders[1].clone();
    early.entries.truncate(3);
    recorders.insert(0, early);
    assert_eq!(said(&match_ranks(&recorders)), ["missing-rank 0:7 [1]"]);
}

/// A dump that was cut off lacks its latest entries: its rank is not to blame for that.
#[test]
fn a_rank_whose_dump_was_cut_off_is_not_blamed() {
    let mut recorders = exchange_recorders("no-receive");
    recorders[1].entries.truncate(3);
    assert_eq!(said(&match_ranks(&recorders)), [""; 0]);
}

/// One operation: its record, its number among sends and receives, what it is and how far it came.
type Made = (u64, u64, &'static str, EntryState);

/// One rank of a made-up NCCL job with a group of these ranks.
fn nccl(rank: u32, ranks: &[u32], made: &[Made], status: (u64, u64)) -> Recorder {
    let entries = made.iter().map(|(record, number, name, state)| {
        let (operation, between) = name.split_once(' ').unwrap_or((name, ""));
        let ends = between.split_once("->").or_else(|| between.split_once("<-"));
        let peers = ends.map(|(left, right)| {
            let (source, destination) = if operation == "send" {
                (left, right)
            } else {
                (right, left)
            };
            Peers {
                source: source.parse().ok(),
                destination: destination.parse().unwrap(),
            }
        });
        RecorderEntry {
            record: *record,
            group: "5".into(),
            group_number: 2,
            backend: "nccl".into(),
            operation: operation.into(),
            peers,
            input_sizes: "[[8]]".into(),
            output_sizes: "[[8]]".into(),
            input_dtypes: "[Float]".into(),
            output_dtypes: "[Float]".into(),
            point_to_point: true,
            point_to_point_sequence: *number,
            state: *state,
            retired: *state == Completed,
            created_ns: 1_000_000 * record,
            seen_ns: 1_000_000 * record,
            ..RecorderEntry::default()
        }
    });
    let group = RecorderGroup {
        description: "pipeline".to_owned(),
        ranks: ranks.to_vec(),
    };
    let progress = Progress {
        enqueued: Some(status.0),
        completed: Some(status.1),
    };
    Recorder {
        rank: Some(rank),
        entries: entries.collect(),
        groups: [("5".to_owned(), group)].into(),
        progress: [(2, progress)].into(),
        ..Recorder::default()
    }
}

/// NCCL never updates the parts of a batch, only the call that closes it.
#[test]
fn parts_of_a_batch_end_with_it() {
    let batches = |rank: u32, last: EntryState, count: u64| {
        let peer = 1 - rank;
        let names = [["send 0->1", "recv 0<-1"], ["recv 1<-0", "send 1->0"]][rank as usize];
        let made: Vec<Made> = (0..count)
            .flat_map(|batch| {
                let state = if batch + 1 == count { last } else { Completed };
                [
                    (3 * batch, batch + 1, names[0], Scheduled),
                    (3 * batch + 1, batch + 1, names[1], Scheduled),
                    (3 * batch + 2, batch + 1, "coalesced", state),
                ]
            })
            .collect();
        assert!(peer < 2);
        nccl(rank, &[0, 1], &made, (count, count))
    };
    let healthy = match_ranks(&[batches(0, Completed, 4), batches(1, Completed, 4)]);
    assert_eq!(said(&healthy), [""; 0]);
    let stuck = match_ranks(&[batches(0, Scheduled, 4), batches(1, Completed, 3)]);
    assert_eq!(stuck.culprits, [1], "{:?}", said(&stuck));
    // What closed it is not listed any more: nothing is open.
    let active: Vec<Made> = vec![(3, 2, "send 0->1", Scheduled), (4, 2, "recv 0<-1", Scheduled)];
    let torn = match_ranks(&[nccl(0, &[0, 1], &active, (2, 2)), nccl(1, &[0, 1], &[], (2, 2))]);
    assert_eq!(said(&torn), [""; 0]);
}

/// Where a dump lists only what is active, order tells nothing: a rank may have completed what its peer still takes for
/// open. In a group of two the numbers tell.
#[test]
fn what_order_can_not_tell_is_not_said() {
    let active = |status| {
        nccl(
            0,
            &[0, 1, 2],
            &[(70, 31, "send 0->1", Scheduled), (90, 34, "send 0->1", Scheduled)],
            status,
        )
    };
    let peer: Vec<Made> = vec![(80, 21, "recv 1<-0", Scheduled)];
    let ranks = vec![
        active((34, 30)),
        nccl(1, &[0, 1, 2], &peer, (21, 20)),
        nccl(2, &[0, 1, 2], &[], (9, 9)),
    ];
    assert_eq!(said(&match_ranks(&ranks)), [""; 0]);

    let ahead = nccl(0, &[4, 7], &[(70, 31, "send 0->1", Scheduled)], (31, 30));
    let ahead = Recorder { rank: Some(4), ..ahead };
    let behind = Recorder {
        rank: Some(7),
        ..nccl(1, &[4, 7], &[], (30, 30))
    };
    let collectives = match_ranks(&[ahead.clone(), behind.clone()]);
    assert_eq!(said(&collectives), ["missing-rank 5:31 [7]"]);
    let further = nccl(1, &[4, 7], &[], (31, 31));
    let further = Recorder {
        rank: Some(7),
        ..further
    };
    assert_eq!(said(&match_ranks(&[ahead, further])), [""; 0]);
}

/// Two groups of one name on other ranks are two groups.
#[test]
fn groups_of_one_name_are_told_apart() {
    let open: Vec<Made> = vec![(0, 1, "send 0->1", Scheduled)];
    let done: Vec<Made> = vec![(0, 1, "send 0->1", Completed)];
    let taken: Vec<Made> = vec![(0, 1, "recv 1<-0", Completed)];
    let other: Vec<Made> = vec![(0, 1, "recv 1<-0", Scheduled), (1, 2, "recv 1<-0", Scheduled)];
    let ranks = vec![
        nccl(0, &[0, 1], &done, (1, 1)),
        nccl(1, &[0, 1], &taken, (1, 1)),
        nccl(2, &[2, 3], &open, (1, 0)),
        nccl(3, &[2, 3], &other, (2, 0)),
    ];
    let collectives = match_ranks(&ranks);
    assert_eq!(said(&collectives), ["missing-rank 5:2 [2]"]);
    assert_eq!(collectives.culprits, [2]);
}

/// Rank 1 waits in a collective for rank 2, and rank 0 for rank 1 to take what it sent: rank 2 is to blame.
#[test]
fn who_waits_for_a_waiting_rank_is_told_last() {
    let open: Vec<Made> = vec![(0, 1, "send 0->1", Scheduled)];
    let mut ranks = vec![
        nccl(0, &[0, 1], &open, (1, 0)),
        nccl(1, &[0, 1], &[], (0, 0)),
        nccl(2, &[2, 1], &[], (0, 0)),
    ];
    let others = RecorderGroup {
        description: "tensor".to_owned(),
        ranks: vec![1, 2],
    };
    for recorder in &mut ranks[1..] {
        recorder.groups.insert("6".to_owned(), others.clone());
        let reach = u64::from(recorder.rank == Some(1)) + 8;
        let progress = Progress {
            enqueued: Some(reach),
            completed: Some(8),
        };
        recorder.progress.insert(3, progress);
    }
    ranks[1].entries.push(RecorderEntry {
        group: "6".into(),
        group_number: 3,
        sequence: 9,
        backend: "nccl".into(),
        operation: "all_reduce".into(),
        created_ns: 5_000_000,
        seen_ns: 5_000_000,
        ..RecorderEntry::default()
    });
    let collectives = match_ranks(&ranks);
    assert_eq!(said(&collectives), ["missing-rank 6:9 [2]", "missing-rank 5:1 [1]"]);
    assert_eq!(collectives.culprits, [2]);
}
