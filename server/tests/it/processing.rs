//! What workers make of reports.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;
use whycrash_server::services::Services;
use whycrash_server::store::sqlite::Sqlite;
use whycrash_server::store::{Jobs as _, Lane, Lease, Records as _, ReportId};

use crate::support::{Hooked, Server, config, noise, traceback};

/// A server whose reader panics on artifacts named `panic`, and on those named `twice` the first two times.
async fn panicking() -> Server {
    let folder = TempDir::new().unwrap();
    let mut config = config(folder.path());
    config.limits.provisional_bytes = 0;
    let mut services = Services::open(config).unwrap();
    let calls = AtomicU32::new(0);
    services.reader = Hooked::before(services.reader, move |input| {
        let name = input.artifacts[0].name.as_str();
        let call = calls.fetch_add(1, Ordering::SeqCst);
        assert!(
            name != "panic" && (name != "twice" || call >= 2),
            "the reader trips over {name}"
        );
    });
    Server::over(folder, services).await
}

#[tokio::test]
async fn a_report_whose_reading_panics_is_shown_with_the_reason() {
    let server = panicking().await;
    let id = server.send(json!({}), &[("panic", b"1")]).await;
    let document = server.processed(&id).await;
    assert_eq!(document["state"], "failed");
    assert_eq!(document["failure"], "reading it panicked: the reader trips over panic");
    assert_eq!(
        document["report"]["artifacts"][0]["name"], "panic",
        "what was sent is still shown"
    );
    let next = server.send(json!({}), &[("fine", b"1")]).await;
    assert_eq!(server.processed(&next).await["state"], "done", "the worker goes on");
    let metrics = server.get("/metrics").send().await.unwrap().text().await.unwrap();
    assert!(metrics.contains("whycrash_jobs{state=\"failed\"} 1"), "{metrics}");
}

#[tokio::test]
async fn a_report_that_failed_is_tried_again() {
    let server = panicking().await;
    let id = server.send(json!({}), &[("twice", b"1")]).await;
    assert_eq!(server.processed(&id).await["state"], "done", "the third attempt works");
    let failing = server.send(json!({}), &[("panic", b"1")]).await;
    server.processed(&failing).await;
    let complete = server
        .post(&format!("/api/v1/reports/{failing}/complete"))
        .send()
        .await
        .unwrap();
    assert!(
        complete.status().is_success(),
        "completing a failed report starts it again"
    );
    assert_eq!(server.processed(&failing).await["state"], "failed");
}

#[tokio::test]
async fn odd_artifacts_are_named_and_never_lost() {
    let server = Server::start().await;
    let log = traceback("1.00");
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("empty", Vec::new()),
        ("random", noise(100_000, 11)),
        ("core-cut-short", [b"\x7fELF\x02\x01\x01".as_slice(), &[0; 20]].concat()),
        (
            "elf-nonsense",
            [b"\x7fELF\x02\x01\x01".as_slice(), &noise(4096, 12)].concat(),
        ),
        ("snapshot.pickle", [b"\x80\x04".as_slice(), &noise(4096, 13)].concat()),
        ("memo-bomb.pickle", b"\x80\x04(((((((((((((((((".to_vec()),
        ("dump.dmp", [b"MDMP".as_slice(), &noise(4096, 14)].concat()),
        ("log.gz", b"\x1f\x8b\x08nonsense".to_vec()),
        ("log.zst", b"\x28\xb5\x2f\xfdnonsense".to_vec()),
        ("train.log", log.as_bytes()[..log.len() / 2].to_vec()),
        ("picture.log", b"\x89PNG\r\n\x1a\n".to_vec()),
        ("error.json", b"{\"message\": ".to_vec()),
    ];
    for (name, bytes) in &cases {
        let id = server.send(json!({"case": name}), &[(name, bytes)]).await;
        let document = server.processed(&id).await;
        assert_eq!(document["state"], "done", "{name}: {document}");
        assert_eq!(document["report"]["artifacts"][0]["bytes"], bytes.len(), "{name}");
        let path = format!("/api/v1/reports/{id}/artifacts/{name}");
        assert_eq!(
            server.get(&path).send().await.unwrap().bytes().await.unwrap(),
            bytes,
            "{name}"
        );
    }
    assert_eq!(server.json("/api/v1/search").await["total"], cases.len());
}

#[tokio::test]
async fn a_deleted_index_comes_back() {
    let server = Server::start().await;
    let ids = [
        server
            .send(json!({"host": "a"}), &[("train.log", traceback("20.00").as_bytes())])
            .await,
        server
            .send(json!({"host": "b"}), &[("train.log", traceback("30.00").as_bytes())])
            .await,
    ];
    for id in &ids {
        server.processed(id).await;
    }
    let before = server.find("OutOfMemoryError").await;
    assert_eq!(before["total"], 2);
    let documents = server.json(&format!("/api/v1/reports/{}", ids[0])).await;

    let server = server
        .restart(|data| std::fs::remove_dir_all(data.join("index")).unwrap())
        .await;
    server.indexed().await;
    assert_eq!(server.find("OutOfMemoryError").await["total"], 2);
    let again = server.json(&format!("/api/v1/reports/{}", ids[0])).await;
    assert_eq!(again, documents);
}

#[tokio::test]
async fn a_restart_takes_up_its_own_jobs_at_once_and_leaves_those_of_another_server() {
    let server = Server::start().await;
    let mine = server.send(json!({"host": "a"}), &[("train.log", b"one\n")]).await;
    let other = server.send(json!({"host": "b"}), &[("train.log", b"two\n")]).await;
    for id in [&mine, &other] {
        server.processed(id).await;
    }
    let reports: [ReportId; 2] = [mine.parse().unwrap(), other.parse().unwrap()];
    let server = server.restart(|data| {
        let name = std::fs::read_to_string(data.join("name")).unwrap();
        let store = Sqlite::open(&data.join("whycrash.sqlite")).unwrap();
        let left = async move {
            for (report, owner) in reports.iter().zip([name, "another server".to_owned()]) {
                store.reopen(report).await.unwrap();
                store.enqueue(report, 100).await.unwrap();
                let lease = Lease {
                    owner,
                    span: Duration::from_secs(10_000),
                    lane: Lane::Any,
                };
                store.take(&lease).await.unwrap().unwrap();
            }
        };
        let runtime = || tokio::runtime::Runtime::new().unwrap();
        std::thread::spawn(move || runtime().block_on(left)).join().unwrap();
    });
    let server = server.await;
    assert_eq!(server.processed(&mine).await["state"], "done");
    let state = server.json(&format!("/api/v1/reports/{other}/state")).await;
    assert_eq!(state["state"], "processing", "its lease is not over");
}
