//! Who is answered by a server that has no token, and by one that had.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use jiff::Timestamp;
use reqwest::Method;
use reqwest::header::{AUTHORIZATION, HOST};
use serde_json::json;
use whycrash_server::config::Config;
use whycrash_server::services::open_database;
use whycrash_server::store::{Scope, Token, TokenRecord, Tokens as _};

use crate::support::{PATIENCE, Server, config, inline, problem};

/// Addresses of every kind: the API, what operators ask, the user interface, symbols.
const PATHS: [&str; 6] = [
    "/api/v1/reports",
    "/api/v1/search?q=x",
    "/metrics",
    "/readyz",
    "/",
    "/buildid/00/executable",
];

/// Makes a token as `whycrash-server token create` does beside a running server; its secret.
async fn make_token(server: &Server, name: &str) -> String {
    make_token_for(server, name, Scope::Admin).await
}

/// The same for one scope.
async fn make_token_for(server: &Server, name: &str, scope: Scope) -> String {
    let database = open_database(&config(server.folder.path())).unwrap();
    let token = Token::generate().unwrap();
    let record = TokenRecord {
        name: name.to_owned(),
        scopes: vec![scope],
        created: Timestamp::now(),
    };
    assert!(database.add_token(&Token::hash(token.secret()), &record).await.unwrap());
    token.secret().to_owned()
}

/// Sends a request as it is written, without what HTTP libraries add or refuse; the status.
async fn raw(server: &Server, request: &str) -> u16 {
    let address = server.url("").replace("http://", "");
    let request = request.replace("ADDRESS", &address);
    let status = tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(&address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut head = [0; 12];
        stream.read_exact(&mut head).unwrap();
        std::str::from_utf8(&head[9..]).unwrap().parse().unwrap()
    });
    status.await.unwrap()
}

#[tokio::test]
async fn without_tokens_what_a_proxy_passed_on_is_refused() {
    let server = Server::start().await;
    let headers = [
        ("forwarded", "for=192.0.2.1"),
        ("x-forwarded-for", "127.0.0.1"),
        ("x-forwarded-host", "127.0.0.1"),
        ("x-forwarded-proto", "https"),
        ("x-forwarded", "1"),
        ("x-real-ip", "192.0.2.1"),
        ("via", "1.1 proxy"),
        ("cf-connecting-ip", "192.0.2.1"),
        ("cf-ray", "1"),
        ("true-client-ip", "192.0.2.1"),
        ("x-client-ip", "192.0.2.1"),
        ("x-cluster-client-ip", "192.0.2.1"),
        ("x-original-host", "crashes.example"),
        ("x-original-url", "/"),
        ("x-remote-user", "somebody"),
        ("proxy-connection", "keep-alive"),
        ("x-envoy-external-address", "192.0.2.1"),
        ("fastly-client-ip", "192.0.2.1"),
        ("cdn-loop", "cloudflare"),
        ("tailscale-user-login", "somebody"),
    ];
    for path in PATHS {
        for (name, value) in headers {
            let answer = server.get(path).header(name, value).send().await.unwrap();
            let problem = problem(answer, 403, "not-direct").await;
            assert!(problem["detail"].as_str().unwrap().contains(name), "{problem}");
            let hint = problem["hint"].as_str().unwrap();
            assert!(hint.contains("whycrash-server token create --scope admin"), "{hint}");
        }
    }
    let own = server.url("/search");
    let pages: [(&[(&str, &str)], u16); 7] = [
        (&[("referer", &own), ("sec-fetch-site", "same-origin")], 200),
        (
            &[("referer", "http://localhost:5173/"), ("sec-fetch-site", "same-origin")],
            200,
        ),
        (
            &[("referer", "https://wiki.example/"), ("sec-fetch-site", "cross-site")],
            200,
        ),
        (
            &[
                ("referer", "https://crashes.example/"),
                ("sec-fetch-site", "same-origin"),
            ],
            403,
        ),
        (&[("referer", "http://crashes.example/")], 403),
        (&[("origin", "http://crashes.example")], 403),
        (&[("origin", "null")], 403),
    ];
    for (headers, status) in pages {
        let request = headers
            .iter()
            .fold(server.get("/api/v1/reports"), |r, (n, v)| r.header(*n, *v));
        assert_eq!(request.send().await.unwrap().status().as_u16(), status, "{headers:?}");
    }
}

