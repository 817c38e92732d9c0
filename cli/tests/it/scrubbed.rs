//! What is sent to a server is without secrets and names of people.

use std::io::Write as _;
use std::process::{Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::support::{Answer, Home, Server};

/// What nobody else is to read.
const SECRET: &str = "s3cretS3cretS3cret99";

fn log() -> String {
    format!(
        "step 1 loss 2.1 tokens/s 12000\n\
         export WANDB_API_KEY={SECRET}; python train.py\n\
         -----BEGIN PRIVATE KEY-----\nMIIE{SECRET}\n-----END PRIVATE KEY-----\n\
         Traceback (most recent call last):\n  File \"/home/alice/job/train.py\", line 3, in step\n    fail()\n\
         ValueError: no answer from https://me:{SECRET}@host/x\n"
    )
}

/// Takes every report, and wants nothing of it: the artifacts that came with it, by name.
fn sent(command: &mut Command, address: &Server) -> Vec<(String, Vec<u8>)> {
    let output = command
        .env("WHYCRASH_SERVER", &address.address)
        .output()
        .expect("it runs");
    assert!(output.status.code().is_some(), "{output:?}");
    let requests = address.requests();
    let report = requests
        .iter()
        .find(|request| request.line.starts_with("POST /api/v1/reports"))
        .expect("a report");
    let report: Value = serde_json::from_slice(&report.body).expect("JSON");
    let artifacts = report["artifacts"].as_array().expect("artifacts").iter();
    artifacts
        .map(|artifact| {
            let name = artifact["name"].as_str().expect("a name").to_owned();
            let data = artifact["data"].as_str().expect("it is small");
            (name, STANDARD.decode(data).expect("base64"))
        })
        .collect()
}

fn server() -> Server {
    Server::start(|_| {
        Answer(
            201,
            "",
            json!({"id": "r1", "url": "http://x/r1", "wants": []}).to_string(),
        )
    })
}

fn of<'a>(sent: &'a [(String, Vec<u8>)], name: &str) -> &'a str {
    let found = sent.iter().find(|(known, _)| known == name);
    let (_, bytes) = found.unwrap_or_else(|| panic!("no {name} in {sent:?}"));
    std::str::from_utf8(bytes).expect("text")
}

#[test]
fn what_a_job_printed_leaves_without_its_secrets_and_stays_here_as_it_was() {
    let home = Home::new();
    home.file("log", log());
    let script = format!("export API_TOKEN={SECRET}; cat log; exit 3");
    let server = server();
    let mut run = home.whycrash(&["run", "--output", "report", "--", "sh", "-c", &script]);
    let sent = sent(&mut run, &server);
    for (name, bytes) in &sent {
        let text = String::from_utf8_lossy(bytes);
        assert!(!text.contains(SECRET) && !text.contains("alice"), "{name}: {text}");
    }
    let output = of(&sent, "output.log");
    assert_eq!(output.lines().count(), log().lines().count());
    assert!(
        output.contains("File \"/home/user/job/train.py\", line 3, in step"),
        "{output}"
    );
    let context: Value = serde_json::from_str(of(&sent, "context.json")).expect("JSON still");
    assert_eq!(context["command"][2], "export API_TOKEN=[removed]; cat log; exit 3");
    let kept = std::fs::read_to_string(home.work().join("report/output.log")).expect("it is kept");
    assert_eq!(kept, log());
}

#[test]
fn files_that_lie_around_are_scrubbed_too_also_when_they_are_compressed() {
    let home = Home::new();
    home.file("train.log", log());
    let mut gzip = Command::new("gzip")
        .arg("-c")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("gzip");
    gzip.stdin
        .take()
        .expect("a pipe")
        .write_all(log().as_bytes())
        .expect("it reads");
    let packed = gzip.wait_with_output().expect("it ends").stdout;
    home.file("rank1.log.gz", &packed);
    home.file("plain.log", "nothing to hide\n");
    let sent = sent(
        &mut home.whycrash(&["upload", "train.log", "rank1.log.gz", "plain.log"]),
        &server(),
    );
    assert_eq!(of(&sent, "train.log"), of(&sent, "rank1.log.gz"));
    assert!(!of(&sent, "train.log").contains(SECRET));
    assert_eq!(of(&sent, "plain.log"), "nothing to hide\n");
}

#[test]
fn a_setting_turns_it_off() {
    for settings in ["WHYCRASH_SCRUB", "config.toml"] {
        let home = Home::new();
        home.file("train.log", log());
        let mut upload = home.whycrash(&["upload", "train.log"]);
        if settings == "config.toml" {
            upload.env("WHYCRASH_CONFIG", home.file("config.toml", "scrub = false\n"));
        } else {
            upload.env(settings, "false");
        }
        assert_eq!(of(&sent(&mut upload, &server()), "train.log"), log());
    }
}

#[test]
fn what_would_be_sent_is_shown_and_says_the_same_in_the_same_lines() {
    let home = Home::new();
    home.file("train.log", log());
    let inspect = |more: &[&str]| -> Value {
        let arguments = [&["inspect", "--format", "json", "train.log"], more].concat();
        let output = home.whycrash(&arguments).output().expect("it runs");
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    let (before, after) = (inspect(&[]), inspect(&["--scrubbed"]));
    let places = |inspection: &Value| -> Vec<Value> {
        let timeline = inspection["timeline"].as_array().expect("events").iter();
        timeline
            .map(|event| json!([event["kind"], event["at"], event["artifact"]]))
            .collect()
    };
    assert!(!places(&before).is_empty());
    assert_eq!(places(&before), places(&after));
    assert!(!after.to_string().contains(SECRET));
    let changed = &after["scrubbed"][0];
    assert_eq!(
        (&changed["artifact"], &changed["lines"]),
        (&json!("train.log"), &json!(4))
    );
    assert_eq!(
        changed["shown"][0],
        json!({"line": 2, "text": "export WANDB_API_KEY=[removed]; python train.py"})
    );
    let shown = home
        .whycrash(&["inspect", "--scrubbed", "train.log"])
        .output()
        .expect("it runs");
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("train.log: 4 lines would be sent otherwise"), "{shown}");
    assert!(shown.contains("2: export WANDB_API_KEY=[removed]"), "{shown}");
}
