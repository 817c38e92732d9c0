//! Small things that many people do many times a day.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

use crate::support::{Answer, Home, ID, Server, accept, errors, names, sh};

/// Another report, of which the first digits are not those of [`ID`].
const OTHER: &str = "0123ffffffffffffffffffffffffffff";

fn said(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What a server says of a report that was read.
fn document() -> Value {
    json!({"schema": 1, "state": "done", "received": "2026-11-29T12:00:00Z", "time": "2026-11-29T12:00:00Z",
        "report": {"id": ID}, "evidence": {},
        "findings": [{"cause": "oom-fragmentation", "title": "The GPU's memory is in pieces", "confidence": 0.9,
            "plugin": {"name": "cuda-oom", "version": "1.0.0"}}],
        "plugins": [{"name": "cuda-oom", "version": "1.0.0", "outcome": "ok", "fuel": 1}]})
}

/// A server with two reports.
fn with_reports() -> Server {
    Server::start(|request| {
        let (path, query) = request.line.split_once('?').unwrap_or((&request.line, ""));
        let row = |id: &str| json!({"id": id, "title": format!("the crash of {}", &id[..6]), "state": "done"});
        let body = match path {
            "GET /api/v1/reports" => {
                let prefix = query.strip_prefix("prefix=").and_then(|rest| rest.split('&').next());
                let rows = [ID, OTHER]
                    .iter()
                    .filter(|id| id.starts_with(prefix.unwrap_or_default()));
                json!({"total": 2, "reports": rows.map(|id| row(id)).collect::<Vec<_>>()})
            }
            "GET /api/v1/search" => json!({"total": 0, "hits": [], "facets": {}}),
            "POST /api/v1/reports" => return accept(request),
            path if path.contains("/state") => json!({"state": "done"}),
            path if path.ends_with("/diff") => json!({"from": 1, "to": 2}),
            _ => document(),
        };
        Answer(200, "", body.to_string())
    })
}

#[test]
fn a_report_is_called_by_the_first_digits_of_its_id() {
    let home = Home::new();
    let server = with_reports();
    let ask = |arguments: &[&str]| {
        let mut command = home.whycrash(arguments);
        command.env("WHYCRASH_SERVER", &server.address);
        command.output().expect("it runs")
    };
    for word in [
        "01234567",
        "0123456",
        &ID[..31],
        &format!("http://example.org/reports/{ID}"),
    ] {
        for command in ["show", "diff"] {
            let output = ask(&[command, word]);
            assert_eq!(output.status.code(), Some(0), "{command} {word}: {}", errors(&output));
        }
        let asked = server.lines().into_iter().rev();
        assert!(
            asked.take(4).any(|line| line.contains(&format!("/reports/{ID}/diff"))),
            "{word}"
        );
    }
    for (word, expected) in [
        (
            "0123",
            format!("0123 may mean several reports: give more digits\n  {ID}  the crash of 012345\n  {OTHER}"),
        ),
        ("fffff", "no report on http".to_owned()),
        ("abc", "\"abc\" is no report".to_owned()),
        ("train.log", "\"train.log\" is no report".to_owned()),
    ] {
        let output = ask(&["show", word]);
        assert_eq!(output.status.code(), Some(1), "{word}");
        assert!(errors(&output).contains(&expected), "{word}: {}", errors(&output));
    }
    let ambiguous = ask(&["delete", "--yes", "0123"]);
    assert_eq!(ambiguous.status.code(), Some(1));
    assert!(
        !server.lines().iter().any(|line| line.starts_with("DELETE")),
        "nothing is deleted by chance"
    );
}

#[test]
fn the_last_report_is_the_one_that_was_uploaded_from_here() {
    let home = Home::new();
    let server = with_reports();
    let ask = |arguments: &[&str]| {
        let mut command = home.whycrash(arguments);
        command.env("WHYCRASH_SERVER", &server.address);
        let output = command.output().expect("it runs");
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", errors(&output));
    };
    let asked_for = |id: &str| {
        server
            .lines()
            .iter()
            .any(|line| line.contains(&format!("/reports/{id}?")))
    };
    ask(&["show", "-2"]);
    assert!(
        asked_for(OTHER),
        "nothing was uploaded from here: it is the server's list that counts"
    );
    home.file("train.log", "it failed\n");
    ask(&["upload", "train.log"]);
    ask(&["show", "-1"]);
    assert!(asked_for(ID));
    let mut command = home.whycrash(&["show", "-2"]);
    command.env("WHYCRASH_SERVER", &server.address);
    let output = command.output().expect("it runs");
    assert!(
        errors(&output).contains("1 reports are remembered"),
        "{}",
        errors(&output)
    );
}

#[test]
fn a_report_that_was_just_sent_is_being_read() {
    let home = Home::new();
    let asked = Arc::new(AtomicU32::new(0));
    let times = Arc::clone(&asked);
    let server = Server::start(move |request| {
        let unread = json!({"schema": 1, "state": "processing", "received": "2026-11-29T12:00:00Z", "report": {"id": ID},
            "evidence": {}, "findings": [], "plugins": []});
        let body = match request.line.split('?').next().unwrap_or_default() {
            "POST /api/v1/reports" => return accept(request),
            path if path.contains("/state") => match times.fetch_add(1, Ordering::Relaxed) {
                0..2 => json!({"state": "processing"}),
                _ => json!({"state": "done"}),
            },
            "GET /api/v1/search" => json!({"total": 0, "hits": [], "facets": {}}),
            _ if times.load(Ordering::Relaxed) < 3 => unread,
            _ => document(),
        };
        Answer(200, "", body.to_string())
    });
    let show = |more: &[&str]| {
        let arguments: Vec<&str> = ["show", ID].iter().chain(more).copied().collect();
        let mut command = home.whycrash(&arguments);
        command.env("WHYCRASH_SERVER", &server.address);
        command.output().expect("it runs")
    };
    let early = show(&[]);
    assert_eq!(early.status.code(), Some(0), "{}", errors(&early));
    assert_eq!(
        said(&early),
        format!(
            "{ID} came at 2026-11-29T12:00:00Z and is being read: `whycrash show --wait 01234567` shows it as soon as it was\n"
        )
    );
    let waited = show(&["--wait"]);
    assert!(
        said(&waited).contains("The GPU's memory is in pieces"),
        "{}{}",
        said(&waited),
        errors(&waited)
    );
    assert_eq!(asked.load(Ordering::Relaxed), 3, "it asks until it is read");
    home.file("train.log", "it failed\n");
    asked.store(0, Ordering::Relaxed);
    let upload = |more: &[&str]| {
        let arguments: Vec<&str> = ["upload", "--wait", "train.log"].iter().chain(more).copied().collect();
        let mut command = home.whycrash(&arguments);
        command.env("WHYCRASH_SERVER", &server.address);
        command.output().expect("it runs")
    };
    let output = upload(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    assert!(
        said(&output).contains(&format!(
            "{ID}\nhttp://example.org/reports/{ID}\nThe GPU's memory is in pieces (oom-fragmentation)"
        )),
        "{}",
        said(&output)
    );
    let json: Value = serde_json::from_str(&said(&upload(&["--format", "json"]))).expect("JSON");
    assert_eq!(
        (&json["id"], &json["cause"], &json["state"], &json["findings"]),
        (
            &json!(ID),
            &json!("oom-fragmentation"),
            &json!("done"),
            &document()["findings"]
        )
    );
}

#[test]
fn what_the_server_could_not_read_fails_who_waited_for_it() {
    let home = Home::new();
    home.file("train.log", "it failed\n");
    let server = Server::start(|request| match request.line.contains("/state") {
        true => Answer(
            200,
            "",
            json!({"state": "quarantined", "failure": "it died twice"}).to_string(),
        ),
        false if request.line.starts_with("POST") => accept(request),
        false => Answer(200, "", json!({"state": "quarantined", "findings": []}).to_string()),
    });
    let output = home
        .whycrash(&["upload", "--wait", "train.log", "--server", &server.address])
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("it died twice"), "{}", said(&output));
}

#[test]
fn a_search_is_narrowed_by_time_and_told_in_lines() {
    let home = Home::new();
    let server = Server::start(|_| {
        let hit = json!({"id": ID, "title": "SIGSEGV in sum_values", "cause": "seg-null-deref", "time": "2026-11-29T12:34:56Z"});
        let other = json!({"id": OTHER, "title": "a crash", "cause": null, "time": ""});
        Answer(
            200,
            "",
            json!({"total": 2, "hits": [hit, other], "facets": {}}).to_string(),
        )
    });
    let search = |arguments: &[&str]| {
        let mut command = home.whycrash(&["search", "--short", "--server", &server.address]);
        command.args(arguments).output().expect("it runs")
    };
    let output = search(&["--since", "2026-11-28", "--until", "2026-11-29T13:00:00Z", "dataloader"]);
    assert_eq!(
        said(&output),
        "01234567  2026-11-29 12:34  SIGSEGV in sum_values  (seg-null-deref)\n0123ffff    a crash\n",
        "{}",
        errors(&output)
    );
    let asked =
        "GET /api/v1/search?q=dataloader&limit=20&since=2026-11-28T00%3A00%3A00Z&until=2026-11-29T13%3A00%3A00Z";
    assert_eq!(server.lines(), [asked]);
    assert!(search(&["--since", "2d"]).status.success());
    let wrong = search(&["--since", "yesteryear"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(errors(&wrong).contains("a span such as 2d"), "{}", errors(&wrong));
}

/// Puts reports into the spool that wait for a server that is not there; their ids.
fn spooled(home: &Home) -> [String; 3] {
    let ids = ["aaaa1111", "aaaa2222", "bbbb3333"].map(|id| id.repeat(4));
    for (day, id) in (1..).zip(&ids) {
        let log = home.file(&format!("report-{day}/train.log"), format!("it failed on day {day}\n"));
        let entry = json!({"folder": log.parent(), "server": "http://127.0.0.1:1", "since": format!("2026-01-0{day}T00:00:00Z"),
            "attempts": 1, "error": "gone"});
        home.file(&format!("../.local/state/whycrash/spool/{id}.json"), entry.to_string());
    }
    ids
}

#[test]
fn reports_are_dropped_from_the_spool_and_stay_where_they_are() {
    let home = Home::new();
    let ids = spooled(&home);
    let spool = |arguments: &[&str]| home.whycrash(&["spool"]).args(arguments).output().expect("it runs");
    let listed = said(&spool(&["list", "--since", "2026-01-02"]));
    assert_eq!(listed.lines().count(), 2, "{listed}");
    assert!(listed.starts_with("aaaa2222 "), "{listed}");
    let ambiguous = spool(&["drop", "aaaa"]);
    assert_eq!(ambiguous.status.code(), Some(1));
    assert!(
        errors(&ambiguous).contains(&format!("{}, {}", ids[0], ids[1])),
        "{}",
        errors(&ambiguous)
    );
    for (word, expected) in [
        ("zzzz", "no report that waits"),
        ("b", "too short"),
        ("-9", "fewer than 9"),
    ] {
        let output = spool(&["drop", word]);
        assert!(errors(&output).contains(expected), "{word}: {}", errors(&output));
    }
    let dropped = spool(&["drop", "-1"]);
    assert!(
        said(&dropped).starts_with("dropped bbbb3333, kept in "),
        "{}",
        said(&dropped)
    );
    assert!(home.work().join("report-3/train.log").exists());
    assert!(spool(&["drop", "aaaa2"]).status.success());
    let left: Value = serde_json::from_str(&said(&spool(&["list", "--format", "json"]))).expect("JSON");
    assert_eq!(
        (left.as_array().map(Vec::len), &left[0]["id"]),
        (Some(1), &json!(ids[0]))
    );
    assert!(spool(&["drop"]).status.success());
    assert_eq!(said(&spool(&["list"])), "");
}

#[test]
fn what_waits_for_a_server_that_moved_is_sent_to_where_it_is() {
    let home = Home::new();
    spooled(&home);
    let server = Server::start(accept);
    let output = home
        .whycrash(&["spool", "flush", "--server", &server.address])
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    assert_eq!(server.lines(), ["POST /api/v1/reports"; 3]);
}

#[test]
fn the_configured_server_is_asked_for_a_cause() {
    let home = Home::new();
    let server = Server::start(|request| {
        let team = json!({"id": "team-licence", "title": "All seats are taken", "summary": "No seat.", "severity": "fatal",
            "domain": "environment", "tags": ["seats"], "signs": [], "reports": 12});
        match request.line.as_str() {
            "GET /api/v1/reports?limit=0" => Answer(200, "", json!({"total": 0, "reports": []}).to_string()),
            "GET /api/v1/causes" => Answer(200, "", json!({"causes": [team]}).to_string()),
            "GET /api/v1/causes/team-licence" => Answer(200, "", team.to_string()),
            _ => Answer(404, "", json!({"code": "no-such-cause"}).to_string()),
        }
    });
    let cause = |arguments: &[&str]| home.whycrash(&["cause"]).args(arguments).output().expect("it runs");
    for words in ["team-licence", "seats"] {
        let asked = cause(&["--server", &server.address, words]);
        assert!(
            said(&asked).contains("All seats are taken"),
            "{words}: {}",
            errors(&asked)
        );
        assert!(
            said(&asked).contains("Seen in 12 reports on http"),
            "{words}: {}",
            said(&asked)
        );
    }
    let own = cause(&["--server", &server.address, "oom-fragmentation"]);
    assert!(said(&own).contains("does not know this cause"), "{}", said(&own));
    let listed = cause(&["--server", &server.address, "--format", "json"]);
    let listed: Vec<Value> = serde_json::from_slice(&listed.stdout).expect("JSON");
    assert!(
        listed
            .iter()
            .any(|head| head["id"] == "team-licence" && head["reports"] == 12)
    );
    assert!(listed.len() > 50, "with all that is built in");
    let silent = cause(&["--server", "http://127.0.0.1:1", "oom-fragmentation"]);
    assert_eq!(silent.status.code(), Some(0));
    assert!(
        errors(&silent).contains("what follows is built in"),
        "{}",
        errors(&silent)
    );
    let without = cause(&["oom-fragmentation"]);
    assert!(
        said(&without).contains("This is what is built in"),
        "{}",
        said(&without)
    );
}

#[test]
fn pages_of_a_server_are_listed_and_removed() {
    let home = Home::new();
    let server = Server::start(|request| match request.line.as_str() {
        "DELETE /api/v1/pages/team-page" => Answer(
            200,
            "",
            json!({"name": "team-page", "diagnosed_anew": {"reports": 3, "of": 9}}).to_string(),
        ),
        _ => {
            let page = json!({"id": "team-page", "title": "No seats", "reports": 3, "sha256": "00", "preview": 4});
            Answer(
                200,
                "",
                json!({"pages": [page, {"id": "torn", "reports": 0, "sha256": "11"}]}).to_string(),
            )
        }
    });
    let ask = |arguments: &[&str]| {
        let mut command = home.whycrash(&["cause"]);
        command.env("WHYCRASH_SERVER", &server.address);
        said(&command.args(arguments).output().expect("it runs"))
    };
    assert_eq!(
        ask(&["pages"]),
        "team-page  No seats (found in 3 reports; `whycrash plugin undo 4` puts back what stood there before)\n\
         torn  it can not be used: `whycrash cause check` says why (found in 0 reports)\n"
    );
    let removed = ask(&["remove", "team-page"]);
    assert!(
        removed.contains("3 stored reports of 9 to be diagnosed anew"),
        "{removed}"
    );
}

#[test]
fn reports_are_diagnosed_anew_for_who_asks() {
    let home = Home::new();
    let server = Server::start(|request| {
        let body = match request.line.as_str() {
            "GET /api/v1/diagnoses" | "GET /api/v1/diagnoses?" => json!({"waiting": 2, "of": 5}),
            "POST /api/v1/diagnoses?all=true" => json!({"reports": 5, "of": 5}),
            line if line.starts_with("POST /api/v1/diagnoses?q=cause%3Aoom") => json!({"reports": 2, "of": 5}),
            line if line.starts_with("POST /api/v1/diagnoses?q=") => json!({"reports": 0, "of": 5}),
            _ => json!({}),
        };
        Answer(202, "", body.to_string())
    });
    let ask = |arguments: &[&str]| {
        let mut command = home.whycrash(&["rediagnose", "--server", &server.address]);
        command.args(arguments).output().expect("it runs")
    };
    let progress = "2 of 5 still to be diagnosed anew\n";
    assert_eq!(said(&ask(&[])), progress);
    for (arguments, reports) in [
        (&["--all"][..], "5 stored reports of 5"),
        (&["--", "cause:oom", "-host:a"], "2 stored reports of 5"),
        (&[ID], "1 stored report"),
    ] {
        let output = ask(arguments);
        let answer = said(&output);
        assert!(
            answer.starts_with(&format!("{reports} to be diagnosed anew")) && answer.ends_with(progress),
            "{arguments:?}: {answer}{}",
            errors(&output)
        );
    }
    assert!(server.lines().contains(&format!("POST /api/v1/reports/{ID}/diagnoses")));
    let nothing = ask(&["host:nowhere"]);
    assert_eq!(nothing.status.code(), Some(1));
    assert!(errors(&nothing).contains("finds no report"), "{}", errors(&nothing));
}

#[test]
fn what_nobody_knows_is_told_with_what_was_meant() {
    let home = Home::new();
    let cause = home
        .whycrash(&["cause", "oom-fragmentatoin"])
        .output()
        .expect("it runs");
    assert!(
        errors(&cause).contains("did you mean \"oom-fragmentation\"?"),
        "{}",
        errors(&cause)
    );
    let doctor = home
        .whycrash(&["doctor", "--format", "json", "--server", "http://127.0.0.1:1"])
        .env("WHYCRASH_SERVR", "http://crashes")
        .env("WHYCRASH_TOKEN", "known")
        .output()
        .expect("it runs");
    let checks: Vec<Value> = serde_json::from_slice(&doctor.stdout).expect("JSON");
    let variables: Vec<&Value> = checks.iter().filter(|check| check["name"] == "variables").collect();
    assert_eq!(variables.len(), 1);
    assert_eq!(
        variables[0]["found"],
        "WHYCRASH_SERVR is set, and nobody reads it; did you mean \"WHYCRASH_SERVER\"?"
    );
    let settings = home.file("config.toml", "servr = \"http://crashes\"\n");
    let output = home
        .whycrash(&["spool", "list"])
        .env("WHYCRASH_CONFIG", settings)
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        errors(&output).contains("did you mean \"server\"?"),
        "{}",
        errors(&output)
    );
}

#[test]
fn the_evidence_of_a_report_is_at_one_place_in_json() {
    let home = Home::new();
    home.file(
        "train.log",
        "step 1\nTraceback (most recent call last):\n  File \"a.py\", line 1, in f\nValueError: x\n",
    );
    let json = |command: &str| -> Value {
        let output = home
            .whycrash(&[command, "--format", "json", "train.log"])
            .output()
            .expect("it runs");
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    let (inspected, diagnosed) = (json("inspect"), json("diagnose"));
    assert_eq!(inspected["evidence"], diagnosed["evidence"]);
    assert_eq!(
        inspected["timeline"], inspected["evidence"]["timeline"],
        "as it was before"
    );
    assert_eq!(inspected["report"], diagnosed["report"]);
}

#[test]
fn a_minicore_beside_its_core_makes_no_other_report() {
    let home = Home::new();
    home.file("report/core", "not much of a core");
    home.file("report/train.log", "it failed\n");
    let id = || -> Value {
        let output = home
            .whycrash(&["inspect", "--format", "json", "report"])
            .output()
            .expect("it runs");
        let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        document["report"]["id"].clone()
    };
    let before = id();
    home.file("report/core.minicore", "less of it");
    assert_eq!(id(), before);
    std::fs::remove_file(home.work().join("report/core")).expect("it is there");
    assert_ne!(id(), before, "alone it is what there is");
}

#[test]
fn the_last_report_that_was_kept_here_is_diagnosed() {
    let home = Home::new();
    let none = home.whycrash(&["diagnose", "-1"]).output().expect("it runs");
    assert_eq!(none.status.code(), Some(1));
    assert!(
        errors(&none).contains("fewer than 1 reports were kept here"),
        "{}",
        errors(&none)
    );
    for word in ["first", "second"] {
        let script = format!("echo 'RuntimeError: the {word} time' >&2; exit 3");
        let mut run = home.whycrash(&["run", "--quiet", "--no-diagnosis", "--"]);
        assert_eq!(run.args(sh(&script)).status().expect("it runs").code(), Some(3));
    }
    let inspect = |word: &str| -> Value {
        let output = home
            .whycrash(&["inspect", "--format", "json", word])
            .output()
            .expect("it runs");
        assert_eq!(output.status.code(), Some(0), "{word}: {}", errors(&output));
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    let (last, before) = (inspect("-1"), inspect("-2"));
    assert!(last.to_string().contains("the second time") && before.to_string().contains("the first time"));
    for name in names(&home.work().join("../.local/state/whycrash"))
        .iter()
        .filter(|name| name.len() == 32)
    {
        let document = inspect(&name[..8]).to_string();
        assert!(
            document.contains("the first time") || document.contains("the second time"),
            "{name}"
        );
    }
}
