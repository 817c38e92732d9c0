//! What workers found.

use std::time::Duration;

use jiff::Timestamp;
use whycrash_server::store::{
    Digest, Job, JobCounts, Jobs, Kin, Lane, Lease, MadeWith, ModuleUse, Modules, Outbox, Outcome, Outcomes, Outdated,
    PartBody, Records, ReportId, ReportState, Result, StoreError, StoredEvidence, StoredPart, Summary, Upkeep, Work,
};

use super::{HandClock, report};

/// Versions that are kept.
const KEPT: u32 = 3;

fn made_with(version: &str) -> MadeWith {
    MadeWith {
        plugins: version.to_owned(),
        knowledge: "k".to_owned(),
    }
}

pub fn evidence(key: &str) -> StoredEvidence {
    let part = |name: &str, artifact: Option<&str>, body: PartBody| StoredPart {
        name: name.to_owned(),
        artifact: artifact.map(str::to_owned),
        bytes: 3,
        body,
    };
    StoredEvidence {
        key: key.to_owned(),
        reader: 7,
        parts: vec![
            part("evidence", None, PartBody::Inline(vec![1, 2, 3])),
            part("text-0", Some("log"), PartBody::Inline(vec![0xff, 0])),
            part("threads", None, PartBody::Blob(Digest::of(key.as_bytes()))),
        ],
    }
}

/// What is found of a report with a core and a log.
pub fn outcome(id: &ReportId, signature: &str, causes: &[&str], time: &str) -> Outcome {
    let summary = Summary {
        id: id.to_string(),
        title: format!("title of {signature}"),
        signature: Some(signature.to_owned()),
        time: time.to_owned(),
        ..Summary::default()
    };
    let kinds = [("core", "elf-core"), ("log", "log")];
    Outcome {
        evidence: Some((evidence(signature), Vec::new())),
        diagnosis: format!("{{\"of\":\"{signature}\"}}"),
        made_with: made_with("1"),
        summary,
        causes: causes.iter().map(|cause| (*cause).to_owned()).collect(),
        kinds: kinds.map(|(name, kind)| (name.to_owned(), kind.to_owned())).to_vec(),
        kin: Kin::default(),
    }
}

/// Takes the one job there is.
pub async fn take(store: &impl Jobs) -> Option<Job> {
    let lease = Lease {
        owner: "worker".to_owned(),
        span: Duration::from_secs(1000),
        lane: Lane::Any,
    };
    store.take(&lease).await.unwrap()
}

/// Has a worker find this of a report.
pub async fn commit(store: &(impl Jobs + Outcomes), id: &ReportId, outcome: &Outcome) -> Result<u64> {
    store.enqueue(id, u64::MAX).await.unwrap();
    let job = take(store).await.expect("a job");
    assert_eq!(job.report, *id);
    store.commit(&job, outcome, KEPT).await
}

async fn add(store: &impl Records, host: &str) -> ReportId {
    let new = report(host, &[("core", b"1"), ("log", b"2")], 100);
    store.create(&new).await.unwrap();
    store.completed(&new.id).await.unwrap();
    new.id
}

pub async fn all_of_it_becomes_true_at_once(store: &(impl Records + Jobs + Outcomes + Outbox + Modules)) {
    let id = add(store, "a").await;
    let mut made = outcome(&id, "one", &["x", "y"], "2026-01-01T00:00:00Z");
    let module = ModuleUse {
        id: "ab".to_owned(),
        lacks_symbols: true,
    };
    made.evidence = Some((evidence("one"), vec![module]));
    commit(store, &id, &made).await.unwrap();
    let known = store.report(&id).await.unwrap().unwrap();
    assert_eq!((known.state, known.version), (ReportState::Done, 1));
    assert_eq!(known.happened.to_string(), "2026-01-01T00:00:00Z");
    assert_eq!(store.evidence(&id, None).await.unwrap(), Some(evidence("one")));
    let head = store
        .evidence(&id, Some(&["evidence", "unknown"]))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(head.parts, evidence("one").parts[..1]);
    let diagnosis = store.diagnosis(&id, None).await.unwrap().unwrap();
    assert_eq!((diagnosis.version, diagnosis.json.as_str()), (1, "{\"of\":\"one\"}"));
    assert_eq!(
        (diagnosis.evidence.as_str(), diagnosis.made_with),
        ("one", made_with("1"))
    );
    assert_eq!(store.counts().await.unwrap(), JobCounts::default());
    assert_eq!(store.waiting(10).await.unwrap()[0].report, id);
    let arrival = store.add_arrival("AB", false).await.unwrap();
    assert_eq!(store.count_reports_of(&arrival).await.unwrap(), 1);
}

