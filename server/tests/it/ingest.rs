//! Sending reports.

use reqwest::StatusCode;
use serde_json::json;

use crate::support::{Server, declared, form, id_of, inline, noise, ok, problem, traceback};

#[tokio::test]
async fn inline_artifacts_make_a_whole_report() {
    let server = Server::start().await;
    let log = traceback("20.00");
    let metadata = json!({"host": "node-7", "rank": 3});
    let body = json!({"metadata": metadata, "artifacts": [inline("train.log", log.as_bytes())]});
    let answer = server.post("/api/v1/reports").json(&body).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::CREATED);
    let location = answer.headers()["location"].to_str().unwrap().to_owned();
    let accepted = ok(answer).await;
    let id = accepted["id"].as_str().unwrap();
    assert_eq!(id, id_of(&metadata, &[("train.log", log.as_bytes())]));
    assert_eq!(accepted["url"], server.url(&format!("/reports/{id}")));
    assert_eq!(
        (location, &accepted["wants"]),
        (format!("/api/v1/reports/{id}"), &json!([]))
    );

    let document = server.processed(id).await;
    assert_eq!(document["state"], "done");
    assert_eq!(document["report"]["id"], id);
    assert_eq!(document["report"]["artifacts"][0]["bytes"], log.len());

    let again = server.post("/api/v1/reports").json(&body).send().await.unwrap();
    assert_eq!(again.status(), StatusCode::OK, "it was seen before");
    let again = ok(again).await;
    assert_eq!((&again["id"], &again["state"]), (&json!(id), &json!("done")));
    assert_eq!(again["findings"], document["findings"]);
    assert_eq!(server.json("/api/v1/reports").await["total"], 1);
    assert_eq!(server.find("OutOfMemoryError").await["total"], 1);
}

#[tokio::test]
async fn large_artifacts_come_in_chunks() {
    let server = Server::start().await;
    let core = noise(300_000, 1);
    let body = json!({"artifacts": [declared("core", &core), inline("note.txt", b"it crashed")]});
    let accepted = ok(server.post("/api/v1/reports").json(&body).send().await.unwrap()).await;
    let id = accepted["id"].as_str().unwrap();
    assert_eq!(accepted["state"], "uploading");
    assert_eq!(accepted["wants"], json!([declared("core", &core)]));
    assert_eq!(
        server.json(&format!("/api/v1/reports/{id}")).await["state"],
        "uploading"
    );
    let early = server
        .post(&format!("/api/v1/reports/{id}/complete"))
        .send()
        .await
        .unwrap();
    assert_eq!(
        problem(early, 409, "artifacts-missing").await["missing"],
        json!(["core"])
    );

    let path = format!("/api/v1/reports/{id}/artifacts/core");
    let head = server.request(reqwest::Method::HEAD, &path).send().await.unwrap();
    assert_eq!(
        (&head.headers()["upload-offset"], &head.headers()["upload-length"]),
        (&"0".parse().unwrap(), &"300000".parse().unwrap())
    );

    let first = server
        .put(&path)
        .header("Upload-Offset", "0")
        .body(core[..100_000].to_vec());
    assert_eq!(
        ok(first.send().await.unwrap()).await,
        json!({"offset": 100_000, "bytes": 300_000, "stored": false})
    );
    for wrong in ["0", "99999", "100001"] {
        let chunk = server
            .put(&path)
            .header("Upload-Offset", wrong)
            .body(vec![0; 10])
            .send()
            .await
            .unwrap();
        assert_eq!(problem(chunk, 409, "wrong-offset").await["offset"], 100_000);
    }
    let second = server
        .put(&path)
        .header("Content-Range", "bytes 100000-199999/300000")
        .body(core[100_000..200_000].to_vec());
    assert_eq!(ok(second.send().await.unwrap()).await["offset"], 200_000);
    let head = server.request(reqwest::Method::HEAD, &path).send().await.unwrap();
    assert_eq!(head.headers()["upload-offset"], "200000");
    let third = server
        .put(&path)
        .header("Upload-Offset", "200000")
        .body(core[200_000..].to_vec());
    assert_eq!(ok(third.send().await.unwrap()).await["stored"], true);
    let repeated = server.put(&path).body(core.clone()).send().await.unwrap();
    assert_eq!(
        ok(repeated).await["stored"],
        true,
        "what is here already is not asked for again"
    );

    ok(server
        .post(&format!("/api/v1/reports/{id}/complete"))
        .send()
        .await
        .unwrap())
    .await;
    ok(server
        .post(&format!("/api/v1/reports/{id}/complete"))
        .send()
        .await
        .unwrap())
    .await;
    assert_eq!(server.processed(id).await["state"], "done");
    let download = server.get(&path).send().await.unwrap();
    assert_eq!(download.headers()["x-content-type-options"], "nosniff");
    assert_eq!(
        download.headers()["content-disposition"],
        "attachment; filename=\"core\""
    );
    assert_eq!(download.bytes().await.unwrap(), core);
}

