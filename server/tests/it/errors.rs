//! Every way to be told no, in one table.

use reqwest::Method;
use serde_json::{Value, json};
use whycrash_server::api::problem::Code;

use crate::support::{Server, declared, form, inline, problem};

const NOBODY: &str = "00000000000000000000000000000000";

/// A request that must be refused.
struct Case {
    method: Method,
    path: String,
    body: Body,
    status: u16,
    code: &'static str,
}

enum Body {
    None,
    Json(Value),
    Text(&'static str, &'static str),
    Form(Vec<(&'static str, Option<&'static str>, Vec<u8>)>),
}

fn case(method: Method, path: impl Into<String>, body: Body, status: u16, code: &'static str) -> Case {
    Case {
        method,
        path: path.into(),
        body,
        status,
        code,
    }
}

fn cases() -> Vec<Case> {
    let post = |body, status, code| case(Method::POST, "/api/v1/reports", body, status, code);
    let get = |path: &str, status, code| case(Method::GET, path, Body::None, status, code);
    let artifacts = |artifacts: Value| Body::Json(json!({ "artifacts": artifacts }));
    let sha = "0".repeat(64);
    let many: Vec<_> = (0..10).map(|n| inline(&format!("file{n}"), b"x")).collect();
    vec![
        post(Body::Text("application/json", "{"), 400, "invalid-json"),
        post(Body::Text("application/json", "[]"), 400, "invalid-json"),
        post(
            Body::Text("application/json", r#"{"artifacts": 5}"#),
            400,
            "invalid-json",
        ),
        post(
            Body::Text("application/json", r#"{"artifacts": [{"name": 5}]}"#),
            400,
            "invalid-json",
        ),
        post(Body::Text("text/plain", "core"), 415, "unsupported-media-type"),
        post(Body::None, 415, "unsupported-media-type"),
        post(artifacts(json!([])), 400, "invalid-artifact"),
        post(artifacts(json!([{"name": "core"}])), 400, "invalid-artifact"),
        post(
            artifacts(json!([{"name": "core", "bytes": 5}])),
            400,
            "invalid-artifact",
        ),
        post(
            artifacts(json!([{"name": "core", "sha256": sha}])),
            400,
            "invalid-artifact",
        ),
        post(
            artifacts(json!([{"name": "core", "bytes": 5, "sha256": "abc"}])),
            400,
            "invalid-json",
        ),
        post(
            artifacts(json!([{"name": "core", "bytes": -5, "sha256": sha}])),
            400,
            "invalid-json",
        ),
        post(
            artifacts(json!([{"name": "core", "data": "***"}])),
            400,
            "invalid-artifact",
        ),
        post(
            artifacts(json!([{"name": "core", "data": "aGk=", "sha256": sha}])),
            422,
            "sha256-mismatch",
        ),
        post(
            artifacts(json!([{"name": "core", "data": "aGk=", "bytes": 3}])),
            422,
            "sha256-mismatch",
        ),
        post(artifacts(json!([{"name": "..", "data": ""}])), 400, "invalid-artifact"),
        post(
            artifacts(json!([inline("a", b"1"), inline("x/a", b"2")])),
            400,
            "invalid-artifact",
        ),
        post(artifacts(json!(many)), 400, "invalid-artifact"),
        post(
            artifacts(json!([{"name": "core", "bytes": 2_000_000, "sha256": sha}])),
            413,
            "too-large",
        ),
        post(artifacts(json!([inline("core", &vec![0; 200_000])])), 413, "too-large"),
        post(Body::Text("multipart/form-data", "x"), 400, "invalid-multipart"),
        post(
            Body::Text("multipart/form-data; boundary=b", "not a form"),
            400,
            "invalid-multipart",
        ),
        post(
            Body::Text("multipart/form-data; boundary=b", "--b\r\n"),
            400,
            "invalid-multipart",
        ),
        post(Body::Form(vec![]), 400, "invalid-artifact"),
        post(Body::Form(vec![("metadata", None, b"{".to_vec())]), 400, "invalid-json"),
        post(Body::Form(vec![("metadata", None, vec![b' '; 5000])]), 413, "too-large"),
        post(
            Body::Form(vec![("f", Some("core"), vec![0; 1_000_001])]),
            413,
            "too-large",
        ),
        post(
            Body::Form((0..10).map(|_| ("f", Some("core"), vec![])).collect()),
            400,
            "invalid-artifact",
        ),
        case(
            Method::POST,
            "/api/v1/minidump",
            Body::Form(vec![("prod", None, b"x".to_vec())]),
            400,
            "invalid-artifact",
        ),
        case(
            Method::POST,
            "/api/v1/minidump",
            Body::Text("text/plain", "x"),
            400,
            "invalid-multipart",
        ),
        get("/api/v1", 404, "not-found"),
        get("/api/v1/nothing", 404, "not-found"),
        get("/api/v1/reports/x/y/z", 404, "not-found"),
        get("/assets/gone.js", 404, "not-found"),
        get("/api/v1/reports/xyz", 404, "no-such-report"),
        get(&format!("/api/v1/reports/{NOBODY}"), 404, "no-such-report"),
        get(
            &format!("/api/v1/reports/{NOBODY}/artifacts/core"),
            404,
            "no-such-report",
        ),
        get(
            &format!("/api/v1/reports/{NOBODY}/artifacts/core/lines"),
            404,
            "no-such-report",
        ),
        case(
            Method::POST,
            format!("/api/v1/reports/{NOBODY}/complete"),
            Body::None,
            404,
            "no-such-report",
        ),
        case(
            Method::PUT,
            format!("/api/v1/reports/{NOBODY}/artifacts/core"),
            Body::None,
            404,
            "no-such-report",
        ),
        get("/api/v1/groups/none", 404, "no-such-group"),
        get("/api/v1/causes/none", 404, "no-such-cause"),
        get("/api/v1/reports?limit=x", 400, "invalid-request"),
        get("/api/v1/search?limit=-1", 400, "invalid-request"),
        get("/api/v1/search?sort=best", 400, "invalid-request"),
        get("/api/v1/search?q=%22open", 400, "invalid-query"),
        get("/api/v1/search?q=colour:red", 400, "invalid-query"),
        get("/api/v1/search?q=signal:", 400, "invalid-query"),
        get("/api/v1/search?q=a+-", 400, "invalid-query"),
        get(&format!("/api/v1/search?q={}", "a+".repeat(70)), 400, "invalid-query"),
        get(&format!("/api/v1/search?q={}", "a".repeat(5000)), 400, "invalid-query"),
        case(Method::DELETE, "/api/v1/reports", Body::None, 405, "method-not-allowed"),
        case(Method::POST, "/api/v1/search", Body::None, 405, "method-not-allowed"),
        case(Method::POST, "/healthz", Body::None, 405, "method-not-allowed"),
        case(Method::POST, "/", Body::None, 405, "method-not-allowed"),
    ]
}

#[tokio::test]
async fn refusals_are_problem_documents() {
    let server = Server::with(|config| {
        config.limits.artifact_bytes = 1_000_000;
        config.limits.artifacts = 5;
        config.limits.json_bytes = 100_000;
        config.limits.metadata_bytes = 4000;
    })
    .await;
    for Case {
        method,
        path,
        body,
        status,
        code,
    } in cases()
    {
        println!("{method} {path} must answer {status} {code}");
        let request = server.request(method, &path);
        let request = match body {
            Body::None => request,
            Body::Json(json) => request.json(&json),
            Body::Text(kind, text) => request.header("Content-Type", kind).body(text),
            Body::Form(parts) => {
                let parts: Vec<_> = parts
                    .iter()
                    .map(|(name, file, data)| (*name, *file, data.as_slice()))
                    .collect();
                let (kind, body) = form(&parts);
                request.header("Content-Type", kind).body(body)
            }
        };
        let answer = request.send().await.unwrap();
        assert_eq!(answer.headers().contains_key("allow"), status == 405);
        problem(answer, status, code).await;
    }
    assert_eq!(
        server.json("/api/v1/reports").await["total"],
        0,
        "nothing of it became a report"
    );
}

#[tokio::test]
async fn artifacts_that_are_not_here_or_not_text() {
    let server = Server::start().await;
    let body = json!({"artifacts": [declared("core", b"12345"), inline("binary", b"\x7fELF\0\0\0")]});
    let accepted = crate::support::ok(server.post("/api/v1/reports").json(&body).send().await.unwrap()).await;
    let report = format!("/api/v1/reports/{}/artifacts", accepted["id"].as_str().unwrap());
    let cases = [
        ("other", 404, "no-such-artifact"),
        ("core", 409, "artifact-not-uploaded"),
        ("binary/lines", 409, "artifact-not-text"),
    ];
    for (name, status, code) in cases {
        problem(
            server.get(&format!("{report}/{name}")).send().await.unwrap(),
            status,
            code,
        )
        .await;
    }
    for header in [
        ("Upload-Offset", "x"),
        ("Content-Range", "lines 1-2/3"),
        ("Content-Range", "bytes x"),
    ] {
        let put = server
            .put(&format!("{report}/core"))
            .header(header.0, header.1)
            .body("1");
        problem(put.send().await.unwrap(), 400, "invalid-request").await;
    }
}

#[test]
fn the_table_of_problems() {
    let rows: Vec<String> = Code::ALL
        .iter()
        .map(|code| code.row())
        .map(|r| format!("{} {}: {} ({})", r.status, r.code, r.title, r.hint))
        .collect();
    insta::assert_snapshot!(rows.join("\n"));
}
