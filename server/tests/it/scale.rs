//! What an archive of any size costs: nothing may grow faster than what it is about.

use std::time::{Duration, Instant};

use tempfile::TempDir;
use whycrash_server::store::sqlite::Sqlite;
use whycrash_server::store::{Jobs, Lane, Lease, ReportId, Work};

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
    // Whoever adds a job counts those that wait, as far as the limit, in an index: that is a few times as long. To look
    // through all of them or to sort them takes forty times as long and more.
    assert!(long < short * 12, "a job of 500 took {short:?}, of 20,000 {long:?}");
}
