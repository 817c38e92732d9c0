//! Who may do what.

use jiff::Timestamp;
use reqwest::Method;
use reqwest::header::{HOST, ORIGIN};
use serde_json::{Value, json};
use tempfile::TempDir;
use whycrash_server::serve;
use whycrash_server::services::Services;
use whycrash_server::store::{Scope, Token, TokenRecord};

use crate::support::{Server, config, inline, problem};

/// A server with a token for each scope; the secrets in the order of the scopes.
pub async fn with_tokens() -> (Server, [String; 4]) {
    let folder = TempDir::new().unwrap();
    let services = Services::open(config(folder.path())).unwrap();
    let mut secrets = Vec::new();
    for scope in [Scope::Ingest, Scope::Read, Scope::Write, Scope::Admin] {
        let token = Token::generate().unwrap();
        let record = TokenRecord {
            name: scope.as_str().to_owned(),
            scopes: vec![scope],
            created: Timestamp::UNIX_EPOCH,
        };
        assert!(
            services
                .tokens
                .add_token(&Token::hash(token.secret()), &record)
                .await
                .unwrap()
        );
        assert!(
            !services.tokens.add_token(&Token::hash("other"), &record).await.unwrap(),
            "names are unique"
        );
        secrets.push(token.secret().to_owned());
    }
    (Server::over(folder, services).await, secrets.try_into().unwrap())
}

#[tokio::test]
async fn tokens_allow_what_their_scope_says() {
    let (server, [ingest, read, write, admin]) = with_tokens().await;
    let body = json!({"artifacts": [inline("core", b"1")]});
    let status = async |method: Method, path: &str, secret: Option<&str>| {
        let request = server.request(method.clone(), path);
        let request = if method == Method::POST {
            request.json(&body)
        } else {
            request
        };
        let request = match secret {
            Some(secret) => request.bearer_auth(secret),
            None => request,
        };
        request.send().await.unwrap().status().as_u16()
    };
    let cases = [
        (Method::POST, "/api/v1/reports", [401, 201, 403, 403, 200]),
        (Method::GET, "/api/v1/reports", [401, 403, 200, 200, 200]),
        (Method::GET, "/api/v1/search", [401, 403, 200, 200, 200]),
        (Method::GET, "/healthz", [200; 5]),
        (Method::GET, "/", [200; 5]),
    ];
    for (method, path, expected) in cases {
        for (secret, expected) in [None, Some(&ingest), Some(&read), Some(&write), Some(&admin)]
            .iter()
            .zip(expected)
        {
            let actual = status(method.clone(), path, secret.map(String::as_str)).await;
            assert_eq!(actual, expected, "{method} {path} with {secret:?}");
        }
    }
    problem(
        server
            .get("/api/v1/reports")
            .bearer_auth("whycrash_0")
            .send()
            .await
            .unwrap(),
        401,
        "unauthorized",
    )
    .await;
    problem(
        server.get("/api/v1/reports").bearer_auth(ingest).send().await.unwrap(),
        403,
        "forbidden",
    )
    .await;
    let database = std::fs::read(server.folder.path().join("data/whycrash.sqlite")).unwrap();
    let wal = std::fs::read(server.folder.path().join("data/whycrash.sqlite-wal")).unwrap_or_default();
    let holds = |bytes: &[u8]| bytes.windows(read.len()).any(|window| window == read.as_bytes());
    assert!(!holds(&database) && !holds(&wal), "secrets are not stored");
}

/// Every address in the description, so that a new one can not be forgotten.
#[tokio::test]
async fn every_address_of_the_api_wants_a_token() {
    let (server, _) = with_tokens().await;
    let description = server.json("/api/v1/openapi.json").await;
    let mut count = 0;
    for (path, methods) in description["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            let path = path
                .replace("{id}", &"0".repeat(32))
                .replace("{name}", "core")
                .replace("{signature}", "x");
            let status = server.request(method.clone(), &path).send().await.unwrap().status();
            let expected = if path.starts_with("/api/") { 401 } else { 200 };
            assert_eq!(status.as_u16(), expected, "{method} {path}");
            count += 1;
        }
    }
    assert!(count > 12, "{count}");
}

#[tokio::test]
async fn pages_of_other_sites_are_kept_out() {
    let server = Server::start().await;
    let own = server.url("");
    let body = json!({"artifacts": [inline("core", b"1")]});
    let cases: [(&[(&str, &str)], u16, &str); 9] = [
        (&[], 201, ""),
        (&[("sec-fetch-site", "same-origin")], 200, ""),
        (&[("sec-fetch-site", "none")], 200, ""),
        (&[(ORIGIN.as_str(), &own)], 200, ""),
        (&[("sec-fetch-site", "cross-site")], 403, "cross-site"),
        (&[("sec-fetch-site", "same-site")], 403, "cross-site"),
        (&[(ORIGIN.as_str(), "https://elsewhere.example")], 403, "cross-site"),
        (&[(ORIGIN.as_str(), "null")], 403, "cross-site"),
        (&[(HOST.as_str(), "elsewhere.example")], 403, "unknown-host"),
    ];
    for (headers, status, code) in cases {
        let mut request = server.post("/api/v1/reports").json(&body);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answer = request.send().await.unwrap();
        match status {
            403 => drop(problem(answer, 403, code).await),
            _ => assert_eq!(answer.status().as_u16(), status, "{headers:?}"),
        }
    }
    let rebound = server
        .get("/api/v1/reports")
        .header(HOST, "elsewhere.example:7311")
        .send()
        .await
        .unwrap();
    problem(rebound, 403, "unknown-host").await;
    for host in [
        "localhost",
        "localhost:1",
        "127.0.0.1:9",
        "127.9.9.9",
        "[::1]:80",
        "[::1]",
    ] {
        let answer = server.get("/healthz").header(HOST, host).send().await.unwrap();
        assert_eq!(answer.status(), 200, "{host}");
    }
    let named = Server::with(|config| {
        config.hosts = vec!["crashes.internal".to_owned()];
        config.public_url = Some("https://crashes.example/why".to_owned());
    })
    .await;
    let host = "crashes.internal";
    assert_eq!(
        named.get("/healthz").header(HOST, host).send().await.unwrap().status(),
        200,
        "{host}"
    );
    let sent: Value = named
        .post("/api/v1/reports")
        .json(&body)
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert!(
        sent["url"]
            .as_str()
            .unwrap()
            .starts_with("https://crashes.example/why/reports/"),
        "{sent}"
    );
}

#[tokio::test]
async fn an_open_server_is_for_this_machine_alone() {
    let folder = TempDir::new().unwrap();
    let mut config = config(folder.path());
    config.listen = "0.0.0.0:0".parse().unwrap();
    let error = serve::start(Services::open(config).unwrap())
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("there is no token") && error.contains("token create"),
        "{error}"
    );
}

#[tokio::test]
async fn answers_tell_browsers_to_be_careful() {
    let server = Server::start().await;
    for path in ["/", "/healthz", "/api/v1/reports", "/api/v1/nothing"] {
        let answer = server.get(path).send().await.unwrap();
        let header = |name: &str| {
            answer
                .headers()
                .get(name)
                .map(|value| value.to_str().unwrap().to_owned())
        };
        assert_eq!(header("x-content-type-options").as_deref(), Some("nosniff"), "{path}");
        assert_eq!(header("x-frame-options").as_deref(), Some("DENY"), "{path}");
        let policy = header("content-security-policy").unwrap();
        assert!(
            policy.starts_with("default-src 'none'") && !policy.contains("unsafe"),
            "{path}: {policy}"
        );
    }
}
