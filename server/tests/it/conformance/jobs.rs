//! The job queue.

use std::time::Duration;

use whycrash_server::store::{
    JobCounts, Jobs, LARGE_BYTES, Lane, Lease, Records, ReportId, ReportState, StoreError, Work,
};

use super::{HandClock, report};

/// A lease that is asked for at this time.
fn at(second: i64) -> Lease {
    HandClock::set(second);
    Lease {
        owner: "worker".to_owned(),
        span: Duration::from_secs(10),
        lane: Lane::Any,
    }
}

fn id(name: &str) -> ReportId {
    report(name, &[("core", b"1")], 0).id
}

pub async fn a_job_is_taken_by_one(jobs: &impl Jobs) {
    jobs.enqueue(&id("a"), 10).await.unwrap();
    jobs.enqueue(&id("a"), 10).await.unwrap();
    let job = jobs.take(&at(0)).await.unwrap().unwrap();
    assert_eq!((job.report.clone(), job.attempt), (id("a"), 1));
    assert_eq!(
        jobs.take(&at(1)).await.unwrap(),
        None,
        "a report has one job, and it is taken"
    );
    jobs.enqueue(&id("a"), 10).await.unwrap();
    assert_eq!(
        jobs.take(&at(1)).await.unwrap(),
        None,
        "queueing a running job changes nothing"
    );
    jobs.finish(&job).await.unwrap();
    assert_eq!(jobs.counts().await.unwrap(), JobCounts::default());
    jobs.enqueue(&id("a"), 10).await.unwrap();
    assert_eq!(
        jobs.take(&at(2)).await.unwrap().unwrap().attempt,
        1,
        "a job after the last one ended is a new one"
    );
}

pub async fn a_lease_that_ran_out_is_void(jobs: &impl Jobs) {
    jobs.enqueue(&id("a"), 10).await.unwrap();
    let first = jobs.take(&at(0)).await.unwrap().unwrap();
    jobs.renew(&first, &at(5)).await.unwrap();
    assert_eq!(jobs.take(&at(11)).await.unwrap(), None, "the lease was renewed");
    let second = jobs.take(&at(15)).await.unwrap().unwrap();
    assert_eq!(second.attempt, 2);
    for result in [
        jobs.finish(&first).await,
        jobs.renew(&first, &at(16)).await,
        jobs.fail(&first, "late", None).await,
        jobs.fail(&first, "late", Some(Duration::ZERO)).await,
    ] {
        assert!(matches!(result, Err(StoreError::LeaseLost(_))), "{result:?}");
    }
    jobs.finish(&second).await.unwrap();
    assert!(matches!(jobs.finish(&second).await, Err(StoreError::LeaseLost(_))));
}

pub async fn the_queue_is_bounded(jobs: &impl Jobs) {
    jobs.enqueue(&id("a"), 2).await.unwrap();
    jobs.enqueue(&id("b"), 2).await.unwrap();
    assert!(matches!(jobs.enqueue(&id("c"), 2).await, Err(StoreError::QueueFull)));
    jobs.enqueue(&id("a"), 2).await.unwrap();
    jobs.take(&at(0)).await.unwrap().unwrap();
    jobs.enqueue(&id("c"), 2).await.unwrap();
    assert_eq!(
        jobs.counts().await.unwrap(),
        JobCounts {
            queued: 2,
            running: 1,
            failed: 0
        }
    );
}

pub async fn what_is_only_to_be_diagnosed_takes_nobodys_place(jobs: &impl Jobs) {
    jobs.enqueue_all(&[id("a"), id("b"), id("c")], Work::Diagnose)
        .await
        .unwrap();
    assert!(!jobs.has_waiting(1).await.unwrap());
    jobs.enqueue(&id("d"), 1).await.unwrap();
    assert!(jobs.has_waiting(1).await.unwrap());
    assert!(!jobs.has_waiting(2).await.unwrap());
}

