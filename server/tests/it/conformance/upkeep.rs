//! What has grown old, or is referred to by nothing.

use jiff::Timestamp;
use whycrash_server::store::{Digest, JobCounts, Jobs, Outcomes, Records, ReportId, ReportState, Upkeep};

use super::outcomes::{commit, outcome};
use super::report;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// Adds a report with a core and a log that came at this second, with all its bytes.
async fn complete(store: &impl Records, host: &str, second: i64) -> ReportId {
    let new = report(host, &[("core", b"1"), ("log", b"2")], second);
    store.create(&new).await.unwrap();
    for artifact in &new.artifacts {
        store.artifact_stored(&new.id, &artifact.digest).await.unwrap();
    }
    store.completed(&new.id).await.unwrap();
    new.id
}

async fn done(store: &(impl Records + Jobs + Outcomes), host: &str, second: i64) -> ReportId {
    let id = complete(store, host, second).await;
    let made = outcome(&id, host, &["cause"], "2026-01-01T00:00:00Z");
    commit(store, &id, &made).await.unwrap();
    id
}

pub async fn what_is_deleted_leaves_nothing(store: &(impl Records + Jobs + Outcomes + Upkeep)) {
    let id = done(store, "a", 100).await;
    store.enqueue(&id, 10).await.unwrap();
    assert!(store.delete(&id).await.unwrap());
    assert!(!store.delete(&id).await.unwrap(), "it is gone already");
    assert_eq!(store.report(&id).await.unwrap(), None);
    assert_eq!(store.diagnosis(&id, None).await.unwrap(), None);
    assert_eq!(store.counts().await.unwrap(), JobCounts::default());
    assert_eq!(store.causes().await.unwrap(), []);
    assert_eq!(store.group("a", 1).await.unwrap(), None);
    let digests = [Digest::of(b"1"), Digest::of(b"2")];
    assert_eq!(store.unreferenced(&digests).await.unwrap(), digests);
    store.artifact_stored(&id, &digests[0]).await.unwrap();
    assert_eq!(store.report(&id).await.unwrap(), None);
}

pub async fn old_reports_are_found(store: &(impl Records + Jobs + Outcomes + Upkeep)) {
    let (newer, older) = (done(store, "a", 200).await, complete(store, "b", 100).await);
    done(store, "c", 300).await;
    store
        .create(&report("still coming", &[("core", b"1")], 50))
        .await
        .unwrap();
    assert_eq!(store.reports_before(at(300), 10).await.unwrap(), [older.clone(), newer]);
    assert_eq!(store.reports_before(at(300), 1).await.unwrap(), [older]);
    assert_eq!(store.reports_before(at(100), 10).await.unwrap(), []);
}

pub async fn uploads_that_stand_still_are_found(store: &(impl Records + Jobs + Outcomes + Upkeep)) {
    let still = report("still", &[("core", b"1")], 100);
    let goes_on = report("goes on", &[("core", b"1"), ("log", b"2")], 100);
    for new in [&still, &goes_on] {
        store.create(new).await.unwrap();
    }
    store.artifact_stored(&goes_on.id, &Digest::of(b"2")).await.unwrap();
    done(store, "done", 100).await;
    assert_eq!(store.unfinished_since(at(200), 10).await.unwrap(), [still.id]);
    assert_eq!(store.unfinished_since(at(100), 10).await.unwrap(), []);
}

pub async fn artifacts_expire_by_kind_and_age(store: &(impl Records + Jobs + Outcomes + Upkeep)) {
    let (old, new) = (done(store, "old", 100).await, done(store, "new", 300).await);
    let waiting = complete(store, "waiting", 100).await;
    let expired = store.expire_artifacts("elf-core", at(200), 10).await.unwrap();
    assert_eq!(expired.len(), 1, "{expired:?}");
    assert_eq!(
        (&expired[0].report, expired[0].name.as_str(), expired[0].bytes),
        (&old, "core", 1)
    );
    assert_eq!(store.expire_artifacts("elf-core", at(200), 10).await.unwrap(), []);
    let expired = async |id: &ReportId| -> Vec<bool> {
        let report = store.report(id).await.unwrap().unwrap();
        report
            .artifacts
            .iter()
            .map(|a| a.expired && !a.stored && !a.is_wanted())
            .collect()
    };
    assert_eq!(expired(&old).await, [true, false]);
    assert_eq!(expired(&new).await, [false, false]);
    assert_eq!(
        expired(&waiting).await,
        [false, false],
        "what is still to be read is kept"
    );
    assert!(
        store.diagnosis(&old, None).await.unwrap().is_some(),
        "what is known stays"
    );
}

pub async fn reports_with_expired_artifacts_are_not_read_again(store: &(impl Records + Jobs + Outcomes + Upkeep)) {
    let (old, new) = (done(store, "old", 100).await, done(store, "new", 300).await);
    store.expire_artifacts("elf-core", at(200), 10).await.unwrap();
    store.reopen(&old).await.unwrap();
    assert_eq!(store.reopen_all(&[old.clone(), new.clone()]).await.unwrap(), 1);
    let state = async |id: &ReportId| store.report(id).await.unwrap().unwrap().state;
    assert_eq!(
        (state(&old).await, state(&new).await),
        (ReportState::Done, ReportState::Processing)
    );
}

pub async fn unreferenced_bytes_are_told_apart(store: &(impl Records + Jobs + Outcomes + Upkeep)) {
    let old = done(store, "old", 100).await;
    let digests = [Digest::of(b"1"), Digest::of(b"2"), Digest::of(b"3")];
    assert_eq!(store.unreferenced(&digests).await.unwrap(), [digests[2].clone()]);
    store.expire_artifacts("elf-core", at(200), 10).await.unwrap();
    assert_eq!(
        store.unreferenced(&digests).await.unwrap(),
        [digests[0].clone(), digests[2].clone()]
    );
    store.create(&report("declared", &[("core", b"1")], 100)).await.unwrap();
    assert_eq!(
        store.unreferenced(&digests).await.unwrap(),
        [digests[2].clone()],
        "what is declared is referred to before its bytes are noted"
    );
    store.delete(&old).await.unwrap();
    store.compact().await.unwrap();
}