pub async fn a_stale_worker_changes_nothing(store: &(impl Records + Jobs + Outcomes + Outbox)) {
    let id = add(store, "a").await;
    store.enqueue(&id, 10).await.unwrap();
    let soon_over = Lease {
        owner: "slow".to_owned(),
        span: Duration::from_secs(1),
        lane: Lane::Any,
    };
    let stale = store.take(&soon_over).await.unwrap().unwrap();
    HandClock::set(2);
    let current = take(store).await.unwrap();
    let made = outcome(&id, "stale", &["x"], "2026-01-01T00:00:00Z");
    let refused = store.commit(&stale, &made, KEPT).await;
    assert!(matches!(refused, Err(StoreError::LeaseLost(_))), "{refused:?}");
    assert_eq!(store.diagnosis(&id, None).await.unwrap(), None);
    assert_eq!(store.evidence(&id, None).await.unwrap(), None);
    assert_eq!(store.report(&id).await.unwrap().unwrap().state, ReportState::Processing);
    assert_eq!(store.waiting(10).await.unwrap(), []);
    store.commit(&current, &made, KEPT).await.unwrap();
    let again = store.commit(&current, &made, KEPT).await;
    assert!(matches!(again, Err(StoreError::LeaseLost(_))), "{again:?}");
}

pub async fn a_report_that_was_deleted_stays_deleted(store: &(impl Records + Jobs + Outcomes)) {
    let id = add(store, "a").await;
    store.enqueue(&id, 10).await.unwrap();
    let job = take(store).await.unwrap();
    assert!(store.delete(&id).await.unwrap());
    let made = outcome(&id, "late", &[], "2026-01-01T00:00:00Z");
    assert!(matches!(
        store.commit(&job, &made, KEPT).await,
        Err(StoreError::LeaseLost(_))
    ));
    assert_eq!(store.report(&id).await.unwrap(), None);
    assert_eq!(store.evidence(&id, None).await.unwrap(), None);
}

pub async fn diagnoses_are_versions(store: &(impl Records + Jobs + Outcomes)) {
    let id = add(store, "a").await;
    for (signature, causes) in [("one", ["x", "y"]), ("two", ["y", "z"])] {
        let made = outcome(&id, signature, &causes, "2026-01-01T00:00:00Z");
        commit(store, &id, &made).await.unwrap();
    }
    let causes: Vec<_> = store
        .causes()
        .await
        .unwrap()
        .into_iter()
        .map(|c| (c.cause, c.reports))
        .collect();
    assert_eq!(causes, [("y".to_owned(), 1), ("z".to_owned(), 1)]);
    assert_eq!(store.group("one", 10).await.unwrap(), None);
    let of = async |version| store.diagnosis(&id, version).await.unwrap().map(|record| record.json);
    assert_eq!(of(None).await.as_deref(), Some("{\"of\":\"two\"}"));
    assert_eq!(of(Some(1)).await.as_deref(), Some("{\"of\":\"one\"}"));
    assert_eq!(of(Some(3)).await, None);
    assert_eq!(of(Some(u64::MAX)).await, None);
    let same = Outcome {
        made_with: made_with("2"),
        ..outcome(&id, "two", &[], "2026-01-01T00:00:00Z")
    };
    commit(store, &id, &same).await.unwrap();
    let last = store.diagnosis(&id, None).await.unwrap().unwrap();
    assert_eq!(
        (last.version, last.made_with),
        (2, made_with("2")),
        "nothing new was said"
    );
    for number in 0..4 {
        let made = outcome(&id, &number.to_string(), &[], "2026-01-01T00:00:00Z");
        assert_eq!(commit(store, &id, &made).await.unwrap(), number + 3);
    }
    let versions: Vec<_> = store
        .diagnoses(&id)
        .await
        .unwrap()
        .iter()
        .map(|record| record.version)
        .collect();
    assert_eq!(versions, [6, 5, 4], "the last ones are kept");
}

pub async fn a_diagnosis_alone_leaves_the_evidence(store: &(impl Records + Jobs + Outcomes)) {
    let id = add(store, "a").await;
    commit(store, &id, &outcome(&id, "one", &[], "2026-01-01T00:00:00Z"))
        .await
        .unwrap();
    store
        .enqueue_all(std::slice::from_ref(&id), Work::Diagnose)
        .await
        .unwrap();
    let job = take(store).await.unwrap();
    assert_eq!(job.work, Work::Diagnose);
    let made = Outcome {
        evidence: None,
        ..outcome(&id, "two", &[], "2026-01-01T00:00:00Z")
    };
    store.commit(&job, &made, KEPT).await.unwrap();
    assert_eq!(store.evidence(&id, None).await.unwrap(), Some(evidence("one")));
    assert_eq!(store.diagnosis(&id, None).await.unwrap().unwrap().evidence, "one");
}