pub async fn a_report_that_came_whole_is_added_with_its_job(store: &(impl Jobs + Records)) {
    let mut new = report("whole", &[("core", b"1")], 100);
    new.artifacts[0].stored = true;
    assert!(store.submit(&new, 1).await.unwrap());
    let record = store.report(&new.id).await.unwrap().unwrap();
    assert_eq!(record.state, ReportState::Processing);
    let job = store.take(&at(0)).await.unwrap().unwrap();
    assert_eq!((&job.report, job.work), (&new.id, Work::Read));

    assert!(!store.submit(&new, 1).await.unwrap(), "it is there already");
    store.finish(&job).await.unwrap();
    assert!(!store.submit(&new, 1).await.unwrap());
    assert_eq!(
        store.take(&at(0)).await.unwrap(),
        None,
        "it is being read, and by nobody twice"
    );

    let mut other = report("other", &[("core", b"1")], 100);
    other.artifacts[0].stored = true;
    store.enqueue(&id("waits"), 1).await.unwrap();
    assert!(matches!(store.submit(&other, 1).await, Err(StoreError::QueueFull)));
    assert_eq!(store.report(&other.id).await.unwrap(), None, "nothing of it is kept");
}

pub async fn what_was_declared_before_it_came_is_queued_when_it_comes_whole(store: &(impl Jobs + Records)) {
    let mut new = report("late", &[("core", b"1")], 100);
    assert!(store.create(&new).await.unwrap());
    new.artifacts[0].stored = true;
    assert!(!store.submit(&new, 1).await.unwrap());
    let record = store.report(&new.id).await.unwrap().unwrap();
    assert!(record.artifacts[0].stored);
    assert_eq!(record.state, ReportState::Processing);
    assert_eq!(store.take(&at(0)).await.unwrap().unwrap().report, new.id);
}

pub async fn failures_wait_and_end(jobs: &impl Jobs) {
    jobs.enqueue(&id("a"), 10).await.unwrap();
    let job = jobs.take(&at(0)).await.unwrap().unwrap();
    jobs.fail(&job, "it panicked", Some(Duration::from_secs(5)))
        .await
        .unwrap();
    assert_eq!(
        jobs.take(&at(4)).await.unwrap(),
        None,
        "it waits before it is tried again"
    );
    let job = jobs.take(&at(5)).await.unwrap().unwrap();
    assert_eq!(job.attempt, 2);
    jobs.fail(&job, "it panicked", None).await.unwrap();
    assert_eq!(jobs.take(&at(1000)).await.unwrap(), None, "it was given up");
    assert_eq!(
        jobs.counts().await.unwrap(),
        JobCounts {
            failed: 1,
            ..JobCounts::default()
        }
    );
    jobs.enqueue(&id("a"), 10).await.unwrap();
    let job = jobs.take(&at(1001)).await.unwrap().unwrap();
    assert_eq!(job.attempt, 1, "queueing it again starts anew");
}

pub async fn released_jobs_run_again(jobs: &impl Jobs) {
    jobs.enqueue(&id("a"), 10).await.unwrap();
    jobs.enqueue(&id("b"), 10).await.unwrap();
    let lost = jobs.take(&at(0)).await.unwrap().unwrap();
    let other = Lease {
        owner: "other".to_owned(),
        ..at(0)
    };
    jobs.take(&other).await.unwrap().unwrap();
    assert_eq!(jobs.release("worker").await.unwrap(), 1);
    jobs.enqueue(&id("c"), 10).await.unwrap();
    let again = jobs.take(&at(1)).await.unwrap().unwrap();
    assert_eq!(
        (again.report.clone(), again.attempt, again.deaths),
        (lost.report.clone(), 1, 0)
    );
    assert_eq!(jobs.take(&at(1)).await.unwrap().unwrap().report, id("c"));
    assert_eq!(jobs.take(&at(1)).await.unwrap(), None, "the other's lease stands");
    assert!(matches!(jobs.finish(&lost).await, Err(StoreError::LeaseLost(_))));
}

