//! Many who publish at the same time.

use std::time::Duration;

use futures_util::future::join_all;
use reqwest::StatusCode;
use reqwest::header::RETRY_AFTER;

use whycrash_server::plugins::turns::Turns;

use crate::published::naming;
use crate::support::Server;

/// Plugins that are published at once.
const CROWD: usize = 24;

/// Publishes a plugin, and comes again when told so.
async fn publish(server: &Server, name: &str) {
    loop {
        let answer = server
            .post("/api/v1/plugins")
            .body(naming(name, "1.0.0", "abrt-assert"));
        let answer = answer.send().await.unwrap();
        if answer.status() != StatusCode::SERVICE_UNAVAILABLE {
            assert_eq!(
                answer.status(),
                StatusCode::OK,
                "{name}: {}",
                answer.text().await.unwrap()
            );
            return;
        }
        let seconds: u64 = answer.headers()[RETRY_AFTER].to_str().unwrap().parse().unwrap();
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_of_many_plugins_that_are_published_at_once_take_part() {
    let server = Server::start().await;
    let names: Vec<String> = (0..CROWD).map(|number| format!("crowd-{number}")).collect();
    join_all(names.iter().map(|name| publish(&server, name))).await;
    let listed = server.json("/api/v1/plugins").await;
    let listed = listed["plugins"].as_array().unwrap();
    for name in names {
        let plugin = listed.iter().find(|plugin| plugin["name"] == *name);
        let plugin = plugin.unwrap_or_else(|| panic!("{name} is not there"));
        assert!(plugin["problem"].is_null(), "{plugin}");
    }
}

#[tokio::test]
async fn a_turn_that_does_not_come_in_time_is_none() {
    let turns = Turns::new(2, Duration::from_millis(50));
    let (first, second) = (turns.next().await, turns.next().await);
    assert!(first.is_some() && second.is_some());
    assert!(turns.next().await.is_none());
    drop(first);
    assert!(turns.next().await.is_some());
}
