//! Hostile plugins in a live server, while healthy clients use it.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;
use whycrash_attack::compiled;
use whycrash_attack::server::Server;
use whycrash_hostile_plugins::{Outcome, cases};

use crate::packages::{package, page, plugin};
use crate::support::{LOG, binary, folder};

/// Reports that are sent.
const REPORTS: usize = 16;
/// When a report is taken to hang: beside other tests, on two slow processors, what takes seconds takes minutes.
const PATIENCE: Duration = Duration::from_secs(600);
/// Memory of its own that a server may have, in KiB: some runs of a plugin that takes all it may.
const MEMORY: u64 = 1536 << 10;
/// Limits under which what does not end ends soon, and is set aside soon.
const LIMITS: &str = "[plugin_limits]\nfuel = 20_000_000\nmillis = 500\nstrikes = 2\n";

fn send(server: &Server, number: usize) -> (String, Duration) {
    let log = format!("{LOG}run {number}\n");
    let artifact = json!({"name": "train.log", "data": STANDARD.encode(log)});
    let body = json!({"metadata": {"number": number}, "artifacts": [artifact]});
    let started = Instant::now();
    let answer = server
        .client
        .post(format!("http://{}/api/v1/reports", server.address()))
        .json(&body)
        .send()
        .expect("an answer");
    assert!(answer.status().is_success(), "{}", answer.status());
    let answered = started.elapsed();
    let answer: Value = answer.json().expect("JSON");
    (answer["id"].as_str().expect("an id").to_owned(), answered)
}

/// What the built-in plugins made of each report: their rows, but for the time they took, and their findings.
fn built_in(server: &Server, ids: &[String], names: &[&str]) -> Vec<Value> {
    let of_built_in = |id: &String| {
        let document = server.done(id, PATIENCE).expect("it is done");
        let is_built_in = |name: &Value| names.iter().any(|built_in| name == built_in);
        let rows = document["plugins"].as_array().expect("rows").iter();
        let rows = rows.filter(|row| is_built_in(&row["name"]));
        let rows: Vec<Value> = rows
            .map(|row| json!([row["name"], row["outcome"], row["reason"], row["fuel"]]))
            .collect();
        let findings = document["findings"].as_array().expect("findings").iter();
        let findings: Vec<&Value> = findings
            .filter(|finding| is_built_in(&finding["plugin"]["name"]))
            .collect();
        json!([rows, findings])
    };
    ids.iter().map(of_built_in).collect()
}

fn names(server: &Server) -> Vec<String> {
    let plugins = server.json("/api/v1/plugins").expect("it lists its plugins");
    let plugins = plugins["plugins"].as_array().expect("a list").iter();
    let built_in = plugins.filter(|plugin| plugin["source"] == "built-in");
    built_in
        .map(|plugin| plugin["name"].as_str().expect("a name").to_owned())
        .collect()
}

#[test]
fn healthy_reports_get_what_they_get_on_a_quiet_day() {
    let home = TempDir::new().expect("a folder");
    let start = |name: &str, settings: &str| {
        Server::start(&binary("whycrash-server"), &home.path().join(name), settings).expect("it starts")
    };
    let quiet = start("quiet", "");
    let names = names(&quiet);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let sent: Vec<_> = (0..REPORTS).map(|number| send(&quiet, number)).collect();
    let ids: Vec<String> = sent.iter().map(|(id, _)| id.clone()).collect();
    let reference = built_in(&quiet, &ids, &names);
    drop(quiet);

    // All of them, the bombs too.
    let cases = cases().expect("the cases can be read");
    let crowd = folder(
        cases
            .iter()
            .filter(|case| case.outcome != Outcome::Any || case.name == "have-many-functions"),
    );
    never_seen(&crowd.path().join("have-many-functions.wasm"));
    compiled::share(&home.path().join("crowded")).expect("a cache");
    let server = start("crowded", &format!("plugins = [{:?}]\n{LIMITS}", crowd.path()));
    let crowded: Vec<_> = (0..REPORTS).map(|number| send(&server, number)).collect();
    assert_eq!(
        crowded.iter().map(|(id, _)| id.clone()).collect::<Vec<_>>(),
        ids,
        "the same reports"
    );
    let found = built_in(&server, &ids, &names);
    assert_eq!(found, reference);
    assert!(server.peak() < MEMORY, "{} KiB", server.peak());

    let (calm, busy) = (median(&sent), median(&crowded));
    // Sixty plugins that each take half a second would make half a minute.
    assert!(
        busy < calm * 4 + Duration::from_secs(1),
        "answers do not wait for plugins: {busy:?} instead of {calm:?}"
    );
}

/// Makes a component another one that does the same, by a section that means nothing: it is compiled while the server
/// serves, whatever other tests have compiled.
fn never_seen(component: &Path) {
    let mut bytes = fs::read(component).expect("it is there");
    bytes.extend([0, 5, 0]);
    bytes.extend(std::process::id().to_le_bytes());
    fs::write(component, bytes).expect("it is written");
}

fn median(sent: &[(String, Duration)]) -> Duration {
    let mut answered: Vec<Duration> = sent.iter().map(|(_, answered)| *answered).collect();
    answered.sort();
    answered[answered.len() / 2]
}

#[test]
fn a_plugin_is_published_heard_and_removed_while_the_server_runs() {
    let home = TempDir::new().expect("a folder");
    let server = Server::start(&binary("whycrash-server"), &home.path().join("data"), "").expect("it starts");
    let address = format!("http://{}/api/v1/plugins", server.address());
    let publish = |bytes: Vec<u8>| server.client.post(&address).body(bytes).send().expect("an answer");
    let (wasm, page) = (plugin(), page("team-loss", ""));
    let good = package(&[
        ("plugin.toml", b"name = \"team\""),
        ("plugin.wasm", &wasm),
        ("causes/team-loss.md", page.as_bytes()),
    ]);
    let refused = publish(b"nonsense".to_vec());
    assert_eq!(refused.status(), 422);
    assert!(refused.text().expect("words").contains("no WebAssembly component"));
    let published = publish(good);
    assert!(published.status().is_success(), "{:?}", published.text());

    let (id, _) = send(&server, 1);
    let document = server.done(&id, PATIENCE).expect("it is done");
    assert_eq!(document["findings"][0]["cause"], "team-loss", "{document}");
    assert_eq!(document["findings"][0]["title"], "The team's own cause");
    let cause = server.json("/api/v1/causes/team-loss").expect("its page is shown");
    assert_eq!(cause["origin"], "plugin team");

    let gone = server
        .client
        .delete(format!("{address}/team"))
        .send()
        .expect("an answer");
    assert!(gone.status().is_success(), "{:?}", gone.text());
    assert!(server.json("/api/v1/causes/team-loss").is_err());
    let again = server
        .client
        .delete(format!("{address}/team"))
        .send()
        .expect("an answer");
    assert_eq!(again.status(), 404);
    let (id, _) = send(&server, 2);
    let document = server.done(&id, PATIENCE).expect("it is done");
    assert!(
        document["plugins"]
            .as_array()
            .expect("rows")
            .iter()
            .all(|row| row["name"] != "team")
    );
}
