//! Artifacts as files again, and HEAD beside GET.

use reqwest::Method;
use reqwest::header::HeaderMap;
use serde_json::json;

use crate::support::{Server, declared, inline, noise, ok, problem};

fn header(headers: &HeaderMap, name: &str) -> String {
    let value = headers
        .get(name)
        .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    value.unwrap_or_default()
}

/// A name as it is part of an address.
fn encode(name: &str) -> String {
    name.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[tokio::test]
async fn downloads_keep_their_name_and_are_never_pages() {
    let server = Server::start().await;
    let cases = [
        ("core.4711", "attachment; filename=\"core.4711\""),
        (
            "a\"; filename=\"b.html",
            "attachment; filename=\"a__ filename=_b.html\"; filename*=UTF-8''a%22%3B%20filename%3D%22b.html",
        ),
        (
            "日誌.log",
            "attachment; filename=\"__.log\"; filename*=UTF-8''%E6%97%A5%E8%AA%8C.log",
        ),
        (
            "50%25.svg",
            "attachment; filename=\"50_25.svg\"; filename*=UTF-8''50%2525.svg",
        ),
        ("index.html", "attachment; filename=\"index.html\""),
    ];
    let artifacts: Vec<_> = cases
        .iter()
        .map(|(name, _)| (*name, &b"<script>alert(1)</script>"[..]))
        .collect();
    let id = server.send(json!({}), &artifacts).await;
    for (name, disposition) in cases {
        let path = format!("/api/v1/reports/{id}/artifacts/{}", encode(name));
        for method in [Method::GET, Method::HEAD] {
            let answer = server.request(method.clone(), &path).send().await.unwrap();
            assert_eq!(answer.status(), 200, "{method} {name}");
            let headers = answer.headers();
            assert_eq!(header(headers, "content-disposition"), disposition);
            assert_eq!(header(headers, "content-type"), "application/octet-stream");
            assert_eq!(header(headers, "x-content-type-options"), "nosniff");
        }
    }
}

#[tokio::test]
async fn a_download_goes_on_where_it_broke() {
    let server = Server::start().await;
    let bytes = noise(10_000, 1);
    let id = server.send(json!({}), &[("core", &bytes)]).await;
    let path = format!("/api/v1/reports/{id}/artifacts/core");
    let whole = server.get(&path).send().await.unwrap();
    let tag = header(whole.headers(), "etag");
    assert_eq!(header(whole.headers(), "accept-ranges"), "bytes");
    assert_eq!(whole.bytes().await.unwrap(), bytes);
    let cases: [(&[(&str, &str)], u16, std::ops::Range<usize>); 8] = [
        (&[("range", "bytes=9990-")], 206, 9990..10_000),
        (&[("range", "bytes=0-0")], 206, 0..1),
        (&[("range", "bytes=-10")], 206, 9990..10_000),
        (&[("range", "bytes=5-99999")], 206, 5..10_000),
        (&[("range", "bytes=5-9"), ("if-range", &tag)], 206, 5..10),
        (&[("range", "bytes=5-9"), ("if-range", "\"other\"")], 200, 0..10_000),
        (&[("range", "bytes=0-1,5-6")], 200, 0..10_000),
        (&[("if-none-match", &tag)], 304, 0..0),
    ];
    for (headers, status, expected) in cases {
        let request = headers.iter().fold(server.get(&path), |request, (name, value)| {
            request.header(*name, *value)
        });
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status().as_u16(), status, "{headers:?}");
        if status == 206 {
            let range = format!("bytes {}-{}/10000", expected.start, expected.end - 1);
            assert_eq!(header(answer.headers(), "content-range"), range);
        }
        assert_eq!(answer.bytes().await.unwrap(), bytes[expected], "{headers:?}");
    }
    let outside = server.get(&path).header("range", "bytes=10000-").send().await.unwrap();
    assert_eq!(header(outside.headers(), "content-range"), "bytes */10000");
    problem(outside, 416, "range-not-satisfiable").await;
}

#[tokio::test]
async fn head_of_an_artifact_tells_downloads_and_uploads_how_far_they_are() {
    let server = Server::start().await;
    let body = json!({"artifacts": [inline("here", b"12345"), declared("coming", b"123456789")]});
    let accepted = ok(server.post("/api/v1/reports").json(&body).send().await.unwrap()).await;
    let path = |name: &str| format!("/api/v1/reports/{}/artifacts/{name}", accepted["id"].as_str().unwrap());
    let put = server.put(&path("coming")).header("Upload-Offset", "0").body("1234");
    ok(put.send().await.unwrap()).await;

    let here = server.request(Method::HEAD, &path("here")).send().await.unwrap();
    assert_eq!(here.status(), 200);
    let names = ["content-length", "accept-ranges", "upload-offset", "upload-length"];
    assert_eq!(names.map(|name| header(here.headers(), name)), ["5", "bytes", "5", "5"]);
    assert_eq!(header(here.headers(), "etag").len(), 66, "a digest in quotes");

    let coming = server.request(Method::HEAD, &path("coming")).send().await.unwrap();
    assert_eq!(coming.status(), 204);
    let names = ["upload-offset", "upload-length", "etag"];
    assert_eq!(names.map(|name| header(coming.headers(), name)), ["4", "9", ""]);
}

#[tokio::test]
async fn head_is_answered_wherever_get_is() {
    let server = Server::start().await;
    let id = server.send(json!({}), &[("train.log", b"a line\n")]).await;
    server.processed(&id).await;
    let description = server.json("/api/v1/openapi.json").await;
    let mut paths: Vec<String> = [
        "/",
        "/search",
        "/assets/gone.js",
        "/buildid/00/executable",
        "/api/v1/openapi.json",
    ]
    .map(str::to_owned)
    .to_vec();
    for (path, methods) in description["paths"].as_object().unwrap() {
        if methods.get("get").is_some() {
            let path = path.replace("{id}", &id).replace("{name}", "train.log");
            paths.push(path.replace("{signature}", "none").replace("{build_id}", "00"));
        }
    }
    assert!(paths.len() > 15, "{paths:?}");
    for path in paths {
        let get = server.get(&path).send().await.unwrap();
        let head = server.request(Method::HEAD, &path).send().await.unwrap();
        assert_eq!(head.status(), get.status(), "{path}");
        for name in ["content-type", "etag", "content-disposition", "allow"] {
            assert_eq!(
                header(head.headers(), name),
                header(get.headers(), name),
                "{name} of {path}"
            );
        }
        assert!(head.bytes().await.unwrap().is_empty(), "{path}");
        let refused = server.request(Method::DELETE, &path).send().await.unwrap();
        let allow = header(refused.headers(), "allow");
        if refused.status() == 405 {
            assert!(allow.contains("GET, HEAD"), "{path} allows {allow}");
        }
    }
}
