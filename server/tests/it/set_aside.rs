//! Plugins that keep failing: set aside until somebody decides otherwise.

use serde_json::{Value, json};

use crate::published::{self, LICENCE, licences, listed, switch};
use crate::support::{Server, ok, problem};

/// Runs in a row that have to fail.
const STRIKES: usize = 20;

/// A package whose plugin is right about a licence in the second line, and wrong about any other text there.
async fn publish(server: &Server, version: &str) {
    published::publish(server, licences(version, "No licence")).await;
}

/// Sends a log, and gives the row of the plugin and the report's id.
async fn send(server: &Server, number: usize, log: &str) -> (Value, String) {
    let id = server
        .send(json!({"number": number}), &[("train.log", log.as_bytes())])
        .await;
    let document = server.processed(&id).await;
    let mut rows = document["plugins"].as_array().unwrap().iter();
    (rows.find(|row| row["name"] == "team").unwrap().clone(), id)
}

async fn fail_often_enough(server: &Server) {
    for number in 0..STRIKES {
        let log = format!("step 1\nnothing about licences {number}\n");
        assert_eq!(send(server, number, &log).await.0["outcome"], "failed");
    }
}

fn is_set_aside(plugin: &Value) -> bool {
    let notice = plugin["notice"].as_str().unwrap_or_default();
    notice.contains("set aside after 20 runs in a row") && notice.contains("licence checkout failed")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_that_was_set_aside_stays_so_after_a_restart_until_it_is_enabled() {
    let server = Server::start().await;
    publish(&server, "1.0.0").await;
    let absent = switch(&server, "enable").await;
    problem(absent, 404, "no-such-plugin").await;
    fail_often_enough(&server).await;
    let server = server.restart(|_| {}).await;
    server
        .until("/api/v1/plugins", |listed| !listed["plugins"][0].is_null())
        .await;
    let (row, id) = send(&server, 100, LICENCE).await;
    assert_eq!(row["outcome"], "skipped", "{row}");
    assert!(is_set_aside(&listed(&server).await), "{}", listed(&server).await);

    ok(switch(&server, "enable").await).await;
    assert_eq!(listed(&server).await["notice"], Value::Null);
    let (row, _) = send(&server, 101, LICENCE).await;
    assert_eq!(row["outcome"], "ok", "{row}");

    // What came while it was set aside is diagnosed with it.
    let heard = |document: &Value| document["findings"][0]["cause"] == "team-licence";
    server.until(&format!("/api/v1/reports/{id}"), heard).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_that_was_set_aside_stays_so_where_the_server_had_no_time_to_stop() {
    let server = Server::start().await;
    publish(&server, "1.0.0").await;
    fail_often_enough(&server).await;
    // Written while the server runs, and not only when it ends.
    let file = server.folder.path().join("data/plugin-runs.json");
    let is_written = || std::fs::read_to_string(&file).is_ok_and(|figures| figures.contains("\"strikes\":20"));
    let deadline = std::time::Instant::now() + crate::support::PATIENCE;
    while !is_written() {
        assert!(std::time::Instant::now() < deadline, "nothing is written");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_version_of_a_plugin_that_was_set_aside_runs() {
    let server = Server::start().await;
    publish(&server, "1.0.0").await;
    fail_often_enough(&server).await;
    assert!(is_set_aside(&listed(&server).await));
    publish(&server, "1.0.1").await;
    assert_eq!(listed(&server).await["notice"], Value::Null);
    let (row, _) = send(&server, 100, LICENCE).await;
    assert_eq!(row["outcome"], "ok", "{row}");
    // Whoever steps back to the version before gets it as it was.
    ok(switch(&server, "rollback").await).await;
    assert_eq!(listed(&server).await["version"], "1.0.0");
}
