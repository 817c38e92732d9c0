//! What a refused request costs: nothing that stays.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base64::Engine as _;
use reqwest::Response;
use serde_json::{Value, json};
use tempfile::TempDir;
use whycrash_server::services::Services;

use crate::support::{Hooked, Server, config, declared, form, inline, noise, ok, problem, traceback};

async fn post_json(server: &Server, body: impl Into<reqwest::Body>) -> Response {
    let request = server
        .post("/api/v1/reports")
        .header("Content-Type", "application/json");
    request.body(body).send().await.unwrap()
}

async fn post_form(server: &Server, path: &str, parts: &[(&str, Option<&str>, &[u8])]) -> Response {
    let (kind, body) = form(parts);
    server
        .post(path)
        .header("Content-Type", kind)
        .body(body)
        .send()
        .await
        .unwrap()
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    std::io::Write::write_all(&mut packed, bytes).unwrap();
    packed.finish().unwrap()
}

/// No blob, no file on its way, no record.
async fn nothing_stayed(server: &Server, what: &str) {
    for folder in ["blobs", "staging", "symbols"] {
        assert!(server.files(folder).is_empty(), "{what}: {:?}", server.files(folder));
    }
    assert_eq!(server.json("/api/v1/reports").await["total"], 0, "{what}");
}

#[tokio::test]
async fn a_refused_request_leaves_nothing() {
    let server = Server::with(|config| {
        config.limits.artifact_bytes = 500_000;
        config.limits.artifacts = 5;
        config.limits.metadata_values = 100;
    })
    .await;
    let fine = inline("fine", &noise(300_000, 1));
    let sha = "0".repeat(64);
    let reports: [(Value, u16, &str); 10] = [
        (json!({"name": "bad", "data": "***"}), 400, "invalid-artifact"),
        (json!({"name": "bad", "data": "aGk=\n"}), 400, "invalid-artifact"),
        (json!({"name": "..", "data": ""}), 400, "invalid-artifact"),
        (json!({"name": "bad"}), 400, "invalid-artifact"),
        (json!({"name": "x/fine", "data": "aGk="}), 400, "invalid-artifact"),
        (
            json!({"name": "bad", "data": "aGk=", "sha256": sha}),
            422,
            "sha256-mismatch",
        ),
        (
            json!({"name": "bad", "bytes": 500_001, "sha256": sha}),
            413,
            "too-large",
        ),
        (inline("bad", &noise(500_001, 2)), 413, "too-large"),
        (json!({"name": "bad", "bytes": "many"}), 400, "invalid-json"),
        // The same bytes can not have two sizes.
        (
            json!({"name": "bad", "bytes": 5, "sha256": declared("", &noise(300_000, 1))["sha256"]}),
            400,
            "invalid-artifact",
        ),
    ];
    for (artifact, status, code) in reports {
        let what = artifact.to_string();
        let body = json!({"artifacts": [fine, artifact]});
        problem(
            server.post("/api/v1/reports").json(&body).send().await.unwrap(),
            status,
            code,
        )
        .await;
        nothing_stayed(&server, &what[..what.len().min(80)]).await;
    }
    let core = noise(300_000, 3);
    let large = noise(500_001, 4);
    let file = ("file", Some("core"), core.as_slice());
    let values = format!("[{}0]", "0,".repeat(100));
    let metadata = format!("{{\"a\": {values}}}");
    let forms: [(&[(&str, Option<&str>, &[u8])], u16, &str); 5] = [
        (&[file, ("metadata", None, b"{")], 400, "invalid-json"),
        (&[file, ("metadata", None, metadata.as_bytes())], 413, "too-large"),
        (
            &[file, ("job", None, b"a"), ("job", None, b"b")],
            400,
            "invalid-request",
        ),
        (&[file, ("other", Some("large"), &large)], 413, "too-large"),
        (&[file; 6], 400, "invalid-artifact"),
    ];
    for (parts, status, code) in forms {
        for path in ["/api/v1/reports", "/api/v1/minidump"] {
            problem(post_form(&server, path, parts).await, status, code).await;
            nothing_stayed(&server, code).await;
        }
    }
    let symbols = server
        .post("/api/v1/symbols")
        .body(noise(300_000, 5))
        .send()
        .await
        .unwrap();
    problem(symbols, 422, "not-symbols").await;
    nothing_stayed(&server, "symbols").await;

    let busy = Server::with(|config| config.limits.queued_jobs = 0).await;
    let body = json!({"artifacts": [fine]});
    problem(
        busy.post("/api/v1/reports").json(&body).send().await.unwrap(),
        503,
        "busy",
    )
    .await;
    problem(post_form(&busy, "/api/v1/minidump", &[file]).await, 503, "busy").await;
    nothing_stayed(&busy, "a full queue").await;
}

