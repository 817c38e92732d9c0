//! Plugins that are disabled, enabled and removed, and what is shown of them.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use super::{LICENCE, called, licences, listed, publish, remove, switch};
use crate::support::{Server, ok, problem};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_that_is_disabled_takes_no_part_until_it_is_enabled() {
    let server = Server::start().await;
    publish(&server, licences("1.0.0", "No licence")).await;
    let found = async |host: &str| {
        let id = server
            .send(json!({"host": host}), &[("train.log", LICENCE.as_bytes())])
            .await;
        server.processed(&id).await["findings"].as_array().unwrap().len()
    };
    assert_eq!(found("a").await, 1);
    ok(switch(&server, "disable").await).await;
    problem(switch(&server, "disable").await, 404, "no-such-plugin").await;
    assert_eq!(found("b").await, 0);
    assert!(
        listed(&server).await["notice"]
            .as_str()
            .unwrap()
            .contains("it is disabled")
    );
    ok(switch(&server, "enable").await).await;
    assert_eq!(found("c").await, 1);
    // Those that are stored are given to it, too.
    server.idle().await;
    let runs = listed(&server).await["runs"].clone();
    assert_eq!((&runs["ok"], &runs["failed"]), (&json!(3), &json!(0)), "{runs}");
    assert!(runs["most_memory"].as_u64() > Some(0), "{runs}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_that_is_removed_while_it_is_enabled_stays_away() {
    let server = Server::start().await;
    for round in 0..20 {
        publish(&server, licences(&format!("1.0.{round}"), "No licence")).await;
        ok(switch(&server, "disable").await).await;
        let removed = async {
            tokio::time::sleep(Duration::from_millis(round)).await;
            remove(&server).await
        };
        let (enabled, removed) = tokio::join!(switch(&server, "enable"), removed);
        assert!(!enabled.status().is_server_error(), "{enabled:?}");
        assert!(removed.status().is_success(), "{removed:?}");
        let left = called(&server, "team").await;
        assert!(left.is_empty(), "it is back in round {round}: {left:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_no_file_can_have_is_no_plugins() {
    let server = Server::start().await;
    let name = "a".repeat(3000);
    for action in ["enable", "disable", "rollback"] {
        let answer = server
            .post(&format!("/api/v1/plugins/{name}/{action}"))
            .send()
            .await
            .unwrap();
        problem(answer, 404, "no-such-plugin").await;
    }
    let path = format!("/api/v1/plugins/{name}");
    let answer = server.request(Method::DELETE, &path).send().await.unwrap();
    problem(answer, 404, "no-such-plugin").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_problem_shows_nothing_that_acts() {
    let server = Server::start().await;
    // ESC [ 3 1 m, a bidirectional override, and a line end, in names and texts of every kind.
    let odd = "%1B%5B31m%E2%80%AE%0Aforged";
    for (method, path) in [
        (Method::POST, format!("/api/v1/plugins/{odd}/disable")),
        (Method::POST, format!("/api/v1/plugins/{odd}/enable")),
        (Method::POST, format!("/api/v1/plugins/{odd}/rollback")),
        (Method::DELETE, format!("/api/v1/plugins/{odd}")),
        (Method::GET, format!("/api/v1/causes/{odd}")),
        (Method::GET, format!("/api/v1/groups/{odd}")),
        (Method::GET, format!("/api/v1/reports/{odd}")),
        (Method::GET, format!("/api/v1/symbols/{odd}")),
        (Method::GET, format!("/api/v1/previews/{odd}")),
        (Method::GET, format!("/api/v1/search?q={odd}:x")),
        (Method::GET, format!("/api/v1/reports?limit={odd}")),
        (Method::GET, format!("/api/v1/{odd}")),
        (Method::POST, format!("/api/v1/previews?page={odd}.md")),
    ] {
        let answer = server.request(method, &path).send().await;
        let text = answer.unwrap().text().await.unwrap();
        let told: Value = serde_json::from_str(&text).unwrap();
        let detail = told["detail"].as_str().unwrap_or_default();
        assert!(!detail.is_empty(), "{path}: {text}");
        assert!(!detail.contains(['\u{1b}', '\u{202e}', '\n']), "{path}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_known_of_runs_outlives_the_server() {
    let server = Server::start().await;
    publish(&server, licences("1.0.0", "No licence")).await;
    let id = server.send(json!({}), &[("train.log", LICENCE.as_bytes())]).await;
    server.processed(&id).await;
    let before = listed(&server).await["runs"].clone();
    assert!(before["ok"].as_u64() > Some(0), "{before}");
    let server = server.restart(|_| {}).await;
    assert_eq!(listed(&server).await["runs"], before);
    let server = server
        .restart(|data| std::fs::write(data.join("plugin-runs.json"), "{").unwrap())
        .await;
    assert_eq!(
        listed(&server).await["runs"]["ok"],
        0,
        "figures that are damaged begin anew"
    );
}
