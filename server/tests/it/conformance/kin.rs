//! Reports of one incident find each other.

use whycrash_reading::OTHERS;
use whycrash_server::store::{Job, JobCounts, Jobs, Kin, NewReport, Outcome, Outcomes, Records, ReportId, Work};

use super::outcomes::{outcome, take};
use super::report;

const DAY: i64 = 24 * 3600;

fn known_by(id: &ReportId, job: Option<&str>, keys: &[&str], looked_at: &[&ReportId]) -> Outcome {
    let kin = Kin {
        job: job.map(str::to_owned),
        keys: keys.iter().map(|key| (*key).to_owned()).collect(),
        attempt: None,
        is_told: false,
        looked_at: looked_at.iter().map(|id| (*id).clone()).collect(),
    };
    Outcome {
        kin,
        ..outcome(id, "s", &[], "2026-01-01T00:00:00Z")
    }
}

async fn begin(store: &(impl Records + Jobs), new: &NewReport) -> Job {
    store.create(new).await.unwrap();
    store.enqueue(&new.id, 100).await.unwrap();
    take(store).await.unwrap()
}

/// Reads a report that is known by these.
async fn read(store: &(impl Records + Jobs + Outcomes), new: &NewReport, job: Option<&str>, keys: &[&str]) {
    let taken = begin(store, new).await;
    let kin = known_by(&new.id, job, keys, &[]).kin;
    let others = store.kin(&new.id, &kin).await.unwrap();
    let others: Vec<&ReportId> = others.iter().map(|other| &other.report).collect();
    let found = known_by(&new.id, job, keys, &others);
    store.commit(&taken, &found, 3).await.unwrap();
}

/// Diagnoses all that wait, and says which they were.
async fn diagnosed(store: &(impl Records + Jobs + Outcomes)) -> Vec<ReportId> {
    let mut reports = Vec::new();
    while let Some(job) = take(store).await {
        assert_eq!(job.work, Work::Diagnose);
        reports.push(job.report.clone());
        store.finish(&job).await.unwrap();
    }
    reports
}

pub async fn kin_have_a_key_in_common_and_name_no_other_job(store: &(impl Records + Jobs + Outcomes)) {
    let new = |number: i64, received: i64| report(&format!("h{number}"), &[("a", b"1")], received);
    let (same, other, nameless) = (new(1, DAY), new(2, DAY + 1), new(3, DAY + 2));
    let (stranger, late, mine) = (new(4, DAY + 3), new(5, 30 * DAY), new(6, DAY + 5));
    read(store, &same, Some("job"), &["call", "job"]).await;
    read(store, &other, Some("another"), &["call"]).await;
    read(store, &nameless, None, &["call"]).await;
    read(store, &stranger, None, &["nothing in common"]).await;
    read(store, &late, Some("job"), &["call", "job"]).await;
    store.create(&mine).await.unwrap();
    let kin = known_by(&mine.id, Some("job"), &["call", "job"], &[]).kin;
    let found = store.kin(&mine.id, &kin).await.unwrap();
    let found: Vec<(&ReportId, Option<&str>)> = found
        .iter()
        .map(|kinsman| (&kinsman.report, kinsman.job.as_deref()))
        .collect();
    assert_eq!(
        found,
        [(&same.id, Some("job")), (&nameless.id, None)],
        "in the order they came"
    );
    assert!(store.kin(&mine.id, &Kin::default()).await.unwrap().is_empty());
    assert!(store.delete(&same.id).await.unwrap());
    assert_eq!(store.kin(&mine.id, &kin).await.unwrap().len(), 1);
}

pub async fn a_report_that_is_read_has_its_kin_diagnosed_again(store: &(impl Records + Jobs + Outcomes)) {
    let (one, two) = (report("a", &[("a", b"1")], 1), report("b", &[("a", b"1")], 2));
    read(store, &one, Some("job"), &["job"]).await;
    assert!(diagnosed(store).await.is_empty(), "it has no kin yet");
    read(store, &two, Some("job"), &["job"]).await;
    assert_eq!(diagnosed(store).await, std::slice::from_ref(&one.id));
    store
        .enqueue_all(std::slice::from_ref(&one.id), Work::Diagnose)
        .await
        .unwrap();
    let job = take(store).await.unwrap();
    let again = Outcome {
        evidence: None,
        ..known_by(&one.id, Some("job"), &["job"], &[&two.id])
    };
    store.commit(&job, &again, 3).await.unwrap();
    let counts = store.counts().await.unwrap();
    assert_eq!(counts, JobCounts::default(), "both take each other into account");
}

pub async fn kin_that_came_meanwhile_are_taken_into_account(store: &(impl Records + Jobs + Outcomes)) {
    let (one, two) = (report("a", &[("a", b"1")], 1), report("b", &[("a", b"1")], 2));
    let (first, second) = (begin(store, &one).await, begin(store, &two).await);
    for (job, id) in [(first, &one.id), (second, &two.id)] {
        let alone = known_by(id, Some("job"), &["job"], &[]);
        store.commit(&job, &alone, 3).await.unwrap();
    }
    let mut waiting = diagnosed(store).await;
    waiting.sort();
    let mut both = vec![one.id, two.id];
    both.sort();
    assert_eq!(waiting, both);
}

/// Reads a report that has nothing to be judged, where a plugin asks for others of its attempt, or where none does.
async fn read_alike(store: &(impl Records + Jobs + Outcomes), new: &NewReport, is_told: bool) {
    let taken = begin(store, new).await;
    let mut found = known_by(&new.id, Some("job"), &[], &[]);
    found.kin.attempt = Some("attempt".to_owned());
    found.kin.is_told = is_told;
    let others = store.kin(&new.id, &found.kin).await.unwrap();
    found.kin.looked_at = others.into_iter().map(|other| other.report).collect();
    store.commit(&taken, &found, 3).await.unwrap();
}

pub async fn of_very_many_reports_of_an_attempt_those_that_came_first_are_told(
    store: &(impl Records + Jobs + Outcomes),
) {
    let new = |number: usize| report(&format!("h{number}"), &[("a", b"1")], number as i64);
    for number in 1..=OTHERS {
        read_alike(store, &new(number), false).await;
    }
    assert_eq!(diagnosed(store).await, [], "nobody asks");
    read_alike(store, &new(OTHERS + 1), true).await;
    assert_eq!(diagnosed(store).await.len(), OTHERS, "each has a place left");
    read_alike(store, &new(OTHERS + 2), true).await;
    assert_eq!(diagnosed(store).await, [], "nobody is told of it");
    // Those that have nothing to be judged take no part in what is.
    let judged = known_by(&new(1).id, Some("job"), &["job"], &[]).kin;
    assert!(store.kin(&new(1).id, &judged).await.unwrap().is_empty());
}
