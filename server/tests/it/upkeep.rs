//! Reports are deleted for good, and nothing grows for ever.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, SystemTime};

use reqwest::{Method, StatusCode};
use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;
use whycrash_server::services::Services;
use whycrash_server::store::Digest;

use crate::raw::eventually;
use crate::support::{Hooked, PATIENCE, Server, config, declared, inline, noise, ok, problem, traceback};

const DAY: u64 = 24 * 3600;

fn blob(data: &Path, bytes: &[u8]) -> PathBuf {
    let digest = Digest::of(bytes).to_string();
    data.join("blobs/sha256").join(&digest[..2]).join(digest)
}

/// Makes a file look as if nothing had touched it for a while.
fn age(file: &Path, seconds: u64) {
    let time = SystemTime::now() - Duration::from_secs(seconds);
    fs::File::options()
        .write(true)
        .open(file)
        .unwrap()
        .set_modified(time)
        .unwrap();
}

/// Makes a report look as if it had come a while ago.
fn age_report(data: &Path, id: &str, seconds: u64) {
    let database = Connection::open(data.join("whycrash.sqlite")).unwrap();
    database.busy_timeout(PATIENCE).unwrap();
    let changed = database
        .execute(
            "UPDATE reports SET received = received - ?2, touched = touched - ?2 WHERE id = ?1",
            (id, seconds * 1000),
        )
        .unwrap();
    assert_eq!(changed, 1);
}

