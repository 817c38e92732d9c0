//! Reports wait for servers, and jobs do not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Answer, Home, ID, Server, accept, errors, sh};

fn waiting(home: &Home) -> Vec<Value> {
    let output = home
        .whycrash(&["spool", "list", "--format", "json"])
        .output()
        .expect("it runs");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn a_report_waits_until_its_server_is_there() {
    let home = Home::new();
    let up = Arc::new(AtomicBool::new(false));
    let is_up = Arc::clone(&up);
    let server = Server::start(move |request| match is_up.load(Ordering::Relaxed) {
        true => accept(request),
        false => Answer(503, "Retry-After: 1\r\n", "{}".to_owned()),
    });
    let mut command = home.whycrash(&["run", "--quiet", "--no-diagnosis", "--server", &server.address, "--"]);
    assert_eq!(
        command.args(sh("echo words; exit 4")).status().expect("it runs").code(),
        Some(4)
    );
    let deadline = Instant::now() + Duration::from_secs(60);
    while waiting(&home).is_empty() {
        assert!(Instant::now() < deadline, "nothing waits");
        std::thread::sleep(Duration::from_millis(20));
    }
    let entries = waiting(&home);
    assert_eq!(entries[0]["server"], server.address, "{entries:?}");
    up.store(true, Ordering::Relaxed);
    while !waiting(&home).is_empty() {
        assert!(Instant::now() < deadline, "it still waits");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(server.lines().iter().any(|line| line == "POST /api/v1/reports"));
}

#[test]
fn what_a_killed_upload_left_is_sent_by_a_flush() {
    let home = Home::new();
    let folder = home.file("report/train.log", "it failed\n");
    let server = Server::start(accept);
    let entry = json!({"folder": folder.parent(), "server": server.address, "since": "2026-01-01T00:00:00Z",
        "attempts": 3, "error": "gone"});
    home.file("../.local/state/whycrash/spool/one.json", entry.to_string());
    home.file("../.local/state/whycrash/spool/two.partial", "half of an ent");
    let output = home
        .whycrash(&["spool", "flush", "--format", "json"])
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{}", errors(&output));
    let flushed: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(
        flushed,
        json!({"sent": [{"id": ID, "url": format!("http://example.org/reports/{ID}")}], "waiting": []})
    );
    assert_eq!(waiting(&home), Vec::<Value>::new());
}

#[test]
fn the_oldest_reports_that_wait_give_up_what_is_large_and_never_what_they_are_about() {
    let home = Home::new();
    let state = "../.local/state/whycrash";
    let own = home.file("own/core", vec![7; 20_000_000]);
    let folders = ["first", "second"].map(|name| {
        home.file(&format!("{state}/{name}/core"), vec![7; 20_000_000]);
        home.file(&format!("{state}/{name}/train.log"), "it failed\n");
        let context = home.file(
            &format!("{state}/{name}/context.json"),
            "{\"pid\": 7, \"unavailable\": []}",
        );
        // As `run` writes it down.
        context
            .canonicalize()
            .expect("it is there")
            .parent()
            .expect("a folder")
            .to_owned()
    });
    let [first, second] = &folders;
    for (day, folder) in [own.parent().expect("a folder"), first, second].into_iter().enumerate() {
        let entry = json!({"folder": folder, "server": "http://127.0.0.1:1", "since": format!("2026-01-0{}T00:00:00Z", day + 1),
            "attempts": 3, "error": "gone"});
        home.file(&format!("{state}/spool/{day}.json"), entry.to_string());
    }
    let settings = home.file("config.toml", "spool_megabytes = 30\n");
    let mut run = home.whycrash(&[
        "run",
        "--quiet",
        "--no-diagnosis",
        "--server",
        "http://127.0.0.1:1",
        "--",
    ]);
    run.env("WHYCRASH_CONFIG", settings).args(sh("exit 4"));
    assert_eq!(run.status().expect("it runs").code(), Some(4));
    let deadline = Instant::now() + Duration::from_secs(60);
    while first.join("core").exists() {
        assert!(Instant::now() < deadline, "it takes its room still");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(second.join("core").exists() && own.exists());
    assert!(first.join("train.log").exists());
    let context: Value =
        serde_json::from_slice(&std::fs::read(first.join("context.json")).expect("it is there")).expect("JSON");
    assert_eq!(
        (&context["pid"], &context["unavailable"][0]["what"]),
        (&json!(7), &json!("core"))
    );
}

#[test]
fn a_server_at_odds_about_an_artifact_is_asked_where_it_stands() {
    let home = Home::new();
    home.file("core", vec![7; 300_000]);
    let refused = AtomicU32::new(0);
    let server = Server::start(move |request| match request.line.split(' ').next() {
        Some("HEAD") if refused.load(Ordering::Relaxed) == 0 => Answer(204, "Upload-Offset: 0\r\n", String::new()),
        Some("HEAD") => Answer(204, "Upload-Offset: 200000\r\n", String::new()),
        Some("PUT") if refused.fetch_add(1, Ordering::Relaxed) == 0 => {
            Answer(409, "", json!({"code": "wrong-offset"}).to_string())
        }
        Some("POST") if request.line.ends_with("/reports") => accept(request),
        _ => Answer(200, "", "{}".to_owned()),
    });
    let output = home
        .whycrash(&["upload", "--server", &server.address, "core"])
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{}", errors(&output));
    let requests = server.requests();
    let parts: Vec<usize> = requests
        .iter()
        .filter(|request| request.line.starts_with("PUT"))
        .map(|request| request.body.len())
        .collect();
    assert_eq!(parts, [300_000, 100_000]);
}

#[test]
fn a_server_that_says_nothing_holds_the_job_up_for_no_longer_than_was_said() {
    let home = Home::new();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", silent.local_addr().expect("an address"));
    let time = |arguments: &[&str]| {
        let start = Instant::now();
        let mut command = home.whycrash(&["run", "--no-diagnosis"]);
        let status = command.args(arguments).args(["--", "false"]).status().expect("it runs");
        assert_eq!(status.code(), Some(1));
        start.elapsed()
    };
    let without = time(&[]);
    let with = time(&["--server", &address, "--server-wait", "500ms"]);
    assert!(
        with < without * 20 + Duration::from_secs(10),
        "{with:?} and without a server {without:?}"
    );
}

#[test]
fn two_containers_with_one_home_both_keep_their_reports() {
    let home = Home::new();
    let jobs: Vec<_> = (0..6)
        .map(|number| {
            let script = format!("echo words of {number}; exit 3");
            let mut command = home.whycrash(&["run", "--quiet", "--no-diagnosis", "--output", "shared", "--"]);
            command.args(sh(&script)).spawn().expect("it runs")
        })
        .collect();
    for mut job in jobs {
        assert_eq!(job.wait().expect("it ends").code(), Some(3));
    }
    let deadline = Instant::now() + Duration::from_secs(60);
    let kept = || {
        walk(&home.work().join("shared"))
            .iter()
            .filter(|path| path.ends_with("context.json") && !path.contains(".partial-"))
            .count()
    };
    while kept() < 6 {
        assert!(Instant::now() < deadline, "{:?}", walk(&home.work().join("shared")));
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// All files below a folder.
fn walk(folder: &std::path::Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => found.extend(walk(&path)),
            path => found.push(path.display().to_string()),
        }
    }
    found
}