#[tokio::test]
async fn chunks_that_are_refused_leave_nothing() {
    let server = Server::start().await;
    let core = noise(400_000, 6);
    let body = json!({"artifacts": [declared("core", &core), declared("empty", b"")]});
    let accepted = ok(server.post("/api/v1/reports").json(&body).send().await.unwrap()).await;
    let report = format!("/api/v1/reports/{}", accepted["id"].as_str().unwrap());
    let path = format!("{report}/artifacts/core");
    // Asking costs nothing.
    server.request(reqwest::Method::HEAD, &path).send().await.unwrap();
    problem(
        server.post(&format!("{report}/complete")).send().await.unwrap(),
        409,
        "artifacts-missing",
    )
    .await;
    problem(
        server.put(&path).body(noise(400_000, 7)).send().await.unwrap(),
        422,
        "sha256-mismatch",
    )
    .await;
    problem(
        server.put(&path).body(noise(400_001, 8)).send().await.unwrap(),
        422,
        "sha256-mismatch",
    )
    .await;
    let stream = futures_util::stream::iter((0..8).map(|n| Ok::<_, std::io::Error>(noise(100_000, n))));
    let long = server.put(&path).body(reqwest::Body::wrap_stream(stream)).send().await;
    if let Ok(answer) = long {
        problem(answer, 422, "sha256-mismatch").await;
    }
    assert!(server.files("staging").is_empty(), "{:?}", server.files("staging"));
    assert_eq!(
        ok(server.put(&path).body(core).send().await.unwrap()).await["stored"],
        true
    );
    ok(server.post(&format!("{report}/complete")).send().await.unwrap()).await;
    assert!(server.files("staging").is_empty(), "{:?}", server.files("staging"));
}

#[tokio::test]
async fn metadata_has_the_same_limits_in_forms_and_in_json() {
    let server = Server::with(|config| {
        config.limits.metadata_bytes = 10_000;
        config.limits.metadata_values = 1000;
    })
    .await;
    let deep = format!("{}1{}", "[".repeat(60), "]".repeat(60));
    let cases = [
        (
            format!("{{\"a\": [{}0]}}", "0,".repeat(1000)),
            413,
            "limits.metadata_values",
        ),
        (
            format!("{{\"a\": [{}{{}}]}}", "{},".repeat(1000)),
            413,
            "limits.metadata_values",
        ),
        (
            format!("{{\"a\": \"{}\"}}", "x".repeat(10_000)),
            413,
            "limits.metadata_bytes",
        ),
        (
            format!("{{\"{}\": 1}}", "x".repeat(10_001)),
            413,
            "limits.metadata_bytes",
        ),
        (format!("{{\"a\": {deep}}}"), 413, "levels deep"),
        ("{\"a\": 1, \"a\": 2}".to_owned(), 400, "\"a\" twice"),
    ];
    for (metadata, status, says) in cases {
        let json = format!(
            "{{\"artifacts\": [{}], \"metadata\": {metadata}}}",
            inline("core", b"x")
        );
        let parts: [(&str, Option<&str>, &[u8]); 2] =
            [("metadata", None, metadata.as_bytes()), ("file", Some("core"), b"x")];
        for answer in [
            post_json(&server, json).await,
            post_form(&server, "/api/v1/reports", &parts).await,
        ] {
            let code = if status == 413 { "too-large" } else { "invalid-request" };
            let problem = problem(answer, status, code).await;
            assert!(problem["detail"].as_str().unwrap().contains(says), "{problem}");
        }
    }
    let fields: Vec<String> = (0..1001).map(|n| n.to_string()).collect();
    let parts: Vec<(&str, Option<&str>, &[u8])> = fields.iter().map(|n| (n.as_str(), None, &b"x"[..])).collect();
    problem(post_form(&server, "/api/v1/minidump", &parts).await, 413, "too-large").await;
    nothing_stayed(&server, "metadata").await;
}