#[tokio::test]
async fn without_tokens_a_request_must_name_this_machine_and_nothing_else() {
    let server = Server::with(|config| {
        config.hosts = vec!["crashes.internal".to_owned()];
        config.public_url = Some("https://crashes.example".to_owned());
    })
    .await;
    let cases = [
        ("127.0.0.1:7311", 200),
        ("LOCALHOST", 200),
        ("[::ffff:127.0.0.1]:1", 200),
        ("crashes.internal", 200),
        ("Crashes.Internal:443", 200),
        ("crashes.example", 403),
        ("crashes.example:443", 403),
        ("localhost.example", 403),
        ("127.0.0.1.example", 403),
        ("127.0.0.1@elsewhere.example", 403),
        ("elsewhere.example@127.0.0.1", 403),
        ("0.0.0.0", 403),
        ("192.0.2.1", 403),
        ("", 403),
    ];
    for path in PATHS.into_iter().take(5) {
        for (host, status) in cases {
            let actual = raw(&server, &format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n")).await;
            assert_eq!(actual, status, "{path} as {host:?}");
        }
    }
    let heads = [
        ("GET /api/v1/reports HTTP/1.1\r\nHost: ADDRESS\r\n\r\n", 200),
        (
            "GET http://ADDRESS/api/v1/reports HTTP/1.1\r\nHost: ADDRESS\r\n\r\n",
            200,
        ),
        (
            "GET http://elsewhere.example/api/v1/reports HTTP/1.1\r\nHost: ADDRESS\r\n\r\n",
            403,
        ),
        ("GET /api/v1/reports HTTP/1.1\r\n\r\n", 400),
        ("GET /api/v1/reports HTTP/1.0\r\nHost: ADDRESS\r\n\r\n", 403),
        ("GET /api/v1/reports HTTP/1.0\r\n\r\n", 403),
    ];
    for (request, status) in heads {
        assert_eq!(raw(&server, request).await, status, "{request}");
    }
    let twice = raw(
        &server,
        "GET / HTTP/1.1\r\nHost: ADDRESS\r\nHost: elsewhere.example\r\n\r\n",
    )
    .await;
    assert!(matches!(twice, 400 | 403), "{twice}");
}

#[tokio::test]
async fn a_header_that_is_no_token_skips_nothing() {
    let server = Server::start().await;
    let headers = ["Bearer whycrash_0", "Bearer", "Bearer ", "Basic dXNlcjpwYXNz", "x", ""];
    for header in headers {
        for host in ["127.0.0.1", "elsewhere.example"] {
            for path in ["/api/v1/reports", "/api/v1/search", "/metrics"] {
                let request = server.get(path).header(AUTHORIZATION, header).header(HOST, host);
                problem(request.send().await.unwrap(), 401, "unauthorized").await;
            }
        }
    }
    let body = json!({"artifacts": [inline("core", b"1")]});
    let post = server
        .post("/api/v1/reports")
        .header(AUTHORIZATION, "Bearer x")
        .json(&body);
    let answer = post.send().await.unwrap();
    assert_eq!(answer.headers()["www-authenticate"], "Bearer");
    problem(answer, 401, "unauthorized").await;
    assert_eq!(server.json("/api/v1/reports").await["total"], 0);
}

#[tokio::test]
async fn revoking_the_last_token_opens_nothing() {
    let server = Server::start().await;
    assert_eq!(server.json("/api/v1/reports").await["total"], 0);
    let secret = make_token(&server, "first").await;
    problem(server.get("/api/v1/reports").send().await.unwrap(), 401, "unauthorized").await;
    let passed_on = server.get("/api/v1/reports").bearer_auth(&secret);
    let passed_on = passed_on
        .header(HOST, "crashes.example")
        .header("x-forwarded-for", "192.0.2.1");
    assert_eq!(
        passed_on.send().await.unwrap().status(),
        200,
        "a token is enough, behind a proxy too"
    );

    let database = open_database(&config(server.folder.path())).unwrap();
    assert!(database.revoke_token("first").await.unwrap());
    drop(database);
    let refused = async |server: &Server| {
        for request in [
            server.get("/api/v1/reports"),
            server.get("/api/v1/reports").bearer_auth(&secret),
        ] {
            problem(request.send().await.unwrap(), 401, "unauthorized").await;
        }
    };
    refused(&server).await;
    let server = server.restart(|_| {}).await;
    refused(&server).await;
    let second = make_token(&server, "second").await;
    let answer = server.get("/api/v1/reports").bearer_auth(second).send().await.unwrap();
    assert_eq!(answer.status(), 200);
}

#[test]
fn the_command_that_makes_the_first_token_names_the_data() {
    let config = Config {
        data: "/srv/it's here".into(),
        ..Config::default()
    };
    assert_eq!(
        config.first_token_command(),
        r"whycrash-server --data '/srv/it'\''s here' token create --scope admin"
    );
}

#[tokio::test]
async fn plugins_are_read_by_readers_and_changed_by_administrators_alone() {
    let server = Server::start().await;
    let mut tokens = Vec::new();
    for scope in [Scope::Ingest, Scope::Read, Scope::Write, Scope::Admin] {
        tokens.push((scope, make_token_for(&server, scope.as_str(), scope).await));
    }
    let read = [
        "/api/v1/plugins",
        "/api/v1/previews",
        "/api/v1/previews/1",
        "/api/v1/previews/1/events",
        "/api/v1/previews/1/reports",
        "/api/v1/previews/1/reports/x",
    ];
    let changed = [
        "/api/v1/plugins",
        "/api/v1/plugins/team/disable",
        "/api/v1/plugins/team/enable",
        "/api/v1/plugins/team/rollback",
        "/api/v1/previews",
        "/api/v1/previews/1/apply",
        "/api/v1/previews/1/undo",
        "/api/v1/previews/1/cancel",
    ];
    let routes = read.map(|path| (Method::GET, path)).into_iter();
    let routes = routes.chain(changed.map(|path| (Method::POST, path)));
    for (method, path) in routes.chain([(Method::DELETE, "/api/v1/plugins/team")]) {
        let send = async |token: Option<&str>| {
            let request = server.request(method.clone(), path).body("no plugin");
            let request = token.map_or(request.try_clone().unwrap(), |token| request.bearer_auth(token));
            request.send().await.unwrap().status().as_u16()
        };
        assert_eq!(
            (send(None).await, send(Some("bogus")).await),
            (401, 401),
            "{method} {path}"
        );
        for (scope, token) in &tokens {
            let may = *scope == Scope::Admin || (method == Method::GET && *scope != Scope::Ingest);
            let status = send(Some(token)).await;
            assert_ne!(status, 401, "{method} {path} {scope:?}");
            assert_eq!(status == 403, !may, "{method} {path} {scope:?}: {status}");
        }
    }
}