pub async fn what_is_to_wait_still_waits_after_a_restart(jobs: &impl Jobs) {
    for (name, pause) in [("a", 10), ("b", 15)] {
        jobs.enqueue(&id(name), 10).await.unwrap();
        let job = jobs.take(&at(0)).await.unwrap().unwrap();
        let pause = Duration::from_secs(pause);
        match name {
            "a" => jobs.postpone(&job, "the disk is full", pause).await.unwrap(),
            _ => jobs.fail(&job, "it panicked", Some(pause)).await.unwrap(),
        }
    }
    HandClock::set(5);
    assert_eq!(jobs.release("worker").await.unwrap(), 0, "nothing was lent");
    assert_eq!(jobs.take(&at(9)).await.unwrap(), None);
    assert_eq!(jobs.take(&at(10)).await.unwrap().unwrap().report, id("a"));
    assert_eq!(jobs.take(&at(14)).await.unwrap(), None);
    assert_eq!(jobs.take(&at(15)).await.unwrap().unwrap().report, id("b"));
}

pub async fn nothing_waits_longer_than_was_asked_because_a_clock_was_wrong(jobs: &impl Jobs) {
    jobs.enqueue(&id("a"), 10).await.unwrap();
    jobs.enqueue(&id("b"), 10).await.unwrap();
    let job = jobs.take(&at(1_000_000)).await.unwrap().unwrap();
    jobs.postpone(&job, "the disk is full", Duration::from_secs(10))
        .await
        .unwrap();
    let other = Lease {
        owner: "another".to_owned(),
        ..at(1_000_000)
    };
    assert_eq!(jobs.take(&other).await.unwrap().unwrap().report, id("b"));
    HandClock::set(100);
    jobs.release("worker").await.unwrap();
    assert_eq!(jobs.take(&at(109)).await.unwrap(), None);
    assert_eq!(jobs.take(&at(110)).await.unwrap().unwrap().report, id("a"));
    let lent = jobs.take(&at(110)).await.unwrap().unwrap();
    assert_eq!(
        lent.report,
        id("b"),
        "the lease of another ends when it would have ended"
    );
}

pub async fn what_kills_its_reader_ends_in_quarantine(jobs: &(impl Jobs + Records)) {
    let new = report("a", &[("core", b"1")], 0);
    jobs.create(&new).await.unwrap();
    jobs.completed(&new.id).await.unwrap();
    jobs.enqueue(&new.id, 10).await.unwrap();
    jobs.enqueue(&id("b"), 10).await.unwrap();
    let first = jobs.take(&at(0)).await.unwrap().unwrap();
    jobs.died(&first, "it took all memory", 2).await.unwrap();
    let other = jobs.take(&at(0)).await.unwrap().unwrap();
    assert_eq!(other.report, id("b"), "others come first");
    jobs.finish(&other).await.unwrap();
    let second = jobs.take(&at(0)).await.unwrap().unwrap();
    assert_eq!(
        (second.report.clone(), second.attempt, second.deaths),
        (new.id.clone(), 1, 1)
    );
    assert!(matches!(
        jobs.died(&first, "late", 2).await,
        Err(StoreError::LeaseLost(_))
    ));
    jobs.died(&second, "it took all memory", 2).await.unwrap();
    assert_eq!(jobs.take(&at(1000)).await.unwrap(), None);
    let known = jobs.report(&new.id).await.unwrap().unwrap();
    assert_eq!(known.state, ReportState::Quarantined);
    assert_eq!(known.failure.as_deref(), Some("it took all memory"));
    jobs.reopen(&new.id).await.unwrap();
    jobs.enqueue(&new.id, 10).await.unwrap();
    let again = jobs.take(&at(1000)).await.unwrap().unwrap();
    assert_eq!(
        (again.attempt, again.deaths),
        (1, 0),
        "who asks for it gets another try"
    );
}

pub async fn jobs_are_taken_in_order(jobs: &impl Jobs) {
    let names = ["d", "a", "c", "b"];
    for name in names {
        jobs.enqueue(&id(name), 10).await.unwrap();
    }
    for name in names {
        assert_eq!(jobs.take(&at(0)).await.unwrap().unwrap().report, id(name));
    }
}

