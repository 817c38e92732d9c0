//! What would be found with other plugins.

use whycrash_server::store::{
    Change, ChangeCount, Conclusion, Jobs, Looked, MadeWith, NewPreview, Outbox, Outcomes, PreviewState, Previews,
    Proposal, Records, ReportId, Summary,
};

use super::outcomes::{commit, outcome};
use super::report;

/// A report of this host of which nothing was found.
async fn add(store: &(impl Records + Jobs + Outcomes), host: &str) -> ReportId {
    let new = report(host, &[("core", b"1")], 100);
    store.create(&new).await.unwrap();
    let made = outcome(&new.id, host, &[], "2026-01-01T00:00:00Z");
    commit(store, &new.id, &made).await.unwrap();
    new.id
}

fn new() -> NewPreview {
    NewPreview {
        name: "team".to_owned(),
        version: "1.0.0".to_owned(),
        sha256: "ab".repeat(32),
        extension: "zip".to_owned(),
        query: None,
        made_with: MadeWith {
            plugins: "with team".to_owned(),
            knowledge: "k".to_owned(),
        },
    }
}

/// Another diagnosis of a report: this cause.
fn proposal(id: &ReportId, cause: &str) -> Proposal {
    Proposal {
        conclusion: Conclusion {
            diagnosis: format!("{{\"of\":{cause:?}}}"),
            made_with: new().made_with,
            summary: Summary {
                id: id.to_string(),
                title: format!("title of {cause}"),
                cause: Some(cause.to_owned()),
                ..Summary::default()
            },
            causes: vec![cause.to_owned()],
        },
        changes: vec![(Change::Gained, cause.to_owned())],
    }
}

fn looked(id: &ReportId, cause: Option<&str>) -> Looked {
    Looked {
        report: id.clone(),
        base: 1,
        proposal: cause.map(|cause| proposal(id, cause)),
    }
}

async fn body(store: &impl Outcomes, id: &ReportId) -> (u64, String) {
    let diagnosis = store.diagnosis(id, None).await.unwrap().unwrap();
    (diagnosis.version, diagnosis.json)
}

/// A preview that is ready and would find something in the first of two reports.
async fn ready(store: &(impl Records + Jobs + Outcomes + Previews)) -> (u64, ReportId, ReportId) {
    let (a, b) = (add(store, "a").await, add(store, "b").await);
    let number = store.create_preview(&new(), None).await.unwrap();
    let both = [looked(&a, Some("team-loss")), looked(&b, None)];
    assert!(store.note(number, &both).await.unwrap());
    let (from, to) = (PreviewState::Running, PreviewState::Ready);
    assert!(store.move_preview(number, from, to, None).await.unwrap());
    (number, a, b)
}

pub async fn a_preview_looks_at_each_report_once(store: &(impl Records + Jobs + Outcomes + Previews)) {
    let (a, b) = (add(store, "a").await, add(store, "b").await);
    store.create(&report("c", &[("core", b"1")], 100)).await.unwrap();
    let number = store.create_preview(&new(), None).await.unwrap();
    let mut waiting = store.not_looked_at(number, 10).await.unwrap();
    waiting.sort_unstable();
    let mut both = [a.clone(), b.clone()];
    both.sort_unstable();
    assert_eq!(waiting, both, "what was never read is out of scope");
    assert!(store.note(number, &[looked(&a, Some("team-loss"))]).await.unwrap());
    assert_eq!(store.not_looked_at(number, 10).await.unwrap(), std::slice::from_ref(&b));
    let record = store.preview(number).await.unwrap().unwrap();
    assert_eq!((record.reports, record.looked_at, record.changed), (2, 1, 1));
    assert_eq!((record.of, record.state), (new(), PreviewState::Running));
    let one = store
        .create_preview(&new(), Some(std::slice::from_ref(&b)))
        .await
        .unwrap();
    assert_eq!(store.not_looked_at(one, 10).await.unwrap(), std::slice::from_ref(&b));
    let numbers = store
        .previews()
        .await
        .unwrap()
        .into_iter()
        .map(|preview| preview.number);
    assert_eq!(numbers.collect::<Vec<_>>(), [one, number]);
    let (from, to) = (PreviewState::Running, PreviewState::Cancelled);
    assert!(store.move_preview(number, from, to, None).await.unwrap());
    assert!(!store.move_preview(number, from, to, None).await.unwrap());
    assert!(
        !store.note(number, &[looked(&b, None)]).await.unwrap(),
        "it was cancelled"
    );
    store.forget_preview(number).await.unwrap();
    assert_eq!(store.preview(number).await.unwrap(), None);
    assert_eq!(store.preview(u64::MAX).await.unwrap(), None);
    store.forget_preview(one).await.unwrap();
    assert!(store.preview(one).await.unwrap().is_some(), "it still runs");
}

