//! What plugins are told of other reports: earlier ones of the group, and those of the incident.

use serde_json::{Value, json};
use whycrash_hostile_plugins::{Case, Claim, Place, component};

use crate::published::{info, package, page, publish};
use crate::support::{Server, traceback};

/// A plugin that asks for other reports, and claims something because of each of these facts.
fn plugin(version: &str, facts: &[(&str, &str)]) -> Vec<u8> {
    let claim = |(fact, quote): &(&str, &str)| Claim {
        cause: "team-licence".to_owned(),
        confidence: 0.4,
        cites: vec![Place {
            artifact: String::new(),
            fact: Some((*fact).to_owned()),
            quote: (*quote).to_owned(),
            ..Place::default()
        }],
        ..Claim::default()
    };
    let case = Case {
        info: info("team", version, "team-licence"),
        diagnose: "(call $earlier (local.get $report) (i32.const 0) (i32.const 16) (i32.const 16))
                   (call $incident (local.get $report) (i32.const 0) (i32.const 64) (i32.const 16))"
            .to_owned(),
        findings: facts.iter().map(claim).collect(),
        ..Case::default()
    };
    package(
        &component(&case).unwrap(),
        "team-licence",
        &page("team-licence", "No licence", ""),
    )
}

/// Sends a log of one group.
async fn send(server: &Server, number: usize) -> (String, Value) {
    let log = format!("step {number}\n{}", traceback("20.00"));
    let id = server
        .send(json!({"number": number}), &[("train.log", log.as_bytes())])
        .await;
    let document = server.processed(&id).await;
    (id, document)
}

