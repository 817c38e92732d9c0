//! The rest of the API: its description, logs, causes, measurements, the user interface.

use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;
use whycrash_evidence::Artifact;
use whycrash_plugin_host::{Diagnoser, Input, Settings};
use whycrash_server::config::{Cli, Config};

use crate::support::{PATIENCE, Server, traceback};

#[tokio::test]
async fn the_description_of_the_api() {
    let server = Server::start().await;
    let mut description = server.json("/api/v1/openapi.json").await;
    description["info"]["version"] = json!("…");
    // What the answers say is in `web/src/api/types.ts`, which is made from it.
    description.as_object_mut().unwrap().shift_remove("components");
    insta::assert_json_snapshot!(description);
}

#[tokio::test]
async fn the_document_is_that_of_the_command_line() {
    let server = Server::start().await;
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("train.log");
    std::fs::write(&path, traceback("20.00")).unwrap();
    let input = Input {
        artifacts: vec![Artifact::new("train.log", &path)],
        ..Input::default()
    };
    let local = Diagnoser::new(Settings::default()).unwrap().diagnose(&input);
    let mut local = serde_json::to_value(local).unwrap();

    let id = server
        .send(json!({}), &[("train.log", traceback("20.00").as_bytes())])
        .await;
    let mut served = server.processed(&id).await;
    for added in ["state", "received", "time"] {
        assert!(served.as_object_mut().unwrap().shift_remove(added).is_some());
    }
    for document in [&mut local, &mut served] {
        for plugin in document["plugins"].as_array_mut().unwrap() {
            plugin["millis"] = json!(0);
        }
    }
    assert_eq!(served, local);
}

#[tokio::test]
async fn logs_are_read_in_windows() {
    let server = Server::start().await;
    let log: String = (1..=5000).map(|n| format!("line {n}\r\n")).collect();
    let id = server
        .send(json!({}), &[("train.log", log.as_bytes()), ("empty.log", b"")])
        .await;
    let path = format!("/api/v1/reports/{id}/artifacts/train.log/lines");
    let window = server.json(&format!("{path}?from=4999&to=6000")).await;
    assert_eq!(
        window,
        json!({"from": 4999, "lines": ["line 4999", "line 5000"], "total": 5000, "complete": true})
    );
    assert_eq!(server.json(&path).await["lines"].as_array().unwrap().len(), 500);
    assert_eq!(
        server.json(&format!("{path}?from=1&to=5000")).await["lines"]
            .as_array()
            .unwrap()
            .len(),
        2000
    );
    assert_eq!(server.json(&format!("{path}?from=0&to=0")).await["lines"], json!([]));
    assert_eq!(server.json(&format!("{path}?from=9&to=3")).await["lines"], json!([]));
    let empty = server
        .json(&format!("/api/v1/reports/{id}/artifacts/empty.log/lines"))
        .await;
    assert_eq!(empty, json!({"from": 1, "lines": [], "total": 0, "complete": true}));
}

#[tokio::test]
async fn causes_are_shown_with_their_pages() {
    let server = Server::start().await;
    let causes = server.json("/api/v1/causes").await;
    for cause in causes["causes"].as_array().unwrap() {
        let page = server
            .json(&format!("/api/v1/causes/{}", cause["id"].as_str().unwrap()))
            .await;
        assert_eq!((&page["id"], &page["reports"]), (&cause["id"], &json!(0)));
        let html = page["html"].as_str().unwrap();
        assert!(html.contains("<p>") && !html.contains("<script"), "{html}");
    }
    assert!(!causes["causes"].as_array().unwrap().is_empty());
}