#[tokio::test]
async fn an_upload_goes_on_after_a_restart() {
    let server = Server::start().await;
    let core = noise(100_000, 2);
    let body = json!({"artifacts": [declared("core", &core)]});
    let accepted = ok(server.post("/api/v1/reports").json(&body).send().await.unwrap()).await;
    let path = format!("/api/v1/reports/{}/artifacts/core", accepted["id"].as_str().unwrap());
    let first = server
        .put(&path)
        .header("Upload-Offset", "0")
        .body(core[..60_000].to_vec());
    ok(first.send().await.unwrap()).await;

    let server = server.restart(|_| {}).await;
    let head = server.request(reqwest::Method::HEAD, &path).send().await.unwrap();
    assert_eq!(head.headers()["upload-offset"], "60000");
    let rest = server
        .put(&path)
        .header("Upload-Offset", "60000")
        .body(core[60_000..].to_vec());
    assert_eq!(ok(rest.send().await.unwrap()).await["stored"], true);
}

#[tokio::test]
async fn bytes_that_are_not_the_declared_ones_are_dropped() {
    let server = Server::start().await;
    let core = noise(10_000, 3);
    let body = json!({"artifacts": [declared("core", &core)]});
    let accepted = ok(server.post("/api/v1/reports").json(&body).send().await.unwrap()).await;
    let path = format!("/api/v1/reports/{}/artifacts/core", accepted["id"].as_str().unwrap());
    let wrong = server.put(&path).body(noise(10_000, 4)).send().await.unwrap();
    problem(wrong, 422, "sha256-mismatch").await;
    let long = server.put(&path).body(noise(10_001, 3)).send().await.unwrap();
    problem(long, 422, "sha256-mismatch").await;
    let head = server.request(reqwest::Method::HEAD, &path).send().await.unwrap();
    assert_eq!(head.headers()["upload-offset"], "0", "nothing of it stayed");
    let short = server.put(&path).body(core[..5000].to_vec()).send().await.unwrap();
    assert_eq!(ok(short).await["offset"], 5000);
    let whole = server.put(&path).body(core).send().await.unwrap();
    assert_eq!(
        ok(whole).await["stored"],
        true,
        "an upload without an offset starts anew"
    );
}

#[tokio::test]
async fn a_form_is_a_report_in_one_go() {
    let server = Server::start().await;
    let core = noise(2_000_000, 5);
    let parts: [(&str, Option<&str>, &[u8]); 5] = [
        ("metadata", None, br#"{"host": "node-1"}"#),
        ("job", None, b"nightly"),
        ("file", Some("/tmp/crash/core"), &core),
        ("file", Some("core"), b"another"),
        ("file", Some("../../etc/passwd"), b""),
    ];
    let (kind, body) = form(&parts);
    let send = || {
        server
            .post("/api/v1/reports")
            .header("Content-Type", &kind)
            .body(body.clone())
            .send()
    };
    let answer = send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::CREATED);
    let accepted = ok(answer).await;
    let id = accepted["id"].as_str().unwrap();
    let metadata = json!({"host": "node-1", "job": "nightly"});
    assert_eq!(
        id,
        id_of(&metadata, &[("core", &core), ("core-2", b"another"), ("passwd", b"")])
    );
    let document = server.processed(id).await;
    let names: Vec<_> = document["report"]["artifacts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|a| a["name"].clone())
        .collect();
    assert_eq!(names, ["core", "core-2", "passwd"]);
    assert_eq!(send().await.unwrap().status(), StatusCode::OK);
    assert!(
        std::fs::read_dir(server.folder.path().join("data/staging"))
            .unwrap()
            .next()
            .is_none()
    );
}

#[tokio::test]
async fn crash_clients_send_minidumps() {
    let server = Server::start().await;
    let parts: [(&str, Option<&str>, &[u8]); 3] = [
        ("prod", None, b"trainer"),
        ("ver", None, b"1.2"),
        ("upload_file_minidump", Some("b0.dmp"), b"MDMP not really"),
    ];
    let (kind, body) = form(&parts);
    let answer = server
        .post("/api/v1/minidump")
        .header("Content-Type", &kind)
        .body(body.clone())
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    let id = answer.text().await.unwrap();
    assert_eq!(
        id,
        id_of(
            &json!({"prod": "trainer", "ver": "1.2"}),
            &[("b0.dmp", b"MDMP not really")]
        )
    );
    assert_eq!(server.processed(&id).await["state"], "done");

    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, &body).unwrap();
    let answer = server
        .post("/api/v1/minidump")
        .header("Content-Type", &kind)
        .header("Content-Encoding", "gzip");
    let answer = answer.body(packed.finish().unwrap()).send().await.unwrap();
    assert_eq!(answer.text().await.unwrap(), id, "packed or not, it is the same report");
}

#[tokio::test]
async fn the_same_upload_twice_at_once_is_one_report() {
    let server = Server::start().await;
    let core = noise(500_000, 6);
    let body = json!({"artifacts": [inline("core", &core), inline("log", b"x")]});
    let sends = (0..6).map(|_| server.post("/api/v1/reports").json(&body).send());
    let mut ids = Vec::new();
    for answer in futures_util::future::join_all(sends).await {
        ids.push(ok(answer.unwrap()).await["id"].as_str().unwrap().to_owned());
    }
    ids.dedup();
    assert_eq!(ids.len(), 1);
    server.processed(&ids[0]).await;
    assert_eq!(server.json("/api/v1/reports").await["total"], 1);
    assert_eq!(server.find("").await["total"], 1);
}

