//! Reports.

use whycrash_server::store::{Digest, Jobs, Outcomes, Records, ReportState};

use super::outcomes::{commit, outcome, take};
use super::report;

pub async fn a_report_is_added_once(records: &impl Records) {
    let new = report("a", &[("core", b"1"), ("log", b"2")], 100);
    assert!(records.create(&new).await.unwrap());
    assert!(!records.create(&new).await.unwrap());
    let found = records.report(&new.id).await.unwrap().unwrap();
    assert_eq!(found.metadata, new.metadata);
    assert_eq!(found.artifacts, new.artifacts);
    assert_eq!(
        (
            found.received,
            found.happened,
            found.state,
            found.failure,
            found.version
        ),
        (new.received, new.received, ReportState::Uploading, None, 0)
    );
    let other = report("b", &[("core", b"1")], 100);
    assert_eq!(records.report(&other.id).await.unwrap(), None);
}

pub async fn records_move_forward(records: &(impl Records + Jobs + Outcomes)) {
    let new = report("a", &[("core", b"1")], 100);
    records.create(&new).await.unwrap();
    let state = async || records.report(&new.id).await.unwrap().unwrap().state;
    records.reopen(&new.id).await.unwrap();
    assert_eq!(
        state().await,
        ReportState::Uploading,
        "only what was complete can be reopened"
    );
    records.completed(&new.id).await.unwrap();
    assert_eq!(state().await, ReportState::Processing);
    records.enqueue(&new.id, 10).await.unwrap();
    let job = take(records).await.unwrap();
    records.fail(&job, "it panicked", None).await.unwrap();
    let failed = records.report(&new.id).await.unwrap().unwrap();
    assert_eq!(
        (failed.state, failed.failure.as_deref()),
        (ReportState::Failed, Some("it panicked"))
    );
    records.completed(&new.id).await.unwrap();
    assert_eq!(state().await, ReportState::Processing);
    let made = outcome(&new.id, "s", &[], "2026-01-01T00:00:00Z");
    commit(records, &new.id, &made).await.unwrap();
    records.completed(&new.id).await.unwrap();
    let done = records.report(&new.id).await.unwrap().unwrap();
    assert_eq!((done.state, done.failure), (ReportState::Done, None));
    records.reopen(&new.id).await.unwrap();
    assert_eq!(state().await, ReportState::Processing);
    assert!(
        records.diagnosis(&new.id, None).await.unwrap().is_some(),
        "what is known stays until it is replaced"
    );
}

pub async fn lists_are_newest_first(records: &impl Records) {
    for second in 0..5 {
        records
            .create(&report(&format!("host{second}"), &[("core", b"1")], second))
            .await
            .unwrap();
    }
    let page = records.list(None, 2).await.unwrap();
    let times: Vec<_> = page.entries.iter().map(|listed| listed.summary.time.as_str()).collect();
    assert_eq!(times, ["1970-01-01T00:00:04Z", "1970-01-01T00:00:03Z"]);
    assert_eq!(page.entries[0].state, ReportState::Uploading);
    assert_eq!(page.entries[0].summary.title, "core");
    assert_eq!(records.count().await.unwrap(), 5);
}

/// As reports come and go while somebody looks through them, many of them at one moment.
pub async fn pages_of_a_list_show_each_report_once(records: &impl Records) {
    let add = async |name: String, second: i64| {
        let new = report(&name, &[("core", b"1")], second);
        records.create(&new).await.unwrap();
        new.id
    };
    let mut there = Vec::new();
    for number in 0..9 {
        there.push(add(format!("at once {number}"), 100).await);
        there.push(add(format!("{number}"), number).await);
    }
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let page = records.list(after.as_ref(), 4).await.unwrap();
        seen.extend(page.entries.into_iter().map(|listed| listed.place.id));
        add(format!("came meanwhile {}", seen.len()), 200).await;
        let shown = seen.first().unwrap();
        records.delete(shown).await.unwrap();
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    seen.sort();
    there.sort();
    assert_eq!(seen, there);
}

pub async fn groups_count_reports(records: &(impl Records + Jobs + Outcomes)) {
    let days = ["2026-01-03T00:00:00Z", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"];
    let mut ids = Vec::new();
    for (number, day) in days.iter().enumerate() {
        let new = report(&format!("host{number}"), &[("core", b"1")], 100);
        records.create(&new).await.unwrap();
        let made = outcome(&new.id, "same", &["x"], day);
        commit(records, &new.id, &made).await.unwrap();
        ids.push(new.id.to_string());
    }
    let group = records.group("same", 2).await.unwrap().unwrap();
    assert_eq!(
        (group.count, group.first_seen.as_str(), group.last_seen.as_str()),
        (3, days[1], days[0])
    );
    let latest: Vec<_> = group.latest.iter().map(|summary| summary.id.clone()).collect();
    assert_eq!(latest, [ids[0].clone(), ids[2].clone()]);
    assert_eq!(records.group("other", 2).await.unwrap(), None);
    let sizes = records
        .group_sizes(&["other".to_owned(), "same".to_owned()])
        .await
        .unwrap();
    assert_eq!(sizes, [0, 3]);
}

pub async fn artifacts_are_noted_by_digest(records: &impl Records) {
    let new = report("a", &[("core", b"1"), ("copy", b"1"), ("log", b"2")], 100);
    records.create(&new).await.unwrap();
    records.artifact_stored(&new.id, &Digest::of(b"1")).await.unwrap();
    records.artifact_stored(&new.id, &Digest::of(b"unknown")).await.unwrap();
    let stored: Vec<_> = records
        .report(&new.id)
        .await
        .unwrap()
        .unwrap()
        .artifacts
        .iter()
        .map(|artifact| artifact.stored)
        .collect();
    assert_eq!(stored, [true, true, false]);
}

pub async fn states_are_walked_in_pages(records: &impl Records) {
    let mut expected = Vec::new();
    for number in 0..7 {
        let new = report(&format!("host{number}"), &[("core", b"1")], 100);
        records.create(&new).await.unwrap();
        if number > 1 {
            records.completed(&new.id).await.unwrap();
            expected.push(new.id);
        }
    }
    expected.sort();
    let (mut walked, mut last) = (Vec::new(), None);
    loop {
        let page = records
            .in_state(ReportState::Processing, last.as_ref(), 2)
            .await
            .unwrap();
        let Some(end) = page.last().cloned() else { break };
        last = Some(end);
        walked.extend(page);
    }
    assert_eq!(walked, expected);
}

pub async fn reports_are_found_by_how_their_ids_begin(store: &impl Records) {
    let mut ids = Vec::new();
    for number in 0..40 {
        let new = report(&format!("host-{number}"), &[("core", b"1")], 100);
        store.create(&new).await.unwrap();
        ids.push(new.id);
    }
    ids.sort();
    for id in &ids {
        for digits in [1, 2, 31, 32] {
            let beginning = &id.as_str()[..digits];
            let found = store.beginning_with(beginning, 100).await.unwrap();
            let found: Vec<_> = found.into_iter().map(|listed| listed.place.id).collect();
            let expected: Vec<_> = ids
                .iter()
                .filter(|id| id.as_str().starts_with(beginning))
                .cloned()
                .collect();
            assert_eq!(found, expected, "{beginning}");
        }
    }
    assert_eq!(store.beginning_with("", 7).await.unwrap().len(), 7);
}
