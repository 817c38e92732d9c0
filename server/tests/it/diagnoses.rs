//! Evidence is kept by parts, and diagnoses are versions that are made of it alone.

use std::path::Path;

use reqwest::{Method, StatusCode};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::{Server, problem, traceback};

fn database(data: &Path) -> Connection {
    Connection::open(data.join("whycrash.sqlite")).unwrap()
}

/// A log of so many failures, no two of them alike.
fn failures(count: usize) -> String {
    let word = |n: usize| -> String {
        n.to_string()
            .bytes()
            .map(|digit| char::from(b'g' + digit % 16))
            .collect()
    };
    let failure = |n: usize| {
        let name = word(n);
        format!(
            "Traceback (most recent call last):\n  File \"/job/{name}.py\", line 7, in {name}\n    f()\nValueError: {name}\n"
        )
    };
    (1000..1000 + count).map(failure).collect()
}

#[tokio::test]
async fn a_long_list_is_served_by_itself() {
    let server = Server::start().await;
    let id = server.send(json!({}), &[("train.log", failures(400).as_bytes())]).await;
    let start = server.processed(&id).await;
    let whole = server.json(&format!("/api/v1/reports/{id}?evidence=whole")).await;
    assert!(start.to_string().len() < 200_000, "{} bytes", start.to_string().len());
    let events = whole["evidence"]["timeline"].as_array().unwrap();
    assert!(events.len() > 300, "{} events", events.len());
    assert_eq!(whole.get("parts"), None);
    let timeline = &start["parts"]["timeline"];
    assert_eq!(timeline["entries"], events.len());
    let shown = start["evidence"]["timeline"].as_array().unwrap();
    assert_eq!(timeline["shown"], shown.len());
    assert_eq!(shown[..], events[..shown.len()]);
    let part = server.json(&format!("/api/v1/reports/{id}/timeline")).await;
    assert_eq!(part["timeline"].as_array().unwrap(), events);
    let short = server.json(&format!("/api/v1/reports/{id}/memory")).await;
    assert_eq!(short, json!({"memory_snapshots": [], "memory_curves": []}));
    for other in ["threads", "modules", "gpu-cores", "collectives"] {
        server.json(&format!("/api/v1/reports/{id}/{other}")).await;
    }
    let unknown = "0".repeat(32);
    let answer = server.get(&format!("/api/v1/reports/{unknown}/threads")).send().await;
    problem(answer.unwrap(), 404, "no-such-report").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_knowledge_reaches_old_reports_without_their_artifacts() {
    let server = Server::start().await;
    let id = server
        .send(json!({}), &[("train.log", traceback("20.00").as_bytes())])
        .await;
    let document = server.processed(&id).await;
    let cause = document["findings"][0]["cause"].clone();
    let path = format!("/api/v1/reports/{id}");
    let server = server
        .restart(|data| {
            // As if it had been diagnosed by plugins that knew less; and its artifact is gone from the disk.
            let database = database(data);
            let less = json!({"schema": 1, "findings": [], "plugins": []}).to_string();
            database
                .execute("UPDATE diagnoses SET body = ?1, plugins = 'older'", [less])
                .unwrap();
            database
                .execute("UPDATE reports SET diagnosed_with = 'older'", [])
                .unwrap();
            std::fs::remove_dir_all(data.join("blobs")).unwrap();
        })
        .await;
    let again = server
        .until(&path, |document| document["findings"][0]["cause"] == cause)
        .await;
    assert_eq!(again, document, "the very same as from the artifacts");
    let versions = server.json(&format!("{path}/diagnoses")).await;
    let versions = versions["diagnoses"].as_array().unwrap();
    let of = |member: &str| {
        versions
            .iter()
            .map(|version| version[member].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(of("version"), [json!(2), json!(1)]);
    assert_eq!(of("causes")[1], json!([]));
    assert_eq!(versions[0]["evidence"], versions[1]["evidence"], "nothing was read");
    let first = server.json(&format!("{path}/diagnoses/1")).await;
    assert_eq!(first["findings"], json!([]));
    let second = server.json(&format!("{path}/diagnoses/2")).await;
    assert_eq!(second["findings"], document["findings"]);
    let diff = server.json(&format!("{path}/diff")).await;
    assert_eq!((&diff["from"], &diff["to"]), (&json!(1), &json!(2)));
    assert_eq!(diff["gained"][0]["cause"], cause);
    assert_eq!(diff["lost"], json!([]));
    let back = server.json(&format!("{path}/diff?from=2&to=1")).await;
    assert_eq!(back["lost"][0]["cause"], cause);
    let answer = server.get(&format!("{path}/diagnoses/3")).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn who_asks_again_gets_a_version_only_if_something_else_is_concluded() {
    let server = Server::start().await;
    let id = server
        .send(json!({}), &[("train.log", traceback("20.00").as_bytes())])
        .await;
    server.processed(&id).await;
    let path = format!("/api/v1/reports/{id}/diagnoses");
    let made = |answer: &Value| answer["diagnoses"][0]["made"].clone();
    for query in ["", "?read=true"] {
        let before = server.json(&path).await;
        let answer = server
            .request(Method::POST, &format!("{path}{query}"))
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status(), StatusCode::ACCEPTED);
        let after = server.until(&path, |after| made(after) != made(&before)).await;
        assert_eq!(after["diagnoses"].as_array().unwrap().len(), 1, "{after}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn evidence_that_was_torn_is_made_anew_from_the_artifacts() {
    let server = Server::start().await;
    let id = server
        .send(json!({}), &[("train.log", traceback("20.00").as_bytes())])
        .await;
    let document = server.processed(&id).await;
    let server = server
        .restart(|data| {
            let database = database(data);
            database
                .execute("UPDATE evidence_parts SET body = x'28b52ffd00'", [])
                .unwrap();
            database
                .execute("UPDATE reports SET diagnosed_with = 'older'", [])
                .unwrap();
        })
        .await;
    let path = format!("/api/v1/reports/{id}");
    let good = |answer: &Value| answer["findings"] == document["findings"];
    let deadline = std::time::Instant::now() + crate::support::PATIENCE;
    loop {
        let answer = server.get(&path).send().await.unwrap();
        if answer.status().is_success() && good(&answer.json().await.unwrap()) {
            break;
        }
        assert!(std::time::Instant::now() < deadline);
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}
