//! What an archive of any size costs: nothing may grow faster than what it is about.

use std::path::Path;
use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::prelude::*;
use tempfile::TempDir;
use whycrash_server::store::sqlite::Sqlite;
use whycrash_server::store::{JobCounts, Jobs, Lane, Lease, Records, ReportId, Work};

/// Jobs that are taken.
const TAKEN: i64 = 100;

/// A queue in which this many jobs wait.
async fn queue(folder: &TempDir, waiting: u64) -> Sqlite {
    let store = Sqlite::open(&folder.path().join(waiting.to_string())).unwrap();
    let ids: Vec<ReportId> = (0..waiting)
        .map(|number| format!("{number:032x}").parse().unwrap())
        .collect();
    store.enqueue_all(&ids, Work::Read).await.unwrap();
    store
}

/// Time that taking, finishing and adding a job needs.
async fn work(store: &Sqlite) -> Duration {
    let lease = Lease {
        owner: "worker".to_owned(),
        span: Duration::from_secs(1000),
        lane: Lane::Any,
    };
    let started = Instant::now();
    let job = store.take(&lease).await.unwrap().unwrap();
    store.finish(&job).await.unwrap();
    store.enqueue(&job.report, u64::MAX).await.unwrap();
    started.elapsed()
}

#[tokio::test]
async fn a_long_queue_is_as_quick_as_a_short_one() {
    let folder = TempDir::new().unwrap();
    let (short, long) = (queue(&folder, 500).await, queue(&folder, 20_000).await);
    let mut times = (Vec::new(), Vec::new());
    // In turns, so that whatever else the machine does slows both.
    for _ in 0..TAKEN {
        times.0.push(work(&short).await);
        times.1.push(work(&long).await);
    }
    // The fastest of each: what else the machine does only adds to it.
    let (short, long) = (times.0.into_iter().min().unwrap(), times.1.into_iter().min().unwrap());
    println!("a job of 500: {short:?}, of 20,000: {long:?}");
    // To look through all that wait, or to sort them, takes forty times as long and more.
    assert!(long < short * 4, "a job of 500 took {short:?}, of 20,000 {long:?}");
}

/// One step in the life of a queue of few reports.
async fn step(store: &Sqlite, action: u8, number: u8) {
    let lease = Lease {
        owner: "worker".to_owned(),
        span: Duration::from_secs(1000),
        lane: Lane::Any,
    };
    let report: ReportId = format!("{number:032x}").parse().unwrap();
    match action {
        0 => store.enqueue(&report, u64::MAX).await.unwrap(),
        1 => store.enqueue_all(&[report], Work::Diagnose).await.unwrap(),
        2 => drop(store.delete(&report).await.unwrap()),
        3 => drop(store.release(&lease.owner).await.unwrap()),
        _ => {
            let Some(job) = store.take(&lease).await.unwrap() else {
                return;
            };
            match action {
                4 => store.finish(&job).await.unwrap(),
                5 => store.fail(&job, "it failed", None).await.unwrap(),
                6 => store.fail(&job, "it failed", Some(Duration::ZERO)).await.unwrap(),
                7 => store.died(&job, "it died", 2).await.unwrap(),
                8 => store.postpone(&job, "no space", Duration::ZERO).await.unwrap(),
                _ => {}
            }
        }
    }
}

/// Jobs by state, from the rows themselves.
fn counted(file: &Path) -> JobCounts {
    let connection = rusqlite::Connection::open(file).unwrap();
    let count = |state: &str| {
        let sql = "SELECT count(*) FROM jobs WHERE state = ?1";
        connection.query_row(sql, [state], |row| row.get(0)).unwrap()
    };
    JobCounts {
        queued: count("queued"),
        running: count("running"),
        failed: count("failed"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn jobs_are_counted_right_whatever_becomes_of_them(steps in vec((0..10u8, 0..6u8), 1..60)) {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("records");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (kept, reads) = runtime.block_on(async {
            let store = Sqlite::open(&file).unwrap();
            for (action, number) in steps {
                step(&store, action, number).await;
            }
            let mut reads = 0;
            while store.has_waiting(reads + 1).await.unwrap() {
                reads += 1;
            }
            (store.counts().await.unwrap(), reads)
        });
        prop_assert_eq!(kept, counted(&file));
        let sql = "SELECT count(*) FROM jobs WHERE state = 'queued' AND work = 'read'";
        let waiting: u64 = rusqlite::Connection::open(&file).unwrap().query_row(sql, [], |row| row.get(0)).unwrap();
        prop_assert_eq!(reads, waiting);
    }
}
