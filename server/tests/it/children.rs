//! Reports are read by processes of their own, which may die.

use std::fs;
use std::time::{Duration, Instant};

use reqwest::{Method, StatusCode};
use serde_json::json;
use tempfile::TempDir;

use crate::durability::Process;
use crate::support::{PATIENCE, Server, client, inline, ok, traceback};

/// A minidump that is small as it is sent, and needs this many bytes of memory to be read.
fn bomb(bytes: usize) -> Vec<u8> {
    let mut dump = b"MDMP".to_vec();
    dump.resize(bytes, 0);
    zstd::encode_all(dump.as_slice(), 1).unwrap()
}

/// Processes that a process has started.
fn children(of: u32) -> Vec<i32> {
    let tasks = fs::read_dir(format!("/proc/{of}/task")).unwrap();
    let of_task = |task: fs::DirEntry| fs::read_to_string(task.path().join("children")).unwrap_or_default();
    let all: Vec<String> = tasks.map(|task| of_task(task.unwrap())).collect();
    let pids = all.iter().flat_map(|list| list.split_whitespace());
    pids.map(|pid| pid.parse().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_report_that_exhausts_memory_ends_in_quarantine_and_nothing_else_does() {
    let server = Server::with(|config| {
        config.workers.memory_bytes = 64 << 20;
        config.workers.threads = 2;
        config.limits.provisional_bytes = 0;
    })
    .await;
    let bad = server.send(json!({}), &[("bad.dmp", &bomb(200 << 20))]).await;
    let mut good = Vec::new();
    for number in 0..20 {
        let log = traceback(&format!("{number}.00"));
        good.push(
            server
                .send(json!({"number": number}), &[("train.log", log.as_bytes())])
                .await,
        );
    }
    for id in &good {
        let document = server.processed(id).await;
        assert_eq!(document["state"], "done");
        assert!(!document["findings"].as_array().unwrap().is_empty());
    }
    let document = server.processed(&bad).await;
    assert_eq!(document["state"], "quarantined", "{document}");
    let failure = document["failure"].as_str().unwrap();
    assert!(failure.contains("no more memory"), "{failure}");
    assert_eq!(document["report"]["artifacts"][0]["name"], "bad.dmp");
    // Asked for, it is tried again, and ends there again.
    let path = format!("/api/v1/reports/{bad}/diagnoses");
    let again = server.request(Method::POST, &path).send().await.unwrap();
    assert_eq!(again.status(), StatusCode::ACCEPTED);
    assert_eq!(server.processed(&bad).await["state"], "quarantined");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_is_killed_between_reports_costs_none_of_them() {
    let folder = TempDir::new().unwrap();
    let server = Process::start(folder.path());
    let client = client();
    for number in 0..3 {
        let log = traceback(&format!("{number}.00"));
        let body = json!({"metadata": {"number": number}, "artifacts": [inline("train.log", log.as_bytes())]});
        let sent = client
            .post(format!("{}/api/v1/reports", server.url()))
            .json(&body)
            .send();
        let id = ok(sent.await.unwrap()).await["id"].as_str().unwrap().to_owned();
        let address = format!("{}/api/v1/reports/{id}", server.url());
        let deadline = Instant::now() + PATIENCE;
        loop {
            let document = ok(client.get(&address).send().await.unwrap()).await;
            match document["state"].as_str() {
                Some("done") => break,
                Some("processing") => assert!(Instant::now() < deadline, "{document}"),
                _ => panic!("{document}"),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let readers = children(server.id());
        assert!(!readers.is_empty(), "reports are read by children");
        for reader in readers {
            let pid = rustix::process::Pid::from_raw(reader).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        }
        // They must not be taken for alive.
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