pub async fn what_waits_through_no_fault_of_its_own_is_no_attempt(jobs: &impl Jobs) {
    jobs.enqueue(&id("a"), 10).await.unwrap();
    for round in 0..5 {
        let job = jobs.take(&at(round * 10)).await.unwrap().unwrap();
        assert_eq!(job.attempt, 1, "round {round}");
        let retry = Duration::from_secs(5);
        jobs.postpone(&job, "the disk is full", retry).await.unwrap();
        assert_eq!(jobs.take(&at(round * 10 + 4)).await.unwrap(), None, "it waits");
        let late = jobs.postpone(&job, "late", retry).await;
        assert!(matches!(late, Err(StoreError::LeaseLost(_))), "{late:?}");
    }
    assert_eq!(jobs.counts().await.unwrap().queued, 1);
}

pub async fn many_jobs_are_added_at_once(jobs: &impl Jobs) {
    jobs.enqueue(&id("b"), 10).await.unwrap();
    let job = jobs.take(&at(0)).await.unwrap().unwrap();
    jobs.enqueue_all(&[id("c"), id("b"), id("a")], Work::Read)
        .await
        .unwrap();
    assert_eq!(
        jobs.counts().await.unwrap().queued,
        2,
        "one of them has a job that runs"
    );
    for name in ["c", "a"] {
        assert_eq!(jobs.take(&at(1)).await.unwrap().unwrap().report, id(name));
    }
    jobs.finish(&job).await.unwrap();
}

pub async fn a_job_that_was_deleted_and_added_again_is_another(jobs: &(impl Jobs + Records)) {
    jobs.enqueue(&id("a"), 10).await.unwrap();
    let first = jobs.take(&at(0)).await.unwrap().unwrap();
    jobs.delete(&id("a")).await.unwrap();
    assert!(matches!(jobs.finish(&first).await, Err(StoreError::LeaseLost(_))));
    jobs.enqueue(&id("a"), 10).await.unwrap();
    let second = jobs.take(&at(1)).await.unwrap().unwrap();
    assert!(matches!(jobs.finish(&first).await, Err(StoreError::LeaseLost(_))));
    assert!(matches!(
        jobs.fail(&first, "late", None).await,
        Err(StoreError::LeaseLost(_))
    ));
    jobs.finish(&second).await.unwrap();
}

pub async fn large_reports_leave_a_lane_to_small_ones(jobs: &(impl Jobs + Records)) {
    let mut large = report("large", &[("core", b"1")], 0);
    large.artifacts[0].bytes = LARGE_BYTES;
    jobs.create(&large).await.unwrap();
    for id in [&large.id, &id("small")] {
        jobs.enqueue(id, 10).await.unwrap();
    }
    let small_only = Lease {
        lane: Lane::Small,
        ..at(0)
    };
    assert_eq!(jobs.take(&small_only).await.unwrap().unwrap().report, id("small"));
    assert_eq!(jobs.take(&small_only).await.unwrap(), None);
    assert_eq!(jobs.take(&at(0)).await.unwrap().unwrap().report, large.id);
}

pub async fn old_reports_leave_a_lane_to_new_ones(jobs: &impl Jobs) {
    jobs.enqueue_all(&[id("a"), id("b")], Work::Diagnose).await.unwrap();
    let new = Lease {
        lane: Lane::New,
        ..at(0)
    };
    assert_eq!(jobs.take(&new).await.unwrap(), None);
    jobs.enqueue(&id("c"), 10).await.unwrap();
    assert_eq!(jobs.unfinished(Work::Diagnose).await.unwrap(), 2);
    assert_eq!(jobs.take(&new).await.unwrap().unwrap().report, id("c"));
    let small = Lease {
        lane: Lane::Small,
        ..at(0)
    };
    let old = jobs.take(&small).await.unwrap().unwrap();
    assert_eq!(old.work, Work::Diagnose);
    assert_eq!(jobs.unfinished(Work::Diagnose).await.unwrap(), 2, "one of them runs");
    jobs.finish(&old).await.unwrap();
    assert_eq!(jobs.unfinished(Work::Diagnose).await.unwrap(), 1);
    assert_eq!(jobs.unfinished(Work::Read).await.unwrap(), 1);
}