#[tokio::test]
async fn bodies_cost_no_more_than_their_size() {
    let server = Server::start().await;
    // Each of these took minutes or gigabytes: a name of megabytes, artifacts without an end, nesting, numbers.
    let long = format!("{}.log", "é".repeat(3_000_000));
    let id = server
        .send(json!({"host": "node-1", "rank": 4_294_967_295_u32}), &[(&long, b"x")])
        .await;
    let document = server.processed(&id).await;
    let name = document["report"]["artifacts"][0]["name"].as_str().unwrap();
    assert!(name.len() <= 200 && name.ends_with("é.log"), "{name}");

    let sha = "0".repeat(64);
    let many = format!(
        "{{\"artifacts\": [{}{{}}]}}",
        format!("{{\"name\":\"a\",\"bytes\":0,\"sha256\":\"{sha}\"}},").repeat(100_000)
    );
    problem(post_json(&server, many).await, 400, "invalid-artifact").await;
    let nested = format!("{{\"artifacts\": [], \"other\": {}", "[".repeat(400_000));
    problem(post_json(&server, nested).await, 400, "invalid-json").await;
    let number = format!(
        "{{\"artifacts\": [], \"metadata\": {{\"n\": {}}}}}",
        "9".repeat(400_000)
    );
    problem(post_json(&server, number).await, 400, "invalid-json").await;
    let text = format!("{{\"artifacts\": \"{}\"}}", "x".repeat(400_000));
    let refused = problem(post_json(&server, text).await, 400, "invalid-json").await;
    assert!(
        refused["detail"].as_str().unwrap().len() < 2000,
        "the answer does not repeat what was sent"
    );
    let twice = "{\"artifacts\": [], \"artifacts\": []}";
    problem(post_json(&server, twice).await, 400, "invalid-json").await;
    let name = "x".repeat(2 << 20);
    let parts: [(&str, Option<&str>, &[u8]); 1] = [("f", Some(&name), b"x")];
    let refused = post_form(&server, "/api/v1/reports", &parts).await;
    assert!(refused.status().is_client_error(), "{}", refused.status());
}

#[tokio::test]
async fn what_unpacks_to_too_much_is_cut() {
    let server = Server::start().await;
    let zeros = vec![0; 64 << 20];
    let (kind, body) = form(&[("file", Some("core"), &zeros)]);
    let bomb = packed(&body);
    assert!(bomb.len() < 200_000);
    for path in ["/api/v1/reports", "/api/v1/minidump"] {
        let request = server
            .post(path)
            .header("Content-Type", &kind)
            .header("Content-Encoding", "gzip");
        let problem = problem(request.body(bomb.clone()).send().await.unwrap(), 413, "too-large").await;
        assert!(
            problem["detail"].as_str().unwrap().contains("limits.unpack_ratio"),
            "{problem}"
        );
    }
    let json = packed(format!("{{\"artifacts\": [], \"x\": \"{}\"}}", " ".repeat(20 << 20)).as_bytes());
    let request = server
        .post("/api/v1/reports")
        .header("Content-Type", "application/json");
    let request = request.header("Content-Encoding", "gzip").body(json);
    problem(request.send().await.unwrap(), 413, "too-large").await;
    let request = server
        .post("/api/v1/reports")
        .header("Content-Type", &kind)
        .header("Content-Encoding", "br");
    problem(request.body("x").send().await.unwrap(), 415, "unsupported-media-type").await;
    nothing_stayed(&server, "bombs").await;
}

