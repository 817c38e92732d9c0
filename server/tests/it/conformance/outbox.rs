//! What the index has still to take over.

use jiff::Timestamp;
use whycrash_server::store::{Jobs, Outbox, Outcomes, Records, ReportId};

use super::outcomes::{commit, outcome};
use super::report;

/// Adds a report of this host of which something was found.
async fn add(store: &(impl Records + Jobs + Outcomes), host: &str) -> ReportId {
    let new = report(host, &[("core", b"1")], 100);
    store.create(&new).await.unwrap();
    put(store, &new.id).await;
    new.id
}

async fn put(store: &(impl Jobs + Outcomes), id: &ReportId) {
    let made = outcome(id, "s", &[], "2026-01-01T00:00:00Z");
    commit(store, id, &made).await.unwrap();
}

async fn waiting(outbox: &impl Outbox) -> Vec<ReportId> {
    let waiting = outbox.waiting(100).await.unwrap();
    waiting.into_iter().map(|waiting| waiting.report).collect()
}

pub async fn changes_wait_in_order(store: &(impl Records + Jobs + Outcomes + Outbox)) {
    assert_eq!(store.backlog().await.unwrap().waiting, 0);
    let started = Timestamp::now();
    let (b, a, c) = (add(store, "b").await, add(store, "a").await, add(store, "c").await);
    assert_eq!(waiting(store).await, [b.clone(), a.clone(), c.clone()]);
    put(store, &b).await;
    assert_eq!(
        waiting(store).await,
        [a, c, b],
        "a report waits once, for its latest change"
    );
    assert_eq!(store.waiting(2).await.unwrap().len(), 2);
    let backlog = store.backlog().await.unwrap();
    assert_eq!(backlog.waiting, 3);
    assert!(backlog.oldest.unwrap().as_millisecond() >= started.as_millisecond());
    store.indexed(&store.waiting(100).await.unwrap()).await.unwrap();
    assert_eq!(
        (waiting(store).await, store.backlog().await.unwrap().oldest),
        (vec![], None)
    );
}

pub async fn a_change_while_another_is_indexed_goes_on_waiting(store: &(impl Records + Jobs + Outcomes + Outbox)) {
    let (a, b) = (add(store, "a").await, add(store, "b").await);
    let taken = store.waiting(100).await.unwrap();
    put(store, &a).await;
    store.indexed(&taken).await.unwrap();
    assert_eq!(waiting(store).await, [a]);
    store.index_again(std::slice::from_ref(&b)).await.unwrap();
    assert!(waiting(store).await.contains(&b));
}

pub async fn everything_can_wait_again(store: &(impl Records + Jobs + Outcomes + Outbox)) {
    let mut ids = Vec::new();
    for host in 0..5 {
        ids.push(add(store, &host.to_string()).await);
    }
    ids.sort();
    store.create(&report("unread", &[("core", b"1")], 100)).await.unwrap();
    store.indexed(&store.waiting(100).await.unwrap()).await.unwrap();
    assert_eq!(store.documented(None, 3).await.unwrap(), ids[..3]);
    assert_eq!(store.documented(Some(&ids[2]), 3).await.unwrap(), ids[3..]);
    let without = report("without document", &[("core", b"1")], 100).id;
    let asked = [ids[1].clone(), without.clone(), ids[4].clone()];
    assert_eq!(store.undocumented(&asked).await.unwrap(), [without]);
    let (until, total) = store.index_all().await.unwrap();
    let all = store.waiting(100).await.unwrap();
    assert_eq!((total, all.len()), (5, 5));
    assert!(all.iter().all(|waiting| waiting.change <= until));
    put(store, &ids[0]).await;
    let last = store.waiting(100).await.unwrap().pop().unwrap();
    assert!(
        last.report == ids[0] && last.change > until,
        "what changes later comes after it"
    );
}

pub async fn what_is_deleted_waits_to_leave_the_index(store: &(impl Records + Jobs + Outcomes + Outbox)) {
    let id = add(store, "a").await;
    store.indexed(&store.waiting(100).await.unwrap()).await.unwrap();
    assert!(store.delete(&id).await.unwrap());
    assert_eq!(waiting(store).await, std::slice::from_ref(&id));
    assert_eq!(store.diagnosis(&id, None).await.unwrap(), None);
}
