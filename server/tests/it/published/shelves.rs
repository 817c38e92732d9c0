//! Plugins that are disabled, enabled and removed, and what is shown of them.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use super::{LICENCE, licences, listed, publish};
use crate::support::{Server, ok, problem};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_that_is_disabled_takes_no_part_until_it_is_enabled() {
    let server = Server::start().await;
    publish(&server, licences("1.0.0", "No licence")).await;
    let switch = async |action: &str| {
        let path = format!("/api/v1/plugins/team/{action}");
        server.post(&path).send().await.unwrap()
    };
    let found = async |host: &str| {
        let id = server
            .send(json!({"host": host}), &[("train.log", LICENCE.as_bytes())])
            .await;
        server.processed(&id).await["findings"].as_array().unwrap().len()
    };
    assert_eq!(found("a").await, 1);
    ok(switch("disable").await).await;
    problem(switch("disable").await, 404, "no-such-plugin").await;
    assert_eq!(found("b").await, 0);
    let listed = async || {
        let plugins = server.json("/api/v1/plugins").await;
        let plugins = plugins["plugins"].as_array().unwrap().clone();
        plugins.into_iter().find(|plugin| plugin["name"] == "team").unwrap()
    };
    assert!(listed().await["notice"].as_str().unwrap().contains("it is disabled"));
    ok(switch("enable").await).await;
    assert_eq!(found("c").await, 1);
    let runs = listed().await["runs"].clone();
    assert_eq!((&runs["ok"], &runs["failed"]), (&json!(1), &json!(0)), "{runs}");
    assert!(runs["most_memory"].as_u64() > Some(0), "{runs}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_that_is_removed_while_it_is_enabled_stays_away() {
    let server = Server::start().await;
    for round in 0..20 {
        publish(&server, licences(&format!("1.0.{round}"), "No licence")).await;
        ok(server.post("/api/v1/plugins/team/disable").send().await.unwrap()).await;
        let enable = async { server.post("/api/v1/plugins/team/enable").send().await.unwrap() };
        let remove = async {
            tokio::time::sleep(Duration::from_millis(round)).await;
            server
                .request(Method::DELETE, "/api/v1/plugins/team")
                .send()
                .await
                .unwrap()
        };
        let (enabled, remove) = tokio::join!(enable, remove);
        assert!(!enabled.status().is_server_error(), "{enabled:?}");
        assert!(remove.status().is_success(), "{remove:?}");
        let plugins = server.json("/api/v1/plugins").await["plugins"].clone();
        let is_there = plugins
            .as_array()
            .unwrap()
            .iter()
            .any(|plugin| plugin["name"] == "team");
        assert!(!is_there, "it is back in round {round}");
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
