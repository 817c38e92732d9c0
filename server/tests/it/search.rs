//! Finding what was sent.

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use serde_json::json;
use whycrash_server::search::Query;
use whycrash_server::search::query::{Clause, QueryError};

use crate::support::{Server, problem, traceback};

fn parse(text: &str) -> String {
    match Query::parse(text) {
        Ok(query) => query.clauses.iter().map(show).collect::<Vec<_>>().join(" "),
        Err(error) => format!("error: {error}"),
    }
}

fn show(clause: &Clause) -> String {
    let field = clause
        .field
        .map(|field| format!("{}=", field.name()))
        .unwrap_or_default();
    format!(
        "{}{field}<{}>{}",
        if clause.negated { "!" } else { "" },
        clause.value,
        if clause.prefix { "*" } else { "" }
    )
}

#[test]
fn queries_are_read() {
    let queries = [
        "",
        "  cuda   memory ",
        "\"out of memory\" -killed",
        "signal:SIGSEGV host:\"node 1\" cause:oom-*",
        "std::vector train.py:12 RuntimeError: at::native",
        "C:\\dumps\\a.dmp http://x",
        "NOT signal:SIGBUS NOTHING",
        "\"a \\\"quoted\\\" word\"",
        "-\"two words\"* x*",
        "日本語 größe",
        "\"open",
        "x \"open again",
        "color:red",
        "signal:",
        "signal: SIGSEGV",
        "signal:\"\"",
        "a - b",
        "a -",
    ];
    let read: Vec<String> = queries
        .iter()
        .map(|query| format!("{query:?}: {}", parse(query)))
        .collect();
    insta::assert_snapshot!(read.join("\n"));
    assert_eq!(Query::parse(&"x ".repeat(65)), Err(QueryError::TooLong));
}