pub async fn what_is_to_be_read_while_it_is_diagnosed_is_read_after_it(store: &(impl Records + Jobs + Outcomes)) {
    let id = add(store, "a").await;
    let made = outcome(&id, "one", &[], "2026-01-01T00:00:00Z");
    commit(store, &id, &made).await.unwrap();
    let ids = std::slice::from_ref(&id);
    store.enqueue_all(ids, Work::Diagnose).await.unwrap();
    let job = take(store).await.unwrap();
    store.enqueue(&id, 10).await.unwrap();
    store.commit(&job, &made, KEPT).await.unwrap();
    let next = take(store).await.expect("it waits to be read");
    assert_eq!((next.work, next.attempt), (Work::Read, 1));
    store.commit(&next, &made, KEPT).await.unwrap();
    store.enqueue(&id, 10).await.unwrap();
    store.enqueue_all(ids, Work::Diagnose).await.unwrap();
    assert_eq!(
        take(store).await.unwrap().work,
        Work::Read,
        "reading it diagnoses it too"
    );
}

pub async fn outdated_diagnoses_are_found(store: &(impl Records + Jobs + Outcomes)) {
    let mut ids = Vec::new();
    for host in ["a", "b", "c", "d"] {
        let id = add(store, host).await;
        commit(store, &id, &outcome(&id, host, &[], "2026-01-01T00:00:00Z"))
            .await
            .unwrap();
        ids.push(id);
    }
    add(store, "without evidence").await;
    ids.sort();
    let newer = Outcome {
        made_with: made_with("2"),
        ..outcome(&ids[1], "new", &[], "2026-01-01T00:00:00Z")
    };
    commit(store, &ids[1], &newer).await.unwrap();
    let outdated = async |after, limit| store.outdated(&made_with("2"), 7, after, limit).await.unwrap();
    assert_eq!(
        outdated(None, 10).await,
        [ids[0].clone(), ids[2].clone(), ids[3].clone()]
    );
    assert_eq!(outdated(Some(&ids[0]), 1).await, [ids[2].clone()]);
    let by_a_later_reader = store.outdated(&made_with("2"), 8, None, 10).await.unwrap();
    assert_eq!(by_a_later_reader, ids, "all of them are to be read again");
}

pub async fn texts_go_with_their_artifacts_and_parts_are_referred_to(
    store: &(impl Records + Jobs + Outcomes + Upkeep),
) {
    let id = add(store, "a").await;
    for artifact in [Digest::of(b"1"), Digest::of(b"2")] {
        store.artifact_stored(&id, &artifact).await.unwrap();
    }
    commit(store, &id, &outcome(&id, "one", &[], "2026-01-01T00:00:00Z"))
        .await
        .unwrap();
    let part = Digest::of(b"one");
    assert_eq!(store.unreferenced(std::slice::from_ref(&part)).await.unwrap(), []);
    let later = Timestamp::from_second(200).unwrap();
    assert_eq!(store.expire_artifacts("log", later, 10).await.unwrap().len(), 1);
    let names = |evidence: StoredEvidence| evidence.parts.into_iter().map(|part| part.name).collect::<Vec<_>>();
    assert_eq!(
        names(store.evidence(&id, None).await.unwrap().unwrap()),
        ["evidence", "threads"]
    );
    store.delete(&id).await.unwrap();
    assert_eq!(store.unreferenced(std::slice::from_ref(&part)).await.unwrap(), [part]);
}

pub async fn symbols_that_come_are_counted(store: &(impl Outcomes + Modules)) {
    let before = store.symbol_generation().await.unwrap();
    let arrival = store.add_arrival("ab", false).await.unwrap();
    store.end_arrival(&arrival).await.unwrap();
    assert_eq!(store.symbol_generation().await.unwrap(), before + 1);
}

pub async fn what_is_queued_is_not_queued_again(store: &(impl Records + Jobs + Outcomes)) {
    let mut ids = Vec::new();
    for host in ["a", "b", "c"] {
        let id = add(store, host).await;
        commit(store, &id, &outcome(&id, host, &[], "2026-01-01T00:00:00Z"))
            .await
            .unwrap();
        ids.push(id);
    }
    ids.sort();
    add(store, "without evidence").await;
    let counted = async |version: &str| store.count_outdated(&made_with(version), 7).await.unwrap();
    let outdated = |reports| Outdated { reports, of: 3 };
    assert_eq!((counted("1").await, counted("2").await), (outdated(0), outdated(3)));
    store.enqueue_all(&ids[..1], Work::Diagnose).await.unwrap();
    assert_eq!(counted("2").await, outdated(2));
    let left = store.outdated(&made_with("2"), 7, None, 10).await.unwrap();
    assert_eq!(left, ids[1..]);
    let job = take(store).await.unwrap();
    assert_eq!(counted("2").await, outdated(2), "it is being diagnosed");
    store.fail(&job, "broken", None).await.unwrap();
    assert_eq!(
        counted("2").await,
        outdated(3),
        "what was given up is tried with what is new"
    );
    assert_eq!(store.make_outdated(Some(&ids[1..2])).await.unwrap(), 1);
    assert_eq!(counted("1").await, outdated(1));
    assert_eq!(store.make_outdated(None).await.unwrap(), 3);
    assert_eq!(counted("1").await, outdated(3));
}