#[tokio::test]
async fn two_uploads_of_one_artifact_do_not_mix() {
    let server = Server::start().await;
    let core = noise(4_000_000, 7);
    let body = json!({"artifacts": [declared("core", &core)]});
    let accepted = ok(server.post("/api/v1/reports").json(&body).send().await.unwrap()).await;
    let path = format!("/api/v1/reports/{}/artifacts/core", accepted["id"].as_str().unwrap());
    let sends = (0..4).map(|_| server.put(&path).body(core.clone()).send());
    let mut stored = 0;
    for answer in futures_util::future::join_all(sends).await.into_iter().flatten() {
        match answer.status() {
            StatusCode::OK => stored += usize::from(ok(answer).await["stored"] == true),
            _ => drop(problem(answer, 409, "upload-in-progress").await),
        }
    }
    assert!(stored > 0);
    assert_eq!(server.get(&path).send().await.unwrap().bytes().await.unwrap(), core);
}

#[tokio::test]
async fn an_artifact_that_another_report_brought_is_not_wanted() {
    let server = Server::start().await;
    let core = noise(50_000, 8);
    server.send(json!({"host": "a"}), &[("core", &core)]).await;
    let body = json!({"metadata": {"host": "b"}, "artifacts": [declared("same-core", &core)]});
    let accepted = ok(server.post("/api/v1/reports").json(&body).send().await.unwrap()).await;
    assert_eq!(accepted["wants"], json!([]));
    assert_eq!(
        server.processed(accepted["id"].as_str().unwrap()).await["state"],
        "done"
    );
}

#[tokio::test]
async fn a_wrong_size_is_put_right() {
    let server = Server::start().await;
    let core = noise(50_000, 9);
    for said in [10, 5_000_000] {
        let mut wrong = declared("core", &core);
        wrong["bytes"] = json!(said);
        let body = json!({"metadata": {"said": said}, "artifacts": [wrong]});
        let accepted = ok(server.post("/api/v1/reports").json(&body).send().await.unwrap()).await;
        let report = format!("/api/v1/reports/{}", accepted["id"].as_str().unwrap());
        // The same report, said right: whoever said it wrong has not spoilt it.
        let body = json!({"metadata": {"said": said}, "artifacts": [declared("core", &core)]});
        let accepted = ok(server.post("/api/v1/reports").json(&body).send().await.unwrap()).await;
        if accepted["wants"] != json!([]) {
            assert_eq!(accepted["wants"], json!([declared("core", &core)]));
            let put = server.put(&format!("{report}/artifacts/core")).body(core.clone());
            assert_eq!(ok(put.send().await.unwrap()).await["stored"], true);
            ok(server.post(&format!("{report}/complete")).send().await.unwrap()).await;
        }
        let id = accepted["id"].as_str().unwrap();
        assert_eq!(server.processed(id).await["report"]["artifacts"][0]["bytes"], 50_000);
        let download = server.get(&format!("{report}/artifacts/core")).send().await.unwrap();
        assert_eq!(download.bytes().await.unwrap(), core);
    }
}

#[tokio::test]
async fn nothing_fits_on_a_full_disk() {
    let server = Server::with(|config| config.limits.reserved_disk_bytes = u64::MAX).await;
    let inline = json!({"artifacts": [inline("core", b"12345")]});
    problem(
        server.post("/api/v1/reports").json(&inline).send().await.unwrap(),
        507,
        "disk-full",
    )
    .await;
    let (kind, body) = form(&[("file", Some("core"), b"12345")]);
    let sent = server
        .post("/api/v1/reports")
        .header("Content-Type", kind)
        .body(body)
        .send()
        .await
        .unwrap();
    problem(sent, 507, "disk-full").await;
    let large = json!({"artifacts": [declared("core", b"12345")]});
    let accepted = ok(server.post("/api/v1/reports").json(&large).send().await.unwrap()).await;
    let path = format!("/api/v1/reports/{}/artifacts/core", accepted["id"].as_str().unwrap());
    problem(server.put(&path).body("12345").send().await.unwrap(), 507, "disk-full").await;
    problem(server.get("/readyz").send().await.unwrap(), 507, "disk-full").await;
}

#[tokio::test]
async fn a_full_queue_turns_reports_away() {
    let server = Server::with(|config| config.limits.queued_jobs = 0).await;
    let body = json!({"artifacts": [inline("core", b"12345")]});
    let answer = server.post("/api/v1/reports").json(&body).send().await.unwrap();
    assert_eq!(answer.headers()["retry-after"], "5");
    problem(answer, 503, "busy").await;
    let uploads = Server::with(|config| config.limits.uploads = 0).await;
    let answer = uploads.post("/api/v1/reports").json(&body).send().await.unwrap();
    assert_eq!(answer.headers()["retry-after"], "5");
    problem(answer, 429, "too-many-requests").await;
}
