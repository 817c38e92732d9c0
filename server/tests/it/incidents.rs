//! What the ranks of a job send apart is judged together.

use std::path::Path;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::Server;

/// The flight recorder of one rank, as a job left it.
fn recorder(case: &str, rank: u32) -> (String, Vec<u8>) {
    let name = format!("nccl_trace_rank_{rank}");
    let bytes = std::fs::read(whycrash_corpus::folder().join(case).join(&name)).expect("the case has this rank");
    (name, bytes)
}

async fn send(server: &Server, metadata: Value, case: &str, ranks: &[u32]) -> String {
    let recorders: Vec<(String, Vec<u8>)> = ranks.iter().map(|rank| recorder(case, *rank)).collect();
    let recorders: Vec<(&str, &[u8])> = recorders
        .iter()
        .map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
        .collect();
    let id = server.send(metadata, &recorders).await;
    server.processed(&id).await;
    id
}

/// The document of a report once so many others are judged with it and nothing is left to be done.
async fn judged_with(server: &Server, id: &str, others: usize) -> Value {
    let path = format!("/api/v1/reports/{id}?evidence=whole");
    server.idle().await;
    let document = server.json(&path).await;
    let count = document["judged_with"].as_array().map_or(0, Vec::len);
    assert_eq!(count, others, "{document:#}");
    document
}

fn causes(document: &Value) -> Vec<&Value> {
    let findings = document["findings"].as_array().unwrap();
    findings.iter().map(|finding| &finding["cause"]).collect()
}

/// What is said of the ranks of a case when they come in one report.
async fn in_one_report(case: &str, ranks: &[u32]) -> Value {
    let server = Server::start().await;
    let id = send(&server, json!({"job": "4711"}), case, ranks).await;
    judged_with(&server, &id, 0).await
}

#[tokio::test]
async fn recorders_that_come_apart_give_the_verdict_that_they_give_together() {
    for case in [
        "dist-rank-branch-gloo",
        "dist-op-mismatch-gloo",
        "dist-shape-mismatch-gloo",
    ] {
        let whole = in_one_report(case, &[0, 1, 2]).await;
        assert!(
            !whole["evidence"]["collectives"]["verdicts"]
                .as_array()
                .unwrap()
                .is_empty()
        );
        let server = Server::start().await;
        let mut ids = Vec::new();
        for rank in [2, 0, 1] {
            let metadata = json!({"job": "4711", "host": format!("node-{rank}")});
            ids.push(send(&server, metadata, case, &[rank]).await);
        }
        for id in &ids {
            let apart = judged_with(&server, id, 2).await;
            assert_eq!(
                apart["evidence"]["collectives"], whole["evidence"]["collectives"],
                "{case}"
            );
            assert_eq!(causes(&apart), causes(&whole), "{case}");
            let path = format!("/api/v1/reports/{id}/collectives");
            let part = server.json(&path).await;
            assert_eq!(part["collectives"], whole["evidence"]["collectives"], "{case}");
        }
    }
}

#[tokio::test]
async fn a_report_says_with_which_others_it_was_judged_and_keeps_what_was_said_before() {
    let (server, case) = (Server::start().await, "dist-rank-branch-gloo");
    let first = send(&server, json!({"job": "4711"}), case, &[0]).await;
    let alone = judged_with(&server, &first, 0).await;
    let second = send(&server, json!({"job": "4711"}), case, &[1, 2]).await;
    let document = judged_with(&server, &first, 1).await;
    assert_eq!(document["judged_with"], json!([second]));
    let coverage = document["coverage"].as_array().unwrap();
    let recorders = coverage.iter().find(|row| row["kind"] == "flight-recorder").unwrap();
    assert_eq!(recorders["reports"], json!([second]));
    let before = server.json(&format!("/api/v1/reports/{first}/diagnoses/1")).await;
    assert_eq!(before["findings"], alone["findings"]);
    let diff = server.json(&format!("/api/v1/reports/{first}/diff")).await;
    assert_eq!((&diff["from"], &diff["to"]), (&json!(1), &json!(2)));
}

#[tokio::test]
async fn recorders_without_a_job_are_known_by_the_calls_that_they_share() {
    let (server, case) = (Server::start().await, "dist-rank-branch-gloo");
    let whole = in_one_report(case, &[0, 1, 2]).await;
    let mut ids = Vec::new();
    for rank in 0..3 {
        ids.push(send(&server, json!({"host": format!("node-{rank}")}), case, &[rank]).await);
    }
    for id in &ids {
        let apart = judged_with(&server, id, 2).await;
        assert_eq!(apart["evidence"]["collectives"], whole["evidence"]["collectives"]);
    }
}