pub async fn proposals_are_grouped_and_compared(store: &(impl Records + Jobs + Outcomes + Previews)) {
    let (number, a, b) = ready(store).await;
    let gained = ChangeCount {
        change: Change::Gained,
        cause: "team-loss".to_owned(),
        reports: 1,
    };
    assert_eq!(store.changes(number).await.unwrap(), [gained]);
    let changed = async |way, after: Option<&ReportId>| {
        let page = store.changed(number, way, after, 10).await.unwrap();
        let ids = page.entries.into_iter().map(|report| report.id);
        ids.collect::<Vec<String>>()
    };
    assert_eq!(changed(None, None).await, [a.to_string()]);
    assert_eq!(
        changed(Some((Change::Gained, "team-loss")), None).await,
        [a.to_string()]
    );
    assert!(changed(Some((Change::Lost, "team-loss")), None).await.is_empty());
    assert!(changed(None, Some(&a)).await.is_empty(), "it was on the page before");
    let pair = store.pair(number, &a).await.unwrap().unwrap();
    assert_eq!(
        (pair.before.as_str(), pair.after.as_str()),
        ("{\"of\":\"a\"}", "{\"of\":\"team-loss\"}")
    );
    assert_eq!(store.pair(number, &b).await.unwrap(), None);
}

pub async fn a_preview_is_applied_and_undone_in_one_step_each(
    store: &(impl Records + Jobs + Outcomes + Previews + Outbox),
) {
    let (number, a, b) = ready(store).await;
    let before = (
        body(store, &a).await,
        body(store, &b).await,
        store.list(None, 10).await.unwrap().entries,
    );
    store.indexed(&store.waiting(10).await.unwrap()).await.unwrap();
    assert_eq!(store.undo_preview(number).await.unwrap(), None, "it was not applied");
    let replaced = ("cd".repeat(32), "wasm".to_owned());
    assert_eq!(store.apply_preview(number, Some(&replaced)).await.unwrap(), Some(1));
    assert_eq!(store.apply_preview(number, None).await.unwrap(), None, "it was applied");
    assert_eq!(body(store, &a).await, (2, "{\"of\":\"team-loss\"}".to_owned()));
    assert_eq!(body(store, &b).await, before.1);
    let applied = store.preview(number).await.unwrap().unwrap();
    assert_eq!(
        (applied.state, applied.replaced),
        (PreviewState::Applied, Some(replaced))
    );
    let shown = store.list(None, 10).await.unwrap().entries;
    assert!(
        shown
            .iter()
            .any(|listed| listed.summary.cause.as_deref() == Some("team-loss"))
    );
    assert_eq!(store.causes().await.unwrap()[0].cause, "team-loss");
    let waiting = store.waiting(10).await.unwrap();
    assert_eq!(waiting.len(), 1, "the index follows");
    assert_eq!(waiting[0].report, a);
    let pair = store.pair(number, &a).await.unwrap().unwrap();
    assert_eq!(pair.after, "{\"of\":\"team-loss\"}", "it is told the same way round");
    assert_eq!(store.outdated(&new().made_with, 7, None, 10).await.unwrap(), [b]);

    assert_eq!(store.undo_preview(number).await.unwrap(), Some(1));
    assert_eq!(
        body(store, &a).await,
        (3, before.0.1),
        "a version more, which says what the first one said"
    );
    assert_eq!(store.list(None, 10).await.unwrap().entries, before.2);
    assert_eq!(store.causes().await.unwrap(), []);
    let pair = store.pair(number, &a).await.unwrap().unwrap();
    assert_eq!(pair.after, "{\"of\":\"team-loss\"}");
}

pub async fn what_became_true_meanwhile_stays(store: &(impl Records + Jobs + Outcomes + Previews)) {
    let (number, a, b) = ready(store).await;
    let other = outcome(&a, "read anew", &[], "2026-01-01T00:00:00Z");
    commit(store, &a, &other).await.unwrap();
    assert_eq!(store.apply_preview(number, None).await.unwrap(), Some(0));
    assert_eq!(body(store, &a).await, (2, "{\"of\":\"read anew\"}".to_owned()));
    assert_eq!(store.undo_preview(number).await.unwrap(), Some(0));
    // The same between the two steps.
    let number = store.create_preview(&new(), None).await.unwrap();
    assert!(store.note(number, &[looked(&b, Some("team-loss"))]).await.unwrap());
    let (from, to) = (PreviewState::Running, PreviewState::Ready);
    store.move_preview(number, from, to, None).await.unwrap();
    assert_eq!(store.apply_preview(number, None).await.unwrap(), Some(1));
    let other = outcome(&b, "read anew", &[], "2026-01-01T00:00:00Z");
    commit(store, &b, &other).await.unwrap();
    assert_eq!(store.undo_preview(number).await.unwrap(), Some(0));
    assert_eq!(body(store, &b).await, (3, "{\"of\":\"read anew\"}".to_owned()));
}

pub async fn a_report_that_is_deleted_leaves_its_previews(store: &(impl Records + Jobs + Outcomes + Previews)) {
    let (number, a, _) = ready(store).await;
    store.delete(&a).await.unwrap();
    assert_eq!(store.changes(number).await.unwrap(), []);
    assert_eq!(store.changed(number, None, None, 10).await.unwrap().entries, []);
    assert_eq!(store.apply_preview(number, None).await.unwrap(), Some(0));
}