async fn gone(file: &Path) {
    let deadline = std::time::Instant::now() + PATIENCE;
    while file.exists() {
        assert!(
            std::time::Instant::now() < deadline,
            "{} is still there",
            file.display()
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn status(server: &Server, path: &str) -> StatusCode {
    server.get(path).send().await.unwrap().status()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_report_is_gone_everywhere() {
    let server = Server::with(|config| config.retention.every_seconds = 1).await;
    let data = server.folder.path().join("data");
    let log = traceback("20.00");
    let (own, shared) = (b"a core of its own", log.as_bytes());
    let id = server
        .send(json!({"host": "a"}), &[("core", own), ("train.log", shared)])
        .await;
    let other = server.send(json!({"host": "b"}), &[("train.log", shared)]).await;
    server.processed(&id).await;
    server.processed(&other).await;
    for bytes in [&own[..], shared] {
        age(&blob(&data, bytes), 2 * DAY);
    }

    let path = format!("/api/v1/reports/{id}");
    let deleted = ok(server.request(Method::DELETE, &path).send().await.unwrap()).await;
    assert_eq!(deleted, json!({"id": id, "deleted": true}));
    assert_eq!(
        server.find("OutOfMemoryError").await["total"],
        1,
        "searches do not find it any more"
    );
    problem(server.get(&path).send().await.unwrap(), 404, "no-such-report").await;
    assert_eq!(
        status(&server, &format!("{path}/artifacts/core")).await,
        StatusCode::NOT_FOUND
    );
    assert_eq!(server.json("/api/v1/reports").await["total"], 1);
    let again = ok(server.request(Method::DELETE, &path).send().await.unwrap()).await;
    assert_eq!(again["deleted"], false, "deleting twice is no error");

    gone(&blob(&data, own)).await;
    assert!(blob(&data, shared).exists(), "the other report has the same log");
    let document = server.json(&format!("/api/v1/reports/{other}")).await;
    assert_eq!(document["state"], "done");
    // Noted at the end of the round.
    let deadline = std::time::Instant::now() + PATIENCE;
    loop {
        let metrics = server.get("/metrics").send().await.unwrap().text().await.unwrap();
        if metrics.contains("whycrash_removed_total{kind=\"blobs\"}") {
            break;
        }
        assert!(std::time::Instant::now() < deadline, "{metrics}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_report_that_is_deleted_while_it_is_read_does_not_come_back() {
    let folder = TempDir::new().unwrap();
    let mut config = config(folder.path());
    config.limits.provisional_bytes = 0;
    let mut services = Services::open(config).unwrap();
    let ((begun, begins), (go_on, goes_on)) = (sync_channel(1), sync_channel(1));
    let goes_on = Mutex::new(goes_on);
    services.reader = Hooked::before(services.reader, move |_| {
        begun.send(()).unwrap();
        goes_on.lock().unwrap().recv().unwrap();
    });
    let server = Server::over(folder, services).await;
    let id = server
        .send(json!({}), &[("train.log", traceback("20.00").as_bytes())])
        .await;
    let begins = tokio::task::spawn_blocking(move || begins.recv().map(|()| begins))
        .await
        .unwrap()
        .unwrap();
    let path = format!("/api/v1/reports/{id}");
    ok(server.request(Method::DELETE, &path).send().await.unwrap()).await;
    go_on.send(()).unwrap();
    // Whatever the worker does with what it has read, it has done before it reads the next.
    let next = server
        .send(json!({}), &[("train.log", traceback("30.00").as_bytes())])
        .await;
    tokio::task::spawn_blocking(move || begins.recv())
        .await
        .unwrap()
        .unwrap();
    go_on.send(()).unwrap();
    server.processed(&next).await;
    problem(server.get(&path).send().await.unwrap(), 404, "no-such-report").await;
    assert_eq!(server.json("/api/v1/search").await["total"], 1);
    let metrics = server.get("/metrics").send().await.unwrap().text().await.unwrap();
    for state in ["queued", "running", "failed"] {
        assert!(
            metrics.contains(&format!("whycrash_jobs{{state=\"{state}\"}} 0")),
            "{metrics}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn old_artifacts_expire_and_their_document_stays() {
    let server = Server::with(|config| {
        config.retention.every_seconds = 1;
        let kinds = toml::from_str("artifacts_days = { log = 30 }\nevery_seconds = 1").unwrap();
        config.retention = kinds;
    })
    .await;
    let data = server.folder.path().join("data");
    let log = traceback("20.00");
    let artifacts = [("train.log", log.as_bytes()), ("unknown", &b"\x00\x01"[..])];
    let id = server.send(json!({}), &artifacts).await;
    let before = server.processed(&id).await;
    age(&blob(&data, log.as_bytes()), 40 * DAY);
    age_report(&data, &id, 40 * DAY);
    gone(&blob(&data, log.as_bytes())).await;
    let path = format!("/api/v1/reports/{id}");
    let after = server.json(&path).await;
    assert_eq!(after["expired"], json!(["train.log"]));
    assert_eq!(after["findings"], before["findings"]);
    assert_eq!(after["state"], "done");
    let download = server.get(&format!("{path}/artifacts/train.log")).send().await.unwrap();
    problem(download, 410, "artifact-expired").await;
    assert_eq!(
        status(&server, &format!("{path}/artifacts/unknown")).await,
        StatusCode::OK
    );
    let body = json!({"artifacts": artifacts.map(|(name, bytes)| declared(name, bytes))});
    let again = ok(server.post("/api/v1/reports").json(&body).send().await.unwrap()).await;
    assert_eq!(
        (again["id"].as_str(), &again["wants"]),
        (Some(id.as_str()), &json!([])),
        "it is not wanted again"
    );
    assert_eq!(server.find("OutOfMemoryError").await["total"], 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn old_reports_and_uploads_that_stand_still_are_removed() {
    let server = Server::with(|config| {
        config.retention.every_seconds = 1;
        config.retention.reports_days = 30;
    })
    .await;
    let data = server.folder.path().join("data");
    let old = server
        .send(json!({"host": "old"}), &[("train.log", b"RuntimeError: old\n")])
        .await;
    let new = server
        .send(json!({"host": "new"}), &[("train.log", b"RuntimeError: new\n")])
        .await;
    server.processed(&old).await;
    server.processed(&new).await;
    let (core, mut uploads) = (noise(5000, 1), Vec::new());
    for host in ["still", "goes on"] {
        let body = json!({"metadata": {"host": host}, "artifacts": [declared("core", &core), inline("log", b"x")]});
        let answer = ok(server.post("/api/v1/reports").json(&body).send().await.unwrap()).await;
        let id = answer["id"].as_str().unwrap().to_owned();
        let put = server
            .put(&format!("/api/v1/reports/{id}/artifacts/core"))
            .header("Upload-Offset", "0");
        ok(put.body(core[..1000].to_vec()).send().await.unwrap()).await;
        age_report(&data, &id, 10 * DAY);
        let part = fs::read_dir(data.join("staging"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .find(|path| path.file_name().unwrap().to_str().unwrap().starts_with(&id))
            .unwrap();
        uploads.push((id, part));
    }
    age_report(&data, &old, 40 * DAY);
    age(&uploads[0].1, 10 * DAY);
    gone(&uploads[0].1).await;
    let path = |id: &str| format!("/api/v1/reports/{id}");
    // They go one after the other, and nobody says which is first.
    for id in [&uploads[0].0, &old] {
        eventually(StatusCode::NOT_FOUND, async || status(&server, &path(id)).await).await;
    }
    assert_eq!(status(&server, &path(&new)).await, StatusCode::OK);
    assert!(uploads[1].1.exists(), "an upload that goes on stays");
    let rest = server
        .put(&format!("{}/artifacts/core", path(&uploads[1].0)))
        .header("Upload-Offset", "1000");
    assert_eq!(
        ok(rest.body(core[1000..].to_vec()).send().await.unwrap()).await["stored"],
        true
    );
    server.indexed().await;
    assert_eq!(server.find("RuntimeError").await["total"], 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn old_symbols_are_removed_and_those_sent_again_stay() {
    let server = Server::with(|config| {
        config.retention.every_seconds = 1;
        config.retention.symbols_days = 30;
    })
    .await;
    let folder = server.folder.path().join("data/symbols/.debug-id");
    let send = async |number: &str| {
        let id = format!("{number}865AB22664BC5E2A9FB3019E57AB350");
        let text = format!("MODULE Linux x86_64 {id} a.so\nFUNC 10 10 0 f\n");
        ok(server.post("/api/v1/symbols").body(text).send().await.unwrap()).await;
        folder.join(number).join(format!("{}.sym", &id[2..]))
    };
    let (old, again, new) = (send("1A").await, send("2A").await, send("3A").await);
    age(&again, 31 * DAY);
    send("2A").await;
    age(&old, 31 * DAY);
    gone(&old).await;
    assert!(again.exists() && new.exists());
    let deadline = std::time::Instant::now() + PATIENCE;
    while folder.join("1A").exists() {
        assert!(std::time::Instant::now() < deadline, "its folder goes with it");
    }
    assert!(send("1A").await.exists());
}
