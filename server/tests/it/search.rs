//! Finding what was sent.

use proptest::prelude::*;
use serde_json::json;
use whycrash_server::search::Query;
use whycrash_server::search::query::{Clause, QueryError};

use crate::support::{Server, traceback};

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
