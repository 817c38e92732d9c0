//! The commands that talk to a server.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

use crate::support::{Answer, Home, ID, Server, accept, errors, sh};

#[test]
fn small_artifacts_travel_with_the_report_and_large_ones_follow() {
    let home = Home::new();
    home.file("train.log", "it failed\n");
    home.file("core 1", vec![7; 300_000]);
    let server = Server::start(|request| match request.line.split(' ').next() {
        Some("HEAD") => Answer(204, "Upload-Offset: 100000\r\n", String::new()),
        Some("POST") if request.line.ends_with("/reports") => accept(request),
        _ => Answer(200, "", "{}".to_owned()),
    });
    let arguments = [
        "upload",
        "--format",
        "json",
        "--server",
        &server.address,
        "train.log",
        "core 1",
    ];
    let output = home.whycrash(&arguments).output().expect("it runs");
    let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(
        answer,
        json!({"id": ID, "url": format!("http://example.org/reports/{ID}")}),
        "{}",
        errors(&output)
    );
    let artifact = format!("/api/v1/reports/{ID}/artifacts/core%201");
    let expected = [
        "POST /api/v1/reports".to_owned(),
        format!("HEAD {artifact}"),
        format!("PUT {artifact}"),
        format!("POST /api/v1/reports/{ID}/complete"),
    ];
    assert_eq!(server.lines(), expected);
    let put = &server.requests()[2];
    assert_eq!(put.headers["upload-offset"], "100000");
    assert_eq!(put.body.len(), 200_000, "what the server has is not sent again");
}

#[test]
fn a_busy_server_is_asked_again() {
    let home = Home::new();
    home.file("train.log", "it failed\n");
    let asked = AtomicU32::new(0);
    let server = Server::start(move |request| match asked.fetch_add(1, Ordering::Relaxed) {
        0 => Answer(503, "Retry-After: 0\r\n", "{}".to_owned()),
        1 => Answer(429, "Retry-After: 0\r\n", "{}".to_owned()),
        _ => accept(request),
    });
    let output = home
        .whycrash(&["upload", "--server", &server.address, "train.log"])
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    assert_eq!(server.lines(), ["POST /api/v1/reports"; 3]);
}

