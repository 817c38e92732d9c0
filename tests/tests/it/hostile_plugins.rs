//! A plugin that loops, allocates or traps costs its own row and nothing else: the server stays as quick and as small.

use std::path::Path;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::house::{House, PATIENCE};

/// Reports per misdeed.
const ROUNDS: usize = 4;
/// How long compiling the plugins may take, which gives way to everything else on the machine: until it is done reports
/// wait, and their patience would be spent on that.
const COMPILED: Duration = Duration::from_secs(900);
/// Memory that the server may grow by over all of them, in KiB: far less than one instance may hold.
const GROWTH: u64 = 64 << 10;

/// A log in which a `DataLoader` worker was killed: something for an honest plugin to find.
const LOG: &str = "Traceback (most recent call last):\n  File \"train.py\", line 7, in <module>\n    for batch in loader:\nRuntimeError: DataLoader worker (pid 4711) is killed by signal: Killed. \n";

/// What becomes of a report; each round has one of its own, since the same report is diagnosed once.
fn send(house: &House, misdeed: &str, round: usize) -> Value {
    let artifact = json!({"name": "train.log", "data": STANDARD.encode(LOG)});
    let body = json!({"metadata": {"misbehave": misdeed, "round": round}, "artifacts": [artifact]});
    let sent = house.post("/api/v1/reports", &body);
    house.document(sent["id"].as_str().expect("an id"))
}

/// How long a search takes.
fn latency(house: &House) -> Duration {
    let start = Instant::now();
    house.get("/api/v1/search?q=DataLoader");
    start.elapsed()
}

/// Waits until the bad plugins can run.
fn wait_until_compiled(house: &House) {
    let start = Instant::now();
    let is_there = |plugins: &Value| {
        let mut plugins = plugins["plugins"].as_array().expect("a list").iter();
        plugins.any(|plugin| plugin["name"] == "misbehaving" && plugin["problem"].is_null())
    };
    while !is_there(&house.get("/api/v1/plugins")) {
        assert!(start.elapsed() < COMPILED, "the plugins are not compiled");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Waits until the server holds less memory than this: on a busy machine it may be at work for a while behind the last
/// report that is done.
fn assert_settles(house: &House, limit: u64) {
    let start = Instant::now();
    while house.resident() >= limit {
        let held = house.resident();
        assert!(
            start.elapsed() < PATIENCE,
            "the server holds {held} KiB, not less than {limit}"
        );
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn bad_plugins_leave_the_server_as_it_was() {
    let plugins = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins/builtin/dist/hostile");
    // Never set aside, so that each misdeed is done.
    let house = House::open(&format!("plugins = [{plugins:?}]\n[plugin_limits]\nstrikes = 0\n"));
    wait_until_compiled(&house);
    let honest = send(&house, "behave", 0);
    let found = &honest["findings"][0]["cause"];
    send(&house, "allocate", ROUNDS);
    let before = house.resident();
    println!("before: {before} KiB");
    for misdeed in ["loop", "allocate", "panic", "recurse", "return-a-huge-answer"] {
        for round in 0..ROUNDS {
            let document = send(&house, misdeed, round);
            let rows = document["plugins"].as_array().expect("plugins are listed");
            let bad = rows.iter().find(|row| row["name"] == "misbehaving").expect("it ran");
            assert_eq!(bad["outcome"], "failed", "{misdeed}: {bad}");
            assert!(bad["reason"].is_string(), "{misdeed}: {bad}");
            assert_eq!(
                &document["findings"][0]["cause"], found,
                "{misdeed}: what others found stands"
            );
        }
        println!("{misdeed}: search {:?}, {} KiB", latency(&house), house.resident());
    }
    assert_settles(&house, before + GROWTH);
}
