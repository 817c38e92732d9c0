//! Versions that were published: kept, one file each, and stepped back to.

use serde_json::{Value, json};

use super::{LICENCE, citing, licences, listed, numbers, package, page, publish, remove, switch};
use crate::support::{Server, ok, problem};

/// Instructions that take seconds.
const SLOW: &str = "(local.set $a (i32.const 1000000000))
    (loop $on (br_if $on (local.tee $a (i32.sub (local.get $a) (i32.const 1)))))";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn versions_that_were_published_are_kept_and_one_steps_back_to_them() {
    let server = Server::start().await;
    for version in ["1.0.0", "1.1.0", "2.0.0"] {
        publish(&server, licences(version, "No licence")).await;
    }
    let plugin = listed(&server).await;
    assert_eq!(plugin["version"], "2.0.0");
    assert_eq!(numbers(&plugin), ["1.0.0", "1.1.0", "2.0.0"]);
    let back = async || switch(&server, "rollback").await;
    assert_eq!(ok(back().await).await["version"], "1.1.0");
    assert_eq!(ok(back().await).await["version"], "1.0.0");
    problem(back().await, 404, "no-such-plugin").await;
    let server = server.restart(|_| {}).await;
    let plugin = listed(&server).await;
    assert_eq!(plugin["version"], "1.0.0", "it stays so");
    assert_eq!(numbers(&plugin).len(), 3);
    publish(&server, licences("1.1.0", "No licence")).await;
    assert_eq!(
        numbers(&listed(&server).await),
        ["1.0.0", "2.0.0", "1.1.0"],
        "the newest is what was published last"
    );
    for patch in 0..12 {
        publish(&server, licences(&format!("3.0.{patch}"), "No licence")).await;
    }
    assert_eq!(numbers(&listed(&server).await).len(), 10, "the oldest are forgotten");
    ok(remove(&server).await).await;
    publish(&server, licences("4.0.0", "No licence")).await;
    assert_eq!(numbers(&listed(&server).await), ["4.0.0"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_version_is_one_file() {
    let server = Server::start().await;
    let first = licences("1.0.0", "No licence");
    let refused = async |package: Vec<u8>| {
        let answer = server.post("/api/v1/plugins").body(package).send().await.unwrap();
        problem(answer, 409, "plugin-version-taken").await["detail"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    for _ in 0..3 {
        publish(&server, first.clone()).await;
    }
    assert_eq!(
        numbers(&listed(&server).await),
        ["1.0.0"],
        "the same bytes are the same version"
    );
    let other = licences("1.0.0", "All licences are in use");
    let detail = refused(other.clone()).await;
    assert!(
        detail.starts_with("team 1.0.0 was published on ") && detail.contains("give it a higher version"),
        "{detail}"
    );
    publish(&server, licences("1.1.0", "No licence")).await;
    refused(other.clone()).await;
    publish(&server, first).await;
    assert_eq!(numbers(&listed(&server).await), ["1.1.0", "1.0.0"]);
    ok(switch(&server, "disable").await).await;
    refused(other.clone()).await;
    ok(remove(&server).await).await;
    publish(&server, other).await;
    assert_eq!(
        numbers(&listed(&server).await),
        ["1.0.0"],
        "what was removed holds no number"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_version_that_an_undone_one_replaced_is_kept() {
    let server = Server::start().await;
    for patch in 0..10 {
        publish(&server, licences(&format!("1.0.{patch}"), "No licence")).await;
    }
    for _ in 0..9 {
        ok(switch(&server, "rollback").await).await;
    }
    let begun = server.post("/api/v1/previews").body(licences("2.0.0", "No licence"));
    let number = ok(begun.send().await.unwrap()).await["number"].clone();
    let path = format!("/api/v1/previews/{number}");
    server.until(&path, |shown| shown["state"] == "ready").await;
    for action in ["apply", "undo"] {
        ok(server.post(&format!("{path}/{action}")).send().await.unwrap()).await;
    }
    let plugin = listed(&server).await;
    assert_eq!(
        (&plugin["version"], &plugin["problem"]),
        (&json!("1.0.0"), &Value::Null),
        "{plugin}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_refused_is_no_version() {
    let ours = tempfile::tempdir().unwrap();
    std::fs::write(ours.path().join("team.zip"), licences("0.9.0", "No licence")).unwrap();
    let server = Server::with(|config| config.plugins.push(ours.path().to_owned())).await;
    assert_eq!(listed(&server).await["version"], "0.9.0");
    let refused = server.post("/api/v1/plugins").body(licences("1.0.0", "No licence"));
    assert!(refused.send().await.unwrap().status().is_client_error());
    assert_eq!(server.files("plugin-versions"), Vec::<std::path::PathBuf>::new());
    assert_eq!(listed(&server).await["version"], "0.9.0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_report_that_is_diagnosed_while_a_version_comes_is_diagnosed_with_that_one() {
    // For longer than it takes to compile the version that comes, however busy the machine.
    let server = Server::with(|config| {
        config.plugin_limits.fuel = 100_000_000_000;
        config.plugin_limits.millis = 120_000;
    })
    .await;
    let slow = citing("1.0.0", 2, SLOW.to_owned());
    publish(
        &server,
        package(&slow, "team-licence", &page("team-licence", "No licence", "")),
    )
    .await;
    let id = server.send(json!({}), &[("train.log", LICENCE.as_bytes())]).await;
    server.working().await;
    publish(&server, licences("1.1.0", "No licence")).await;
    let says = |document: &Value| document["findings"][0]["plugin"]["version"] == "1.1.0";
    server.until(&format!("/api/v1/reports/{id}"), says).await;
}