#[test]
fn the_token_is_sent() {
    let home = Home::new();
    home.file("../.config/whycrash/config.toml", "token = \"from-the-file\"\n");
    for (variable, expected) in [
        (None, "Bearer from-the-file"),
        (Some("from-the-environment"), "Bearer from-the-environment"),
    ] {
        let server = Server::start(|_| Answer(200, "", r#"{"total": 0, "hits": [], "facets": {}}"#.to_owned()));
        let mut command = home.whycrash(&["search", "oom"]);
        command.env("WHYCRASH_SERVER", &server.address);
        variable.map(|token| command.env("WHYCRASH_TOKEN", token));
        assert!(command.output().expect("it runs").status.success());
        assert_eq!(server.requests()[0].headers["authorization"], expected);
    }
}

#[test]
fn flags_win_over_the_environment_and_that_over_the_file() {
    let home = Home::new();
    let servers =
        ["file", "environment", "flag"].map(|_| Server::start(|_| Answer(200, "", r#"{"total": 0}"#.to_owned())));
    let [file, environment, flag] = &servers;
    home.file(
        "../.config/whycrash/config.toml",
        format!("server = \"{}/\"\n", file.address),
    );
    home.whycrash(&["search", "x"]).output().expect("it runs");
    home.whycrash(&["search", "x"])
        .env("WHYCRASH_SERVER", &environment.address)
        .output()
        .expect("it runs");
    let mut command = home.whycrash(&["search", "x", "--server", &flag.address]);
    command
        .env("WHYCRASH_SERVER", &environment.address)
        .output()
        .expect("it runs");
    for server in servers {
        assert_eq!(server.lines(), ["GET /api/v1/search?q=x&limit=20"]);
    }
}

#[test]
fn a_refusal_says_why_and_what_to_do() {
    let home = Home::new();
    let server = Server::start(|_| {
        let problem =
            json!({"title": "the search query can not be understood", "detail": "unclosed quote", "hint": "close it"});
        Answer(400, "", problem.to_string())
    });
    let output = home
        .whycrash(&["search", "\"oom", "--server", &server.address])
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        errors(&output).contains("unclosed quote (close it)"),
        "{}",
        errors(&output)
    );
    assert_eq!(
        server.lines(),
        ["GET /api/v1/search?q=%22oom&limit=20"],
        "it is not asked again"
    );
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let home = Home::new();
    let output = home
        .whycrash(&["show", ID, "--server", "http://127.0.0.1:1"])
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        errors(&output).contains("can not reach http://127.0.0.1:1"),
        "{}",
        errors(&output)
    );
}

#[test]
fn a_crash_is_uploaded_and_its_address_told() {
    let home = Home::new();
    let server = Server::start(accept);
    let mut command = home.whycrash(&["run", "--server", &server.address, "--report-to", "address.json", "--"]);
    let output = command.args(sh("echo mine; exit 4")).output().expect("it runs");
    assert_eq!(
        (output.status.code(), output.stdout.as_slice()),
        (Some(4), &b"mine\n"[..])
    );
    let address = std::fs::read_to_string(home.work().join("address.json")).expect("it was written");
    assert_eq!(
        address.trim(),
        json!({"id": ID, "url": format!("http://example.org/reports/{ID}")}).to_string()
    );
    assert!(errors(&output).contains(address.trim()), "{}", errors(&output));
}

#[test]
fn a_server_that_fails_does_not_change_how_the_job_ends() {
    let home = Home::new();
    let mut command = home.whycrash(&["run", "--server", "http://127.0.0.1:1", "--"]);
    let output = command.args(sh("exit 4")).output().expect("it runs");
    assert_eq!(output.status.code(), Some(4));
    assert!(errors(&output).contains("can not reach"), "{}", errors(&output));
}

#[test]
fn reports_are_deleted_when_somebody_says_so() {
    let home = Home::new();
    let server = Server::start(|request| {
        let known = request.line.ends_with(ID);
        Answer(200, "", json!({"id": ID, "deleted": known}).to_string())
    });
    let other = "f".repeat(32);
    let delete = |more: &[&str]| {
        let arguments = ["delete", "--server", &server.address, ID, &other];
        let arguments: Vec<&str> = arguments.iter().chain(more).copied().collect();
        home.whycrash(&arguments)
            .stdin(std::process::Stdio::null())
            .output()
            .expect("it runs")
    };
    let refused = delete(&[]);
    assert_eq!(refused.status.code(), Some(1), "{}", errors(&refused));
    assert!(errors(&refused).contains("--yes"), "{}", errors(&refused));
    assert!(server.lines().is_empty(), "nothing is deleted without a yes");
    let deleted = delete(&["--yes", "--format", "json"]);
    let answer: Value = serde_json::from_slice(&deleted.stdout).expect("JSON");
    assert_eq!(
        answer,
        json!({"deleted": [ID], "unknown": [other]}),
        "{}",
        errors(&deleted)
    );
    let expected = [ID, &other].map(|id| format!("DELETE /api/v1/reports/{id}"));
    assert_eq!(server.lines(), expected);
}

#[test]
fn what_changed_between_two_diagnoses_is_told() {
    let home = Home::new();
    let server = Server::start(|request| {
        assert_eq!(request.line, format!("GET /api/v1/reports/{ID}/diff?from=1"));
        let changes = json!({
            "from": 1, "to": 2,
            "gained": [{"cause": "oom-fragmentation", "rank": 0, "confidence": 0.93}],
            "lost": [{"cause": "oom-exhaustion", "rank": 0, "confidence": 0.6}],
            "changed": [{"cause": "oom-other-process", "rank": [1, 2], "confidence": [0.4, 0.3], "reasons": true}],
            "plugins": [{"name": "cuda-oom", "version": ["1.0.0", "1.1.0"], "outcome": ["failed", "ok"]},
                {"name": "new", "version": [null, "0.1.0"], "outcome": [null, "ok"]}],
        });
        Answer(200, "", changes.to_string())
    });
    let output = home
        .whycrash(&["diff", "--server", &server.address, ID, "--from", "1"])
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{}", errors(&output));
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stdout));
}

/// An upload that came to nothing.
#[derive(Debug)]
struct Refused {
    /// How often the server was asked.
    times: usize,
    why: String,
}

/// Uploads to a server whose certificate has a key of this kind, and which ends every connection.
fn uploaded_over_tls(home: &Home, key: &str, trusted: bool) -> Refused {
    const SERVE: &str = "import ssl, socket, sys
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain('cert.pem', 'key.pem')
listener = socket.create_server(('127.0.0.1', 0))
print(listener.getsockname()[1], flush=True)
while True:
    client = listener.accept()[0]
    print('asked', flush=True)
    try:
        context.wrap_socket(client, server_side=True).close()
    except OSError:
        pass";
    let mut make = home.isolated("openssl");
    make.args([
        "req", "-x509", "-nodes", "-days", "2", "-keyout", "key.pem", "-out", "cert.pem", "-newkey",
    ]);
    make.args(key.split(' '))
        .args(["-subj", "/CN=somebody", "-addext", "subjectAltName=IP:127.0.0.1"]);
    make.args(["-addext", "basicConstraints=critical,CA:FALSE"]);
    assert!(
        make.output()
            .expect("can not run openssl: apt-get install openssl")
            .status
            .success()
    );
    let mut serve = home.isolated("python3");
    let mut server = serve
        .args(["-c", SERVE])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut port = String::new();
    let mut said = BufReader::new(server.stdout.take().expect("a pipe"));
    said.read_line(&mut port).expect("a port");
    let address = format!("https://127.0.0.1:{}", port.trim());
    home.file("train.log", "it failed\n");
    let mut upload = home.whycrash(&["upload", "--server", &address, "train.log"]);
    if trusted {
        upload.env("SSL_CERT_FILE", home.work().join("cert.pem"));
    }
    let output = upload.output().expect("it runs");
    server.kill().and_then(|()| server.wait()).expect("it ends");
    assert_eq!(output.status.code(), Some(1));
    Refused {
        times: said.lines().count(),
        why: errors(&output),
    }
}

#[test]
fn a_certificate_that_can_not_be_used_is_told_with_what_helps() {
    let home = Home::new();
    let unknown_kind = uploaded_over_tls(&home, "ec -pkeyopt ec_paramgen_curve:secp521r1", true);
    assert!(unknown_kind.why.contains("P-521"), "{unknown_kind:?}");
    assert!(unknown_kind.why.contains("P-384"), "{unknown_kind:?}");
    let not_trusted = uploaded_over_tls(&home, "ec -pkeyopt ec_paramgen_curve:prime256v1", false);
    assert!(not_trusted.why.contains("SSL_CERT_FILE"), "{not_trusted:?}");
    assert!(!not_trusted.why.contains("start whycrash-server"), "{not_trusted:?}");
    assert_eq!(
        (unknown_kind.times, not_trusted.times),
        (1, 1),
        "nothing changes within seconds"
    );
    // The connection comes about, and then there is no answer.
    let trusted = uploaded_over_tls(&home, "ec -pkeyopt ec_paramgen_curve:secp384r1", true);
    assert!(!trusted.why.contains("certificate"), "{trusted:?}");
    assert!(trusted.times > 1, "a server that vanishes may come back");
}