#[tokio::test]
async fn operators_see_what_happens() {
    let server = Server::start().await;
    for path in ["/healthz", "/readyz"] {
        assert_eq!(server.get(path).send().await.unwrap().status(), 200, "{path}");
    }
    let id = server
        .send(json!({}), &[("train.log", traceback("20.00").as_bytes())])
        .await;
    server.processed(&id).await;
    let expected = [
        "whycrash_requests_total{method=\"POST\",route=\"/api/v1/reports\",status=\"201\"}",
        "whycrash_request_seconds_bucket{route=\"/api/v1/reports\"",
        "whycrash_ingest_bytes_total",
        "whycrash_jobs_total{outcome=\"done\"}",
        "whycrash_jobs{state=\"queued\"} 0",
        "whycrash_job_seconds_bucket",
    ];
    let deadline = Instant::now() + PATIENCE;
    loop {
        let metrics = server.get("/metrics").send().await.unwrap().text().await.unwrap();
        let absent: Vec<_> = expected.iter().filter(|name| !metrics.contains(**name)).collect();
        if absent.is_empty() {
            break;
        }
        // A worker counts a job after its report is done.
        assert!(Instant::now() < deadline, "{absent:?} in {metrics}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let plugins = server.json("/api/v1/plugins").await;
    assert!(plugins["plugins"].is_array());
}

#[tokio::test]
async fn the_interface_answers_at_every_address_of_its_own() {
    let server = Server::start().await;
    for path in ["/", "/reports/0123", "/causes/x?y=z", "/index.html", "/search"] {
        let answer = server.get(path).send().await.unwrap();
        assert_eq!(answer.status(), 200, "{path}");
        assert_eq!(answer.headers()["content-type"], "text/html; charset=utf-8", "{path}");
        assert!(answer.text().await.unwrap().contains("whycrash"), "{path}");
    }
}

#[test]
fn flags_stand_over_the_file_and_the_file_over_defaults() {
    use clap::Parser as _;
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("whycrash.toml");
    std::fs::write(
        &file,
        "listen = \"127.0.0.1:1\"\ndata = \"from-file\"\n[limits]\nuploads = 3\n",
    )
    .unwrap();
    let load = |args: &[&str]| {
        let first = ["whycrash-server", "--config", file.to_str().unwrap()];
        let args = first.iter().chain(args);
        Config::load(&Cli::parse_from(args).serve).unwrap()
    };
    let config = load(&["--listen", "127.0.0.1:2", "--symbols", "/a:/b"]);
    assert_eq!(
        (config.listen.port(), config.data.to_str(), config.limits.uploads),
        (2, Some("from-file"), 3)
    );
    assert_eq!(config.symbols.len(), 2);
    assert_eq!(config.limits.artifacts, Config::default().limits.artifacts);
    std::fs::write(&file, "colour = \"red\"").unwrap();
    let error = format!("{:#}", Config::from_file(&file).unwrap_err());
    assert!(error.contains("colour") && error.contains("whycrash.toml"), "{error}");
}

#[test]
fn the_sample_file_shows_every_default() {
    let sample = include_str!("../../whycrash.toml");
    let uncommented: String = sample
        .lines()
        .map(|line| line.strip_prefix("#: ").unwrap_or(line))
        .collect::<Vec<_>>()
        .join("\n");
    let shown: toml::Table = toml::from_str(&uncommented).unwrap();
    let defaults: toml::Table = toml::from_str(&toml::to_string(&Config::default()).unwrap()).unwrap();
    let mut shown_without_examples = shown.clone();
    // Absent by default, so the sample shows an example.
    assert!(shown_without_examples.remove("public_url").is_some());
    assert_eq!(shown_without_examples, defaults);
    assert!(
        toml::from_str::<Config>(sample).unwrap() == Config::default(),
        "as it stands it changes nothing"
    );
}

#[tokio::test]
async fn what_did_not_change_is_not_sent_again() {
    let server = Server::start().await;
    let id = server
        .send(json!({}), &[("train.log", traceback("20.00").as_bytes())])
        .await;
    server.processed(&id).await;
    for path in [
        format!("/api/v1/reports/{id}"),
        format!("/api/v1/reports/{id}/state"),
        "/api/v1/reports".to_owned(),
        "/api/v1/search?q=memory".to_owned(),
    ] {
        let first = server.get(&path).send().await.unwrap();
        assert_eq!(first.status(), 200, "{path}");
        assert_eq!(first.headers()["cache-control"], "private, no-cache");
        let tag = first.headers()["etag"].to_str().unwrap().to_owned();
        for known in [tag.clone(), format!("\"other\", {tag}"), "*".to_owned()] {
            let again = server.get(&path).header("if-none-match", &known).send().await.unwrap();
            assert_eq!(again.status(), 304, "{path} {known}");
            assert_eq!(again.bytes().await.unwrap().len(), 0, "{path} {known}");
        }
        let other = server
            .get(&path)
            .header("if-none-match", "\"other\"")
            .send()
            .await
            .unwrap();
        assert_eq!(other.status(), 200, "{path}");
    }

    let list = server.get("/api/v1/reports").send().await.unwrap();
    let tag = list.headers()["etag"].clone();
    let other = server
        .send(json!({}), &[("train.log", traceback("30.00").as_bytes())])
        .await;
    server.processed(&other).await;
    let after = server
        .get("/api/v1/reports")
        .header("if-none-match", tag)
        .send()
        .await
        .unwrap();
    assert_eq!(after.status(), 200, "a list with a new report is another one");
}

#[tokio::test]
async fn a_report_is_listed_by_its_arrival_with_the_time_and_size_its_own_page_shows() {
    let server = Server::start().await;
    let log = traceback("20.00");
    let mut ids = Vec::new();
    for ended in ["2024-05-01T10:00:00Z", "2020-01-01T00:00:00Z"] {
        let id = server
            .send(json!({"ended": ended}), &[("train.log", log.as_bytes())])
            .await;
        server.processed(&id).await;
        ids.push(id);
    }
    let list = server.json("/api/v1/reports").await;
    let rows = list["reports"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    // The one that crashed first came last.
    assert_eq!(rows[0]["id"], ids[1]);
    assert_eq!(rows[0]["time"], "2020-01-01T00:00:00Z");
    for row in rows {
        let id = row["id"].as_str().unwrap();
        let document = server.json(&format!("/api/v1/reports/{id}")).await;
        let group = server
            .json(&format!("/api/v1/groups/{}", row["signature"].as_str().unwrap()))
            .await;
        for member in ["time", "received", "state"] {
            assert_eq!(row[member], document[member], "{member}");
        }
        assert_eq!(row["count"], group["count"]);
        assert_eq!(row["count"], 2);
        let state = server.json(&format!("/api/v1/reports/{id}/state")).await;
        assert_eq!(state["state"], "done");
    }
    let found = server.json("/api/v1/search?q=memory").await;
    let received = |list: &serde_json::Value| {
        let mut of: Vec<_> = list
            .as_array()
            .unwrap()
            .iter()
            .map(|hit| hit["received"].clone())
            .collect();
        of.sort_by_key(ToString::to_string);
        of
    };
    assert_eq!(received(&found["hits"]), received(&list["reports"]));
}