#[tokio::test]
async fn ranks_of_other_jobs_attempts_and_moments_stand_alone() {
    let case = "dist-rank-branch-gloo";
    let (mine, other) = (json!({"job": "4711"}), json!({"job": "4712"}));
    let (again, nameless) = (json!({"job": "4711", "attempt": 1}), json!({"host": "node-1"}));
    for (first, second, of) in [
        (&mine, &other, case),
        (&mine, &again, case),
        // The same program on as many ranks, some seconds later.
        (&nameless, &nameless, "dist-op-mismatch-gloo"),
    ] {
        let server = Server::start().await;
        let one = send(&server, first.clone(), case, &[0]).await;
        let two = send(&server, second.clone(), of, &[1]).await;
        for id in [&one, &two] {
            judged_with(&server, id, 0).await;
        }
    }
}

#[tokio::test]
async fn what_was_judged_together_is_the_same_when_it_is_judged_again() {
    let (server, case) = (Server::start().await, "dist-op-mismatch-gloo");
    let mut ids = Vec::new();
    for rank in 0..3 {
        ids.push(send(&server, json!({"job": "4711"}), case, &[rank]).await);
    }
    let before = judged_with(&server, &ids[0], 2).await;
    let versions = |listed: Value| listed["diagnoses"].as_array().unwrap().len();
    let path = format!("/api/v1/reports/{}/diagnoses", ids[0]);
    let count = versions(server.json(&path).await);
    assert!(server.post(&path).send().await.unwrap().status().is_success());
    assert_eq!(judged_with(&server, &ids[0], 2).await, before);
    assert_eq!(versions(server.json(&path).await), count, "nothing else was concluded");
}

/// What a list says of a report.
async fn listed(server: &Server, path: &str, rows: &str, id: &str) -> Value {
    let list = server.json(path).await;
    let row = list[rows].as_array().unwrap().iter().find(|row| row["id"] == id);
    row.unwrap_or_else(|| panic!("{path} lacks {id}: {list:#}")).clone()
}

#[tokio::test]
async fn a_report_is_known_by_what_was_judged_together() {
    let case = "dist-rank-branch-gloo";
    let whole = in_one_report(case, &[0, 1, 2]).await;
    let server = Server::start().await;
    let mut ids = Vec::new();
    for rank in 0..3 {
        ids.push(send(&server, json!({"job": "4711"}), case, &[rank]).await);
    }
    server.idle().await;
    server.indexed().await;
    for id in &ids {
        let document = server.json(&format!("/api/v1/reports/{id}")).await;
        assert_eq!(document["report"]["title"], whole["report"]["title"]);
        assert_eq!(document["report"]["signature"], whole["report"]["signature"]);
        assert_eq!(document["evidence"]["collectives"], whole["evidence"]["collectives"]);
        let rows = [("/api/v1/reports", "reports"), ("/api/v1/search", "hits")];
        for (path, rows) in rows {
            let row = listed(&server, path, rows, id).await;
            assert_eq!(row["title"], whole["report"]["title"], "{path}");
            assert_eq!(row["signature"], whole["report"]["signature"]["key"], "{path}");
            assert_eq!(row["cause"], *causes(&whole)[0], "{path}");
        }
    }
    let key = whole["report"]["signature"]["key"].as_str().unwrap();
    assert_eq!(server.json(&format!("/api/v1/groups/{key}")).await["count"], 3);
    // What an index says that is made anew from what is stored is the same.
    let before = server.json("/api/v1/search").await;
    let remove = |data: &Path| std::fs::remove_dir_all(data.join("index")).unwrap();
    let server = server.restart(remove).await;
    server.indexed().await;
    assert_eq!(server.json("/api/v1/search").await["hits"], before["hits"]);
}

#[tokio::test]
async fn a_report_that_is_deleted_is_judged_with_no_more() {
    let (server, case) = (Server::start().await, "dist-rank-branch-gloo");
    let mut ids = Vec::new();
    for rank in 0..3 {
        ids.push(send(&server, json!({"job": "4711"}), case, &[rank]).await);
    }
    judged_with(&server, &ids[0], 2).await;
    let deleted = server.request(Method::DELETE, &format!("/api/v1/reports/{}", ids[2]));
    assert!(deleted.send().await.unwrap().status().is_success());
    let fresh = Server::start().await;
    for rank in 0..2 {
        send(&fresh, json!({"job": "4711"}), case, &[rank]).await;
    }
    for id in &ids[..2] {
        let document = judged_with(&server, id, 1).await;
        let never_there = judged_with(&fresh, id, 1).await;
        assert_eq!(document["judged_with"], never_there["judged_with"]);
        assert_eq!(document["findings"], never_there["findings"]);
        assert_eq!(
            document["evidence"]["collectives"],
            never_there["evidence"]["collectives"]
        );
        assert_eq!(document["report"]["title"], never_there["report"]["title"]);
        let versions = server.json(&format!("/api/v1/reports/{id}/diagnoses")).await;
        for version in versions["diagnoses"].as_array().unwrap() {
            let path = format!("/api/v1/reports/{id}/diagnoses/{}", version["version"]);
            let told = server.json(&path).await.to_string();
            assert!(!told.contains(&ids[2]), "{path} still tells of it: {told}");
        }
    }
}
