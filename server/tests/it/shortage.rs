//! A server that is short of disk space or of file descriptors: what was acknowledged waits, and is taken up again.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use reqwest::Client;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::durability::Process;
use crate::support::{client, inline, ok, traceback};

/// Sends a report; its id once it was acknowledged.
async fn send(client: &Client, url: &str, number: u64) -> Option<String> {
    let log = format!("{}number{number}\n", traceback("20.00"));
    let body = json!({"metadata": {"number": number}, "artifacts": [inline("train.log", log.as_bytes())]});
    let answer = client
        .post(format!("{url}/api/v1/reports"))
        .json(&body)
        .send()
        .await
        .ok()?;
    assert!(!answer.status().is_server_error() || answer.headers().contains_key("retry-after"));
    answer.error_for_status().ok()?.json::<Value>().await.ok()?["id"]
        .as_str()
        .map(str::to_owned)
}

/// Sets a limit of the process while it runs; the server can not tell it from what a full machine does.
fn limit(process: &Process, limit: &str) {
    let set = Command::new("prlimit")
        .args(["--pid", &process.id().to_string(), limit])
        .status()
        .expect("prlimit is part of util-linux");
    assert!(set.success());
}

/// Reports are sent before and while the process is short of something. None may fail, and all must be found in the
/// end.
async fn nothing_fails(data: &Path, short: &str, enough: &str) {
    let client = client();
    let mut command = Command::new("sh");
    // Without the trap the kernel would end the process where it only shall not write on.
    command.args([
        "-c",
        "trap '' XFSZ; exec \"$0\" \"$@\"",
        env!("CARGO_BIN_EXE_whycrash-server"),
    ]);
    let process = Process::spawn(command, data);
    let url = process.url();
    let mut acknowledged = Vec::new();
    for number in 0..8 {
        acknowledged.push(send(&client, url, number).await.unwrap());
    }
    limit(&process, short);
    for number in 8..12 {
        let sent = tokio::time::timeout(Duration::from_secs(2), send(&client, url, number)).await;
        acknowledged.extend(sent.ok().flatten());
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    limit(&process, enough);
    let deadline = std::time::Instant::now() + crate::support::PATIENCE;
    let mut waiting = acknowledged.clone();
    while let Some(id) = waiting.last().cloned() {
        let document = ok(client.get(format!("{url}/api/v1/reports/{id}")).send().await.unwrap()).await;
        assert_ne!(document["state"], "failed", "{document}");
        if document["state"] == "done" {
            let problems = &document["report"]["artifacts"][0]["problems"];
            assert!(
                problems.as_array().is_none_or(Vec::is_empty),
                "it was read as it is: {problems}"
            );
            waiting.pop();
        }
        assert!(
            std::time::Instant::now() < deadline,
            "{id} is still waiting: {document}"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    loop {
        let answer = client.get(format!("{url}/api/v1/search?q=OutOfMemoryError&limit=0"));
        let found = answer.send().await.unwrap().json::<Value>().await.unwrap();
        // One that was stored, and whose answer did not get through, is found too.
        if found["total"].as_u64() >= Some(acknowledged.len() as u64) {
            return;
        }
        assert!(std::time::Instant::now() < deadline, "{found}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reports_wait_for_disk_space() {
    let folder = TempDir::new().unwrap();
    nothing_fails(&folder.path().join("data"), "--fsize=4096:", "--fsize=unlimited:").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reports_wait_for_file_descriptors() {
    let folder = TempDir::new().unwrap();
    nothing_fails(&folder.path().join("data"), "--nofile=16:", "--nofile=1024:").await;
}

#[test]
fn a_damaged_database_is_named_at_the_start() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("whycrash.sqlite"), vec![0xa5; 8192]).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_whycrash-server"))
        .args(["--listen", "127.0.0.1:0", "--data"])
        .arg(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && said.contains("is damaged: put a backup in its place"),
        "{said}"
    );
}
