//! Clients that stall, vanish or never end.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Map, json};
use whycrash_server::ingest::Staging;
use whycrash_server::store::{Digest, ReportId};

use crate::raw::{Raw, eventually};
use crate::support::{Server, client, declared, noise, ok};

/// A report that wants a core: the address of the core.
async fn wanting(server: &Server, core: &[u8]) -> String {
    let body = json!({"artifacts": [declared("core", core)]});
    let accepted = ok(server.post("/api/v1/reports").json(&body).send().await.unwrap()).await;
    format!("/api/v1/reports/{}/artifacts/core", accepted["id"].as_str().unwrap())
}

async fn offset(server: &Server, path: &str) -> Option<String> {
    let head = server.request(Method::HEAD, path).send().await.unwrap();
    let offset = head.headers().get("upload-offset");
    offset.map(|offset| offset.to_str().unwrap().to_owned())
}

#[tokio::test]
async fn silent_uploads_keep_nobody_out() {
    let server = Server::with(|config| config.limits.uploads = 4).await;
    let path = wanting(&server, &noise(1000, 1)).await;
    let mut silent = Vec::new();
    for number in 0..24 {
        let request = match number % 3 {
            0 => format!("PUT {path}"),
            1 => "POST /api/v1/reports".to_owned(),
            _ => "POST /api/v1/symbols".to_owned(),
        };
        let headers = ["Content-Type: application/json", "Content-Length: 1000"];
        let mut raw = Raw::open(&server, &request, &headers).await;
        // One byte, so that nobody can say that nothing came.
        assert!(raw.send(b"{").await);
        silent.push(raw);
    }
    // All places are taken, or were given to others of them.
    let started = Instant::now();
    loop {
        let body = json!({"artifacts": [crate::support::inline("core", b"healthy")]});
        let answer = server.post("/api/v1/reports").json(&body).send().await.unwrap();
        match answer.status().as_u16() {
            201 => break,
            status => assert_eq!(status, 429),
        }
        assert!(
            started.elapsed() < Duration::from_secs(10),
            "the silent ones still hold all places"
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    drop(silent);
}

#[tokio::test]
async fn what_comes_for_a_report_that_is_deleted_meanwhile_does_not_stay() {
    let server = Server::start().await;
    let core = noise(300_000, 7);
    let path = wanting(&server, &core).await;
    let headers = ["Upload-Offset: 0", "Content-Length: 200000"];
    let mut raw = Raw::open(&server, &format!("PUT {path}"), &headers).await;
    assert!(raw.send(&core[..100_000]).await);
    // Nobody else may look at what is being written.
    eventually(None, async || offset(&server, &path).await).await;
    let (report, _) = path.split_once("/artifacts/").unwrap();
    let deleted = server.request(Method::DELETE, report).send().await.unwrap();
    assert!(deleted.status().is_success(), "{deleted:?}");
    assert!(raw.send(&core[100_000..200_000]).await);
    let (status, problem) = raw.answer().await;
    assert_eq!((status, &problem["code"]), (404, &json!("no-such-report")), "{problem}");
    assert!(server.files("staging").is_empty(), "{:?}", server.files("staging"));
}

#[tokio::test]
async fn what_comes_of_an_artifact_that_another_way_brings_whole_does_not_stay() {
    let server = Server::start().await;
    let core = noise(300_000, 8);
    let path = wanting(&server, &core).await;
    let headers = ["Upload-Offset: 0", "Content-Length: 200000"];
    let mut raw = Raw::open(&server, &format!("PUT {path}"), &headers).await;
    assert!(raw.send(&core[..100_000]).await);
    eventually(None, async || offset(&server, &path).await).await;
    let elsewhere = json!({"metadata": {"other": "report"}, "artifacts": [crate::support::inline("core", &core)]});
    ok(server.post("/api/v1/reports").json(&elsewhere).send().await.unwrap()).await;
    // Declared again, the report is told that its artifact is here.
    wanting(&server, &core).await;
    assert!(raw.send(&core[100_000..200_000]).await);
    let (status, uploaded) = raw.answer().await;
    assert_eq!(
        (status, &uploaded["stored"], &uploaded["offset"]),
        (200, &json!(true), &json!(300_000))
    );
    assert!(server.files("staging").is_empty(), "{:?}", server.files("staging"));
}

#[tokio::test]
async fn who_looks_at_a_part_for_a_moment_does_not_turn_its_sender_away() {
    let folder = tempfile::tempdir().unwrap();
    let staging = Staging::open(folder.path(), 0).unwrap();
    let report = ReportId::derive(&Map::new(), &[]);
    let digest = Digest::of(b"core");
    let looked_at = staging.part(&report, &digest).unwrap();
    let (sender, ()) = tokio::join!(staging.part_soon(&report, &digest), async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        drop(looked_at);
    });
    assert!(sender.is_some());
    assert!(
        staging.part_soon(&report, &digest).await.is_none(),
        "two send at one time"
    );
}

#[tokio::test]
async fn a_body_that_stalls_is_cut_and_can_be_resumed() {
    let server = Server::with(|config| config.limits.idle_seconds = 1).await;
    let core = noise(300_000, 2);
    let path = wanting(&server, &core).await;
    let mut raw = Raw::open(
        &server,
        &format!("PUT {path}"),
        &["Upload-Offset: 0", "Content-Length: 300000"],
    )
    .await;
    assert!(raw.send(&core[..200_001]).await);
    let (status, problem) = raw.answer().await;
    assert_eq!((status, &problem["code"]), (408, &json!("too-slow")), "{problem}");
    assert_eq!(problem["offset"], 200_001);
    assert!(
        problem["detail"].as_str().unwrap().contains("limits.idle_seconds"),
        "{problem}"
    );
    assert_eq!(offset(&server, &path).await.as_deref(), Some("200001"));
    let rest = server
        .put(&path)
        .header("Upload-Offset", "200001")
        .body(core[200_001..].to_vec());
    assert_eq!(ok(rest.send().await.unwrap()).await["stored"], true);

    // Every other body is cut in the same way, and nothing stays of it.
    let form = "Content-Type: multipart/form-data; boundary=b";
    for (path, kind) in [
        ("/api/v1/reports", "Content-Type: application/json"),
        ("/api/v1/reports", form),
        ("/api/v1/minidump", form),
        ("/api/v1/symbols", "Content-Type: application/octet-stream"),
    ] {
        let mut raw = Raw::open(&server, &format!("POST {path}"), &[kind, "Content-Length: 2000000"]).await;
        let part = b"--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"core\"\r\n\r\n";
        raw.send(part).await;
        raw.send(&noise(400_000, 3)).await;
        let (status, problem) = raw.answer().await;
        assert_eq!(
            (status, &problem["code"]),
            (408, &json!("too-slow")),
            "{path} {kind}: {problem}"
        );
    }
    assert!(server.files("staging").is_empty(), "{:?}", server.files("staging"));
}

#[tokio::test]
async fn a_connection_that_vanishes_frees_its_artifact() {
    let server = Server::start().await;
    let core = noise(500_000, 4);
    let path = wanting(&server, &core).await;
    let mut raw = Raw::open(
        &server,
        &format!("PUT {path}"),
        &["Upload-Offset: 0", "Content-Length: 500000"],
    )
    .await;
    assert!(raw.send(&core[..300_000]).await);
    drop(raw);
    // Long before any time-out.
    let started = Instant::now();
    eventually(Some("300000".to_owned()), async || offset(&server, &path).await).await;
    assert!(started.elapsed() < Duration::from_secs(15));
    let rest = server
        .put(&path)
        .header("Upload-Offset", "300000")
        .body(core[300_000..].to_vec());
    assert_eq!(ok(rest.send().await.unwrap()).await["stored"], true);
}

#[tokio::test]
async fn a_body_without_an_end_is_cut() {
    let server = Server::with(|config| {
        config.limits.artifact_bytes = 1 << 20;
        config.limits.json_bytes = 1 << 20;
    })
    .await;
    let path = wanting(&server, &noise(1000, 5)).await;
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    let form = "Content-Type: multipart/form-data; boundary=b";
    let cases = [
        (format!("PUT {path}"), "Accept: */*", 422, "sha256-mismatch"),
        (
            "POST /api/v1/reports".to_owned(),
            "Content-Type: application/json",
            413,
            "too-large",
        ),
        ("POST /api/v1/reports".to_owned(), form, 400, "invalid-multipart"),
        ("POST /api/v1/symbols".to_owned(), "Accept: */*", 413, "too-large"),
        // Refused before its body was looked at.
        (
            "POST /api/v1/reports".to_owned(),
            "Content-Type: text/plain",
            415,
            "unsupported-media-type",
        ),
        (format!("PUT {path}"), "Upload-Offset: many", 400, "invalid-request"),
    ];
    let attacks = cases.map(|(request, header, status, code)| {
        let (server, chunk) = (&server, chunk.as_bytes());
        async move {
            let mut raw = Raw::open(server, &request, &["Transfer-Encoding: chunked", header]).await;
            for _ in 0..40 {
                raw.send(chunk).await;
            }
            let (actual, problem) = raw.answer().await;
            if code != "invalid-multipart" {
                assert_eq!(
                    (actual, &problem["code"]),
                    (status, &json!(code)),
                    "{request} {header}: {problem}"
                );
            }
            raw.flood(chunk).await;
        }
    });
    futures_util::future::join_all(attacks).await;
    assert!(server.files("staging").is_empty(), "{:?}", server.files("staging"));
    assert_eq!(
        offset(&server, &path).await.as_deref(),
        Some("0"),
        "the artifact is free"
    );
}

#[tokio::test]
async fn pieces_of_a_byte_each_make_an_artifact() {
    let server = Server::start().await;
    let core = noise(5000, 6);
    let path = wanting(&server, &core).await;
    let mut raw = Raw::open(&server, &format!("PUT {path}"), &["Transfer-Encoding: chunked"]).await;
    let mut chunks = Vec::new();
    for byte in &core {
        chunks.extend_from_slice(b"1\r\n");
        chunks.push(*byte);
        chunks.extend_from_slice(b"\r\n");
    }
    chunks.extend_from_slice(b"0\r\n\r\n");
    assert!(raw.send(&chunks).await);
    let (status, answer) = raw.answer().await;
    assert_eq!((status, &answer["stored"]), (200, &json!(true)), "{answer}");
}

#[tokio::test]
async fn a_length_that_is_too_much_is_refused_before_the_body() {
    let server = Server::start().await;
    let path = wanting(&server, &noise(1000, 7)).await;
    for (request, kind, status) in [
        (format!("PUT {path}"), "Accept: */*", 422),
        ("POST /api/v1/reports".to_owned(), "Content-Type: application/json", 413),
        ("POST /api/v1/symbols".to_owned(), "Accept: */*", 413),
    ] {
        let mut raw = Raw::open(&server, &request, &["Content-Length: 9000000000000000000", kind]).await;
        let (actual, problem) = raw.answer().await;
        assert_eq!(actual, status, "{request}: {problem}");
    }
}

#[tokio::test]
async fn half_a_second_request_holds_half_of_the_connections_at_most() {
    let server = Server::with(|config| config.limits.connections = 4).await;
    let mut held = Vec::new();
    for _ in 0..12 {
        let mut raw = Raw::open(&server, "GET /healthz", &[]).await;
        assert_eq!(raw.answer().await.0, 200);
        // The HTTP layer waits for the rest of this head without an end.
        raw.send(b"GET /healthz HTTP/1.1\r\nHost: ").await;
        held.push(raw);
    }
    for _ in 0..4 {
        assert_eq!(client().get(server.url("/healthz")).send().await.unwrap().status(), 200);
    }
}
