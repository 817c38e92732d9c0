//! The index may be damaged or gone at any time: reports come in and are processed all the same, and searches come
//! back.

use std::fs;
use std::path::Path;
use std::time::Duration;

use reqwest::StatusCode;
use serde_json::json;

use crate::support::{Server, problem, traceback};

/// Sends a report that a search for its word finds.
async fn send(server: &Server, word: &str) -> String {
    let log = format!("{}{word}\n", traceback("20.00"));
    server
        .send(json!({"host": word}), &[("train.log", log.as_bytes())])
        .await
}

/// Waits until a search finds this many reports. Until then it may say that the index is not there, and nothing else.
async fn found(server: &Server, total: u64) {
    let deadline = std::time::Instant::now() + crate::support::PATIENCE;
    loop {
        let answer = server.get("/api/v1/search").send().await.unwrap();
        if answer.status() == StatusCode::OK {
            let page: serde_json::Value = answer.json().await.unwrap();
            if page["total"] == total {
                return;
            }
        } else {
            assert!(answer.headers().contains_key("retry-after"));
            problem(answer, 503, "index-unavailable").await;
        }
        assert!(std::time::Instant::now() < deadline, "searches do not come back");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn files(index: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(index).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.is_file()).collect()
}

fn delete(index: &Path) {
    fs::remove_dir_all(index).unwrap();
}

fn delete_some(index: &Path) {
    for file in files(index).iter().step_by(2) {
        fs::remove_file(file).unwrap();
    }
}

fn cut_short(index: &Path) {
    for file in files(index) {
        let length = fs::metadata(&file).unwrap().len();
        fs::File::options()
            .write(true)
            .open(&file)
            .unwrap()
            .set_len(length / 2)
            .unwrap();
    }
}

fn overwrite(index: &Path) {
    for file in files(index) {
        let length = fs::metadata(&file).unwrap().len();
        fs::write(&file, vec![0xa5; length as usize]).unwrap();
    }
}

const DAMAGES: [fn(&Path); 4] = [delete, delete_some, cut_short, overwrite];

fn index_folders(data: &Path) -> Vec<String> {
    let names = fs::read_dir(data).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.starts_with("index")).collect();
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_that_is_damaged_while_the_server_runs_is_built_anew() {
    let server = Server::start().await;
    let index = server.folder.path().join("data/index");
    let first = send(&server, "first").await;
    server.processed(&first).await;
    for (number, damage) in DAMAGES.into_iter().enumerate() {
        damage(&index);
        let id = send(&server, &format!("word{number}")).await;
        let document = server
            .until(&format!("/api/v1/reports/{id}"), |document| {
                document["state"] != "processing"
            })
            .await;
        assert_eq!(document["state"], "done", "the index is no reason to fail: {document}");
        found(&server, number as u64 + 2).await;
        server.indexed().await;
        assert_eq!(server.find(&format!("word{number}")).await["hits"][0]["id"], id);
        // What is in memory answers on: the damage is seen at the next look.
        tokio::time::sleep(Duration::from_millis(1200)).await;
        server.indexed().await;
    }
    let data = server.folder.path().join("data");
    let deadline = std::time::Instant::now() + crate::support::PATIENCE;
    // A second damaged index takes the place of the first, which is gone for a moment then.
    while index_folders(&data) != ["index", "index.old"] {
        assert!(
            std::time::Instant::now() < deadline,
            "not one damaged index is kept: {:?}",
            index_folders(&data)
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_that_is_damaged_at_the_start_is_built_anew() {
    let mut server = Server::start().await;
    let first = send(&server, "first").await;
    server.processed(&first).await;
    for damage in DAMAGES {
        server = server.restart(|data| damage(&data.join("index"))).await;
        found(&server, 1).await;
        let second = send(&server, "second").await;
        server.processed(&second).await;
        let deleted = server.request(reqwest::Method::DELETE, &format!("/api/v1/reports/{second}"));
        assert!(deleted.send().await.unwrap().status().is_success());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_stood_in_the_place_of_an_index_is_set_aside_and_removed() {
    let mut server = Server::start().await;
    server.processed(&send(&server, "first").await).await;
    // The second time the file of the first is in the way.
    for _ in 0..2 {
        server = server
            .restart(|data| {
                delete(&data.join("index"));
                fs::write(data.join("index"), "no folder").unwrap();
            })
            .await;
        server.indexed().await;
        found(&server, 1).await;
    }
    let data = server.folder.path().join("data");
    assert!(data.join("index").is_dir() && data.join("index.old").is_file());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_there_is_no_index_everything_else_goes_on_and_says_so() {
    let server = Server::start().await;
    let data = server.folder.path().join("data");
    server.processed(&send(&server, "first").await).await;
    let server = server
        .restart(|data| {
            delete(&data.join("index"));
            // No new one can be built.
            fs::write(data.join("index.new"), "in the way").unwrap();
        })
        .await;
    let id = send(&server, "second").await;
    let document = server
        .until(&format!("/api/v1/reports/{id}"), |document| {
            document["state"] != "processing"
        })
        .await;
    assert_eq!(document["state"], "done");
    let answer = server.get("/api/v1/search?q=second").send().await.unwrap();
    assert!(answer.headers().contains_key("retry-after"));
    let problem = problem(answer, 503, "index-unavailable").await;
    assert!(!problem.to_string().contains(data.to_str().unwrap()), "{problem}");
    let ready = server.json("/readyz").await;
    assert_eq!(ready["status"], "degraded", "{ready}");
    assert!(
        ready["index"]["reason"].is_string() && ready["index"]["waiting"] != 0,
        "{ready}"
    );
    let metrics = server.get("/metrics").send().await.unwrap().text().await.unwrap();
    assert!(metrics.contains("whycrash_index_ready 0"), "{metrics}");

    fs::remove_file(server.folder.path().join("data/index.new")).unwrap();
    found(&server, 2).await;
    server.indexed().await;
}

/// A part of the archive is put back from a backup that is older than the rest.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reports_that_an_older_index_lacks_are_added() {
    let server = Server::start().await;
    server.processed(&send(&server, "first").await).await;
    let server = server
        .restart(|data| copy(&data.join("index"), &data.join("backup")))
        .await;
    server.processed(&send(&server, "second").await).await;
    let server = server
        .restart(|data| {
            delete(&data.join("index"));
            fs::rename(data.join("backup"), data.join("index")).unwrap();
        })
        .await;
    found(&server, 2).await;
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for file in files(from) {
        fs::copy(&file, to.join(file.file_name().unwrap())).unwrap();
    }
}

/// Evidence may hold what another version wrote; a new index must not lose its report.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn evidence_of_another_version_is_found_by_its_title() {
    let server = Server::start().await;
    let id = send(&server, "first").await;
    let title = server.processed(&id).await["report"]["title"]
        .as_str()
        .unwrap()
        .to_owned();
    let server = server
        .restart(|data| {
            delete(&data.join("index"));
            let database = rusqlite::Connection::open(data.join("whycrash.sqlite")).unwrap();
            let sql = "UPDATE evidence_parts SET body = CAST(json_object('report', json_object('title', ?1),
                'evidence', json('{\"timeline\": [{\"kind\": \"new\"}]}')) AS BLOB) WHERE name = 'evidence'";
            assert_eq!(database.execute(sql, [title.as_str()]).unwrap(), 1);
        })
        .await;
    found(&server, 1).await;
    assert_eq!(server.find("OutOfMemoryError").await["hits"][0]["title"], title);
}

#[tokio::test]
async fn entries_whose_reports_are_gone_are_removed() {
    let server = Server::start().await;
    let (kept, lost) = (send(&server, "kept").await, send(&server, "lost").await);
    server.processed(&kept).await;
    server.processed(&lost).await;
    found(&server, 2).await;
    let server = server
        .restart(|data| {
            // As a backup of the database leaves it that is older than the report.
            let database = rusqlite::Connection::open(data.join("whycrash.sqlite")).unwrap();
            database.execute("DELETE FROM reports WHERE id = ?1", [&lost]).unwrap();
            database
                .execute("DELETE FROM evidence WHERE report = ?1", [&lost])
                .unwrap();
            database.execute("DELETE FROM outbox", []).unwrap();
        })
        .await;
    found(&server, 1).await;
}