proptest! {
    #[test]
    fn any_text_is_a_query_or_a_clear_error(text in ".{0,200}") {
        if let Err(error) = Query::parse(&text) {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn words_in_quotes_are_always_a_query(text in "[^\"\\\\]{0,100}") {
        let quoted = format!("\"{text}\"");
        prop_assert!(Query::parse(&quoted).is_ok());
    }
}

/// What people type, and what nobody would.
fn hostile_query() -> impl Strategy<Value = String> {
    let atom = prop_oneof![
        "[a-z]{1,8}",
        ".{0,12}",
        "[\\-\\*\"\\\\:.()\\[\\]{}|^$+?~/]{1,12}",
        Just("NOT ".to_owned()),
        Just("signal:".to_owned()),
        Just("host:*".to_owned()),
        Just("rank:99999999999999999999".to_owned()),
        Just("\"\"".to_owned()),
        Just("\"a b\"*".to_owned()),
        Just("-*".to_owned()),
        Just("-\"\"".to_owned()),
        Just("(a+)+$".to_owned()),
        Just("\u{0}".to_owned()),
        Just("\u{202e}\u{10ffff}İẞ".to_owned()),
    ];
    proptest::collection::vec(atom, 0..80).prop_map(|atoms| atoms.join(" "))
}

#[tokio::test]
async fn no_query_is_too_much_for_the_server() {
    let server = Server::start().await;
    for gib in ["10.00", "20.00"] {
        let id = server
            .send(json!({"host": gib}), &[("train.log", traceback(gib).as_bytes())])
            .await;
        server.processed(&id).await;
    }
    let answered = async |query: &str| {
        let encoded: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let answer = server.get(&format!("/api/v1/search?q={encoded}")).send().await.unwrap();
        match answer.status().as_u16() {
            200 => answer.json::<serde_json::Value>().await.unwrap()["total"].as_u64(),
            _ => {
                problem(answer, 400, "invalid-query").await;
                None
            }
        }
    };
    let cases = [
        ("-zebra ".repeat(64), Some(2)),
        ("-memory ".repeat(64), Some(0)),
        ("m* ".repeat(64), Some(2)),
        ("\"out of m\"* ".repeat(60), Some(2)),
        ("-m*".to_owned(), Some(0)),
        ("*".to_owned(), Some(2)),
        ("-*".to_owned(), Some(2)),
        ("\"\"".to_owned(), Some(2)),
        ("\"\"*".to_owned(), Some(2)),
        ("host:10*".to_owned(), Some(1)),
        ("host:*".to_owned(), None),
        ("a".repeat(4096), Some(0)),
        (format!("{}*", "a".repeat(4095)), Some(0)),
        (format!("host:{}", "a.".repeat(2000)), Some(0)),
        ("a.".repeat(2048), None),
        (".".repeat(4096), Some(2)),
        ("\u{1F4A5}".repeat(1000), Some(2)),
    ];
    for (query, expected) in cases {
        assert_eq!(answered(&query).await, expected, "{query}");
    }
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for _ in 0..300 {
        let query = hostile_query().new_tree(&mut runner).unwrap().current();
        answered(&query).await;
    }
}

#[tokio::test]
async fn pages_and_limits_are_answered_or_refused() {
    let server = Server::start().await;
    let cases = [
        ("limit=0", 200),
        ("limit=18446744073709551615", 200),
        ("limit=99999999999999999999", 400),
        ("limit=x", 400),
        ("limit=", 400),
        ("limit=1&limit=2", 400),
        ("after=", 400),
        ("after=10", 400),
        ("after=e30", 400),
        ("after=%FF", 400),
        ("facet_values=4294967295", 200),
        ("facet_values=-1", 400),
        ("sort=newest&limit=200", 200),
        ("sort=best", 400),
        ("q=a&q=b", 400),
        ("q=%FF%FE", 200),
        ("q=%00", 200),
    ];
    for (query, status) in cases {
        let answer = server.get(&format!("/api/v1/search?{query}")).send().await.unwrap();
        match status {
            400 => drop(problem(answer, 400, "invalid-request").await),
            _ => assert_eq!(answer.status().as_u16(), status, "{query}"),
        }
    }
    for query in ["limit=4294967295", "limit=0", "after=4294967296", "limit=-1"] {
        let answer = server.get(&format!("/api/v1/reports?{query}")).send().await.unwrap();
        assert!(matches!(answer.status().as_u16(), 200 | 400), "{query}");
    }
}

#[tokio::test]
async fn reports_are_found_by_machine_and_job() {
    let server = Server::start().await;
    let context = json!({
        "whycrash_context": 1,
        "command": ["torchrun", "pretrain_gpt.py", "--lr", "3e-4"],
        "host": "node-17.cluster.example",
        "environment": {"NCCL_DEBUG": "INFO", "SLURM_JOB_ID": "8675309", "SLURM_JOB_NAME": "llama-pretrain"},
        "python": {"executable": "/opt/venv/bin/python3", "version": "3.12.3"},
        "packages": {"torch": "2.11.0+cu130", "nvidia-nccl-cu13": "2.28.9", "transformers": "5.0.0"},
        "driver": "550.54.15",
        "cuda": "13.0",
        "gpus": [{"index": 0, "name": "NVIDIA H100 80GB HBM3", "uuid": "GPU-1"}],
        "gpu_timeline": [{"device": 0, "used": [[1, 4_242_424_242_u64]]}],
        "unavailable": [{"what": "core", "why": "no", "mend": "mount zanzibar"}],
        "exit": {"signal": "SIGABRT", "code": null},
    });
    let log = traceback("20.00");
    let artifacts = [
        ("train.log", log.as_bytes()),
        ("context.json", &serde_json::to_vec(&context).unwrap()),
    ];
    let id = server
        .send(json!({"job": "nightly-42", "owner": "vision"}), &artifacts)
        .await;
    server.processed(&id).await;
    let found = [
        "H100",
        "550.54",
        "\"driver 550.54\"",
        "torch 2.11",
        "\"torch 2.11.0\"",
        "nccl 2.28",
        "\"cuda 13.0\"",
        "python 3.12",
        "node-17",
        "nightly-42",
        "owner vision",
        "pretrain_gpt.py",
        "NCCL_DEBUG",
        "llama-pretrain",
        "gpu:H100",
        "gpu:\"NVIDIA H100 80GB HBM3\"",
        "driver:550",
        "driver:550.54",
        "driver:550.54.15",
        "torch:2.11",
        "torch:2.11.0+cu130",
        "job:8675309",
        "job:nightly-42",
        "job:llama-pretrain",
        "host:node-17",
        "host:node-17.cluster.example",
        "host:cluster.example",
    ];
    for query in found {
        assert_eq!(server.find(query).await["total"], 1, "{query}");
    }
    for query in ["zanzibar", "4242424242", "driver:54", "gpu:A100", "host:cluster"] {
        assert_eq!(server.find(query).await["total"], 0, "{query}");
    }
    let facets = &server.find("").await["facets"];
    assert_eq!(facets["gpu"], json!([{"value": "NVIDIA H100 80GB HBM3", "count": 1}]));
    assert_eq!(facets["job"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn reports_are_found_by_the_stacks_of_a_memory_snapshot() {
    let server = Server::start().await;
    let snapshot = std::fs::read(whycrash_corpus::folder().join("oom-leak-snapshot/snapshot.pickle")).unwrap();
    let id = server.send(json!({}), &[("snapshot.pickle", &snapshot)]).await;
    server.processed(&id).await;
    let document = server.json(&format!("/api/v1/reports/{id}")).await;
    let frames = &document["evidence"]["memory_snapshots"][0]["clusters"][0]["frames"];
    let frames: Vec<&str> = frames
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|frame| frame.as_str())
        .collect();
    assert!(!frames.is_empty());
    for frame in frames {
        assert_eq!(server.find(&format!("\"{frame}\"")).await["total"], 1, "{frame}");
    }
}

#[tokio::test]
async fn lists_show_the_start_of_long_values_and_the_first_of_many_ranks() {
    let server = Server::start().await;
    let host = format!("node{}", ".x".repeat(50_000));
    let ranks: String = (0..200)
        .map(|rank| format!("[rank{rank}]: Traceback (most recent call last):\n[rank{rank}]:   File \"t.py\", line 1, in f\n[rank{rank}]: ValueError: {rank}\n"))
        .collect();
    let class = format!("{}Error", "A".repeat(3000));
    let log = format!("{ranks}Traceback (most recent call last):\n  File \"train.py\", line 1, in f\n{class}: no\n");
    let id = server
        .send(json!({"host": host}), &[("train.log", log.as_bytes())])
        .await;
    server.processed(&id).await;
    let found = server.find("").await;
    for listed in [&found["hits"][0], &server.json("/api/v1/reports").await["reports"][0]] {
        let listed = listed.as_object().unwrap();
        for (name, value) in listed {
            assert!(
                value.as_str().is_none_or(|text| text.len() <= 210),
                "{name} has {}",
                value.as_str().unwrap().len()
            );
        }
        let (shown, omitted) = (listed["ranks"].as_array().unwrap().len(), &listed["ranks_omitted"]);
        assert_eq!((shown, omitted), (64, &json!(136)));
    }
    assert!(serde_json::to_string(&found).unwrap().len() < 8000);
    for query in [
        "rank:199",
        "host:node*",
        &format!("host:\"{}\"", found["facets"]["host"][0]["value"].as_str().unwrap()),
    ] {
        assert_eq!(server.find(query).await["total"], 1, "{query}");
    }
}

#[tokio::test]
async fn reports_are_found_by_what_their_artifacts_say() {
    let server = Server::start().await;
    let metadata = json!({"host": "node-7", "rank": 3, "ended": "2026-02-01T10:00:00Z"});
    let oom = server
        .send(metadata, &[("train.log", traceback("20.00").as_bytes())])
        .await;
    let other = server
        .send(
            json!({"host": "node-8"}),
            &[("notes.txt", b"the flux capacitor overheated at step 88\n")],
        )
        .await;
    server.processed(&oom).await;
    server.processed(&other).await;
    let cases: [(&str, &[&str]); 8] = [
        ("OutOfMemoryError", &[&oom]),
        ("\"CUDA out of memory\"", &[&oom]),
        ("exception:torch.OutOfMemoryError", &[&oom]),
        ("host:node-7", &[&oom]),
        ("rank:3", &[&oom]),
        ("kind:log host:node-8", &[&other]),
        ("flux capacitor", &[&other]),
        ("-host:node-8 -host:node-7", &[]),
    ];
    for (query, expected) in cases {
        let found = server.find(query).await;
        let ids: Vec<_> = found["hits"]
            .as_array()
            .unwrap()
            .iter()
            .map(|hit| hit["id"].as_str().unwrap())
            .collect();
        assert_eq!(ids, expected, "{query}");
        assert_eq!(found["total"], expected.len(), "{query}");
    }
    let hit = &server.find("host:node-7").await["hits"][0];
    assert_eq!(
        (&hit["time"], &hit["ranks"]),
        (&json!("2026-02-01T10:00:00Z"), &json!([3]))
    );
    assert_eq!(hit["exception"], "torch.OutOfMemoryError");
    assert_eq!(hit["count"], 1);
    let facets = server.find("").await["facets"]["host"].clone();
    assert_eq!(
        facets,
        json!([{"value": "node-7", "count": 1}, {"value": "node-8", "count": 1}])
    );
}

#[tokio::test]
async fn crashes_alike_are_a_group() {
    let server = Server::start().await;
    let mut ids = Vec::new();
    for (host, day) in [("a", "2026-01-02"), ("b", "2026-01-03"), ("c", "2026-01-01")] {
        let metadata = json!({"host": host, "ended": format!("{day}T00:00:00Z")});
        ids.push(
            server
                .send(metadata, &[("train.log", traceback("20.00").as_bytes())])
                .await,
        );
    }
    for id in &ids {
        server.processed(id).await;
    }
    let signature = server.processed(&ids[0]).await["report"]["signature"]["key"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    assert!(!signature.is_empty(), "a report that was read has a signature");
    let group = server.json(&format!("/api/v1/groups/{signature}")).await;
    assert_eq!(
        (&group["count"], &group["first_seen"], &group["last_seen"]),
        (
            &json!(3),
            &json!("2026-01-01T00:00:00Z"),
            &json!("2026-01-03T00:00:00Z")
        )
    );
    assert_eq!(group["latest"][0]["id"], ids[1]);
    assert_eq!(
        server.find(&format!("signature:{signature}")).await["hits"][0]["count"],
        3
    );
}
