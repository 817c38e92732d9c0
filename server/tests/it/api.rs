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
    for added in ["state", "received"] {
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
        json!({"from": 4999, "lines": ["line 4999", "line 5000"], "total": 5000})
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
    assert_eq!(empty, json!({"from": 1, "lines": [], "total": 0}));
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
