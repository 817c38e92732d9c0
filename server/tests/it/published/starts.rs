//! What a start makes of what was left: by a kill, by damage, by somebody else.

use std::time::Duration;

use serde_json::{Value, json};

use super::{called, licences, listed, naming, numbers, publish, switch};
use crate::support::{Server, ok};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_kill_cut_off_is_ended_at_the_next_start() {
    let server = Server::start().await;
    publish(&server, licences("1.0.0", "No licence")).await;
    publish(&server, licences("1.1.0", "No licence")).await;
    let listings = async |server: &Server| {
        listed(server).await;
        called(server, "team").await
    };
    // On both shelves: it was disabled by an earlier program, or published while it was disabled.
    let server = server
        .restart(|data| {
            std::fs::copy(data.join("plugins/team.zip"), data.join("plugins-disabled/team.zip")).unwrap();
        })
        .await;
    let team = listings(&server).await;
    assert_eq!((team.len(), &team[0]["notice"]), (1, &Value::Null), "{team:?}");
    ok(switch(&server, "disable").await).await;
    let team = listings(&server).await;
    assert_eq!(team.len(), 1, "{team:?}");
    assert!(team[0]["notice"].is_string(), "{team:?}");
    ok(switch(&server, "enable").await).await;
    // A component took the place of a package, which was not gone yet.
    publish(&server, naming("team", "1.2.0", "oom-exhaustion")).await;
    let package = licences("1.1.0", "No licence");
    let server = server
        .restart(|data| {
            let old = data.join("plugins/team.zip");
            std::fs::write(&old, package).unwrap();
            let before = std::time::SystemTime::now() - Duration::from_secs(60);
            std::fs::File::open(&old).unwrap().set_modified(before).unwrap();
        })
        .await;
    let team = listings(&server).await;
    assert_eq!((team.len(), &team[0]["version"]), (1, &json!("1.2.0")), "{team:?}");
    assert_eq!(team[0]["problem"], Value::Null, "{team:?}");
    // It was removed, and its versions were not.
    let server = server
        .restart(|data| std::fs::remove_file(data.join("plugins/team.wasm")).unwrap())
        .await;
    assert_eq!(server.files("plugin-versions"), Vec::<std::path::PathBuf>::new());
    publish(&server, licences("1.0.0", "All licences are in use")).await;
    assert_eq!(numbers(&listed(&server).await), ["1.0.0"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_being_written_at_a_kill_goes_at_the_next_start() {
    let server = Server::start().await;
    publish(&server, licences("1.0.0", "No licence")).await;
    let unfinished = ".unfinished-x";
    let folders = ["plugins", "plugins-disabled", "knowledge", "plugin-versions/team"];
    let server = server
        .restart(|data| {
            for folder in folders {
                std::fs::write(data.join(folder).join(unfinished), "half of it").unwrap();
            }
        })
        .await;
    listed(&server).await;
    for folder in folders {
        let left = server.files(folder).into_iter().find(|file| file.ends_with(unfinished));
        assert_eq!(left, None);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn versions_are_known_by_their_files_when_their_list_is_damaged() {
    let server = Server::start().await;
    for version in ["1.0.0", "1.1.0"] {
        publish(&server, licences(version, "No licence")).await;
    }
    let server = server
        .restart(|data| std::fs::write(data.join("plugin-versions/team/versions.json"), "[{").unwrap())
        .await;
    assert_eq!(numbers(&listed(&server).await).len(), 2);
    assert_eq!(ok(switch(&server, "rollback").await).await["version"], "1.0.0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_was_not_published_does_not_run() {
    let server = Server::start().await;
    publish(&server, licences("1.0.0", "No licence")).await;
    let another = licences("6.6.6", "No licence");
    let server = server
        .restart(|data| std::fs::write(data.join("plugins/team.zip"), another).unwrap())
        .await;
    let plugin = listed(&server).await;
    let problem = plugin["problem"].as_str().unwrap_or_default();
    assert!(
        problem.contains("its file is not the one that plugins.sha256 lists"),
        "{plugin}"
    );
    publish(&server, licences("1.0.1", "No licence")).await;
    assert_eq!(listed(&server).await["problem"], Value::Null, "publishing mends it");
}