fn has(document: &Value, cause: &str) -> bool {
    let mut findings = document["findings"].as_array().unwrap().iter();
    findings.any(|finding| finding["cause"] == cause)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn earlier_reports_of_the_group_are_told_as_they_were_when_the_report_came() {
    let server = Server::start().await;
    let (first, document) = send(&server, 1).await;
    assert_eq!(document["history"], Value::Null, "nobody asks");
    let cause = document["findings"][0]["cause"].as_str().unwrap().to_owned();
    let proof = ("history.earlier.0.conclusions.0.cause", cause.as_str());
    publish(&server, plugin("1.0.0", &[proof])).await;

    let (second, document) = send(&server, 2).await;
    let told = document["history"].clone();
    assert_eq!(told["earlier"][0]["id"], first, "{told}");
    assert_eq!(told["earlier"].as_array().unwrap().len(), 1, "{told}");
    assert_eq!(told["earlier"][0]["conclusions"][0]["cause"], cause, "{told}");
    assert!(
        has(&document, "team-licence"),
        "what it says of them can be proved: {document}"
    );

    // Another version concludes something of the first report too; the second is diagnosed anew with what it was told.
    let of_any = ("crash.exception", "OutOfMemoryError");
    let everywhere = plugin("1.0.1", &[proof, of_any, ("timeline.0.kind", "cuda-oom")]);
    publish(&server, everywhere).await;
    let server = server.restart(|_| {}).await;
    let path = |id: &str| format!("/api/v1/reports/{id}?evidence=whole");
    let by_it = |document: &Value| {
        let mut rows = document["plugins"].as_array().unwrap().iter();
        rows.any(|row| row["name"] == "team" && row["version"] == "1.0.1")
    };
    server.until(&path(&first), by_it).await;
    let again = server.until(&path(&second), by_it).await;
    server.idle().await;
    assert_eq!(again["history"], told);
    let alone = server.json(&path(&first)).await;
    assert_eq!(alone["history"]["earlier"], json!([]), "none was before it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_other_reports_of_the_incident_are_told_by_their_evidence() {
    let server = Server::start().await;
    publish(&server, plugin("1.0.0", &[("history.incident.0.host", "node-0")])).await;
    let corpus = whycrash_corpus::folder().join("dist-rank-branch-gloo");
    let mut ids = Vec::new();
    for rank in 0..3 {
        let name = format!("nccl_trace_rank_{rank}");
        let recorder = std::fs::read(corpus.join(&name)).unwrap();
        let metadata = json!({"job": "4711", "host": format!("node-{rank}")});
        let id = server.send(metadata, &[(&name, &recorder)]).await;
        server.processed(&id).await;
        ids.push(id);
    }
    server.idle().await;
    let told = |document: &Value| -> Vec<Value> {
        let others = document["history"]["incident"].as_array().unwrap().iter();
        others.map(|other| other["id"].clone()).collect()
    };
    let document = server.json(&format!("/api/v1/reports/{}?evidence=whole", ids[2])).await;
    assert_eq!(told(&document), [json!(ids[0]), json!(ids[1])]);
    let ranks = document["history"]["incident"][1]["ranks"].as_array().unwrap();
    assert!(ranks.contains(&json!(1)), "{ranks:?}");
    assert!(has(&document, "team-licence"), "{document}");
    // Those that came later are told to those before, as for what the ranks did together.
    let document = server.json(&format!("/api/v1/reports/{}?evidence=whole", ids[0])).await;
    assert_eq!(told(&document), [json!(ids[1]), json!(ids[2])]);
}

/// The ids of the other reports of the incident that a report's plugins were told of.
async fn incident(server: &Server, id: &str) -> Vec<Value> {
    let document = server.json(&format!("/api/v1/reports/{id}?evidence=whole")).await;
    let judged_with = document["judged_with"].as_array().map_or(0, Vec::len);
    assert_eq!(judged_with, 0, "a log has nothing to be judged");
    let others = document["history"]["incident"].as_array().unwrap().iter();
    others.map(|other| other["id"].clone()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rank_that_left_only_a_log_is_told_too() {
    let server = Server::start().await;
    let recorder = "nccl_trace_rank_0";
    let corpus = whycrash_corpus::folder().join("dist-rank-branch-gloo");
    let recorder = (recorder, std::fs::read(corpus.join(recorder)).unwrap());
    let send = async |number: usize, metadata: Value, recorder: Option<&(&str, Vec<u8>)>| {
        let log = format!("step {number}\n{}", traceback("20.00"));
        let mut artifacts = vec![("train.log", log.as_bytes())];
        artifacts.extend(recorder.map(|(name, bytes)| (*name, bytes.as_slice())));
        let id = server.send(metadata, &artifacts).await;
        server.processed(&id).await;
        id
    };
    let of = |job: &str, attempt: u32, host: &str| json!({"job": job, "attempt": attempt, "host": host});
    // Before anybody asks: they are found all the same.
    let first = send(0, of("4711", 0, "node-0"), Some(&recorder)).await;
    let second = send(1, of("4711", 0, "node-1"), None).await;
    publish(&server, plugin("1.0.0", &[("history.incident.0.host", "node-1")])).await;
    let third = send(2, of("4711", 0, "node-2"), None).await;
    let again = send(3, of("4711", 1, "node-0"), None).await;
    let nameless = send(4, json!({"host": "node-1"}), None).await;
    // A new plugin has every report diagnosed with it.
    let is_told = |document: &Value| document["history"]["incident"].is_array();
    for id in [&first, &second] {
        server
            .until(&format!("/api/v1/reports/{id}?evidence=whole"), is_told)
            .await;
    }
    server.idle().await;
    assert_eq!(incident(&server, &first).await, [json!(second), json!(third)]);
    assert_eq!(incident(&server, &second).await, [json!(first), json!(third)]);
    assert_eq!(incident(&server, &third).await, [json!(first), json!(second)]);
    for lonely in [&again, &nameless] {
        assert_eq!(incident(&server, lonely).await, [] as [Value; 0]);
    }
    let document = server.json(&format!("/api/v1/reports/{first}")).await;
    assert!(has(&document, "team-licence"), "{document}");
}