#[tokio::test]
async fn the_reserve_holds_against_uploads_side_by_side() {
    // Memory has a file system of its own, which other programs leave alone.
    let folder = TempDir::new_in("/dev/shm").unwrap();
    let free = || {
        rustix::fs::statvfs(folder.path())
            .map(|stat| stat.f_bavail * stat.f_frsize)
            .unwrap()
    };
    let mut config = config(folder.path());
    // The database and the index are made first.
    drop(Services::open(config.clone()).unwrap());
    let allowed = 12 << 20;
    config.limits.reserved_disk_bytes = free() - allowed;
    config.workers.threads = 1;
    let reserve = config.limits.reserved_disk_bytes;
    let services = loop {
        if let Ok(services) = Services::open(config.clone()) {
            break services;
        }
    };
    let path = folder.path().to_owned();
    let server = Server::over(folder, services).await;
    let core = noise(4 << 20, 9);
    let sends = (0..8).map(|n: u8| {
        let (mut core, server) = (core.clone(), &server);
        core[0] = n;
        async move {
            match n % 2 {
                0 => post_form(server, "/api/v1/reports", &[("file", Some("core"), &core)]).await,
                _ => {
                    let data = base64::engine::general_purpose::STANDARD.encode(&core);
                    let body = json!({"artifacts": [{"name": "core", "data": data}]});
                    server.post("/api/v1/reports").json(&body).send().await.unwrap()
                }
            }
        }
    });
    let mut taken = 0;
    for answer in futures_util::future::join_all(sends).await {
        match answer.status().as_u16() {
            201 => taken += 1,
            _ => drop(problem(answer, 507, "disk-full").await),
        }
    }
    assert!(taken <= 3, "{taken} of 4 MiB each had 12 MiB");
    let stat = rustix::fs::statvfs(&path).unwrap();
    // The database and the index may use some of the reserve: that is what it is for.
    assert!(stat.f_bavail * stat.f_frsize + (4 << 20) >= reserve);
    assert!(server.files("staging").is_empty(), "{:?}", server.files("staging"));
    assert_eq!(server.files("blobs").len(), taken);
}

#[tokio::test]
async fn strange_methods_are_no_labels() {
    let server = Server::start().await;
    for n in 0..20 {
        let method = reqwest::Method::from_bytes(format!("STRANGE{n}").as_bytes()).unwrap();
        let answer = server.request(method, "/api/v1/reports").send().await.unwrap();
        problem(answer, 405, "method-not-allowed").await;
    }
    let metrics = server.get("/metrics").send().await.unwrap().text().await.unwrap();
    assert!(
        !metrics.contains("STRANGE") && metrics.contains("method=\"other\""),
        "{metrics}"
    );
    let picky = server
        .get("/api/v1/reports")
        .header("Accept-Encoding", "identity;q=0, br");
    problem(picky.send().await.unwrap(), 406, "not-acceptable").await;
}

#[tokio::test]
async fn the_answer_does_not_wait_for_a_slow_diagnosis() {
    let folder = TempDir::new().unwrap();
    let mut config = config(folder.path());
    config.limits.provisional_seconds = 1;
    let mut services = Services::open(config).unwrap();
    let go_on = Arc::new(AtomicBool::new(false));
    let goes_on = Arc::clone(&go_on);
    services.reader = Hooked::before(services.reader, move |_| {
        while !goes_on.load(Ordering::SeqCst) {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    });
    let server = Server::over(folder, services).await;
    let log = traceback("20.00");
    let body = json!({"artifacts": [inline("train.log", log.as_bytes())]});
    let answer = server.post("/api/v1/reports").json(&body).send();
    let answer = tokio::time::timeout(crate::support::PATIENCE / 2, answer).await;
    let accepted = ok(answer.expect("the answer goes out").unwrap()).await;
    assert_eq!(
        (&accepted["state"], &accepted["findings"]),
        (&json!("processing"), &json!([]))
    );
    go_on.store(true, Ordering::SeqCst);
    let document = server.processed(accepted["id"].as_str().unwrap()).await;
    assert_eq!(document["state"], "done");
}
