//! Plugins and pages that were published: what they say of causes is shown, searched, and taken into account.

use std::io::{Cursor, Read as _, Write as _};
use std::time::{Duration, Instant};

use reqwest::header::{ETAG, IF_NONE_MATCH};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use whycrash_hostile_plugins::{Case, Claim, Info, Place, component};
use whycrash_plugin_host::SigningKey;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::support::{PATIENCE, Server, ok, problem};

/// A log in which a job gets no licence.
pub const LICENCE: &str = "step 1 loss 2.9\nlicence checkout failed: nobody answers\n";
/// Logs of jobs without that.
pub const HEALTHY: &str = "step 1 loss 2.9\nstep 2 loss 2.8\n";

/// A component called `team` that names its cause `team-licence` where the second line of `train.log` says so.
pub fn plugin(version: &str) -> Vec<u8> {
    citing(version, 2)
}

/// The same, of another line.
fn citing(version: &str, line: u64) -> Vec<u8> {
    let claim = Claim {
        cause: "team-licence".to_owned(),
        confidence: 0.9,
        cites: vec![Place {
            line: Some([line, line]),
            quote: "licence checkout failed".to_owned(),
            ..Place::default()
        }],
        ..Claim::default()
    };
    let case = Case {
        info: Info {
            name: "team".to_owned(),
            version: version.to_owned(),
            causes: vec!["team-licence".to_owned()],
            ..Info::default()
        },
        findings: vec![claim],
        ..Case::default()
    };
    component(&case).unwrap()
}

/// The page of a cause.
pub fn page(id: &str, title: &str, more: &str) -> String {
    format!(
        "+++\nid = {id:?}\ntitle = {title:?}\nsummary = \"The job got no licence.\"\nseverity = \"fatal\"\ndomain = \
         \"environment\"\nretry = {{ advice = \"unknown\" }}\ntags = []\nsigns = [\"a line says so\"]\nreferences = \
         [\"https://example.com/\"]\n{more}\n[[fixes]]\nsummary = \"Ask the licence desk\"\nsteps = [\"Ask.\"]\n+++\n\n## \
         EventPayload happens\n\nIt.\n"
    )
}

/// A package of a component called `team` and a page.
pub fn package(wasm: &[u8], id: &str, page: &str) -> Vec<u8> {
    package_of("team", wasm, id, page)
}

/// A package of a component of this name and a page.
fn package_of(plugin: &str, wasm: &[u8], id: &str, page: &str) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let name = format!("causes/{id}.md");
    for (name, bytes) in [
        ("plugin.toml", format!("name = {plugin:?}").as_bytes()),
        ("plugin.wasm", wasm),
        (&name, page.as_bytes()),
    ] {
        zip.start_file(name, SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// The package of that component, with this title on its page.
pub fn licences(version: &str, title: &str) -> Vec<u8> {
    package(&plugin(version), "team-licence", &page("team-licence", title, ""))
}

async fn publish(server: &Server, package: Vec<u8>) -> Value {
    ok(server.post("/api/v1/plugins").body(package).send().await.unwrap()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_cause_of_a_published_plugin_is_found_by_its_page() {
    let server = Server::start().await;
    publish(&server, licences("1.0.0", "The seats of the simulator ran out")).await;
    let id = server.send(json!({}), &[("train.log", LICENCE.as_bytes())]).await;
    let document = server.processed(&id).await;
    let finding = &document["findings"][0];
    assert_eq!(finding["title"], "The seats of the simulator ran out");
    assert_eq!(finding["fixes"][0]["summary"], "Ask the licence desk");
    for query in ["seats simulator", "cause:team-licence", "plugin:team"] {
        let found = server.find(query).await;
        assert_eq!(found["hits"][0]["id"], id, "{query}: {found}");
    }
    let causes = server.json("/api/v1/causes").await;
    let is_counted = |cause: &&Value| cause["id"] == "team-licence" && cause["reports"] == 1;
    assert!(
        causes["causes"]
            .as_array()
            .unwrap()
            .iter()
            .any(|cause| is_counted(&cause))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_page_of_a_package_leads_to_is_folded() {
    let server = Server::start().await;
    let log = format!(
        "step 1 loss 2.9\nTraceback (most recent call last):\n  File \"train.py\", line 7, in <module>\n    checkout()\n\
         RuntimeError: licence checkout failed\n{}",
        crate::support::traceback("20.00")
    );
    let send = async |host: &str| {
        let id = server
            .send(json!({"host": host}), &[("train.log", log.as_bytes())])
            .await;
        let document = server.processed(&id).await;
        let findings = document["findings"].as_array().unwrap().iter();
        findings
            .map(|finding| finding["cause"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let alone = send("a").await;
    assert!(alone.iter().any(|cause| cause.starts_with("oom-")), "{alone:?}");
    let leads_to = |cause: &String| format!("[[leads_to]]\ncause = {cause:?}\nsays = 'CUDA out of memory'\n");
    let leads_to: String = alone.iter().map(leads_to).collect();
    let own = page("team-licence", "No licence", &leads_to);
    publish(&server, package(&citing("1.0.0", 5), "team-licence", &own)).await;
    assert_eq!(send("b").await, ["team-licence"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_changed_changes_the_tag_of_documents() {
    let server = Server::start().await;
    publish(&server, licences("1.0.0", "No licence")).await;
    let id = server.send(json!({}), &[("train.log", LICENCE.as_bytes())]).await;
    server.processed(&id).await;
    let path = format!("/api/v1/reports/{id}");
    let answer = server.get(&path).send().await.unwrap();
    let tag = answer.headers()[ETAG].clone();
    let again = server.get(&path).header(IF_NONE_MATCH, &tag).send().await.unwrap();
    assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
    publish(&server, licences("1.0.1", "All licences are in use")).await;
    let changed = server.get(&path).header(IF_NONE_MATCH, &tag).send().await.unwrap();
    assert_eq!(changed.status(), StatusCode::OK);
    let document: Value = changed.json().await.unwrap();
    assert_eq!(document["findings"][0]["title"], "All licences are in use");
}

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

/// The plugin in the server's list; after a start it is not there at once.
async fn listed(server: &Server) -> Value {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let plugins = server.json("/api/v1/plugins").await["plugins"].clone();
        let found = plugins
            .as_array()
            .unwrap()
            .iter()
            .find(|plugin| plugin["name"] == "team");
        if let Some(found) = found {
            return found.clone();
        }
        assert!(Instant::now() < deadline, "{plugins}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn numbers(listed: &Value) -> Vec<&str> {
    let versions = listed["versions"].as_array().unwrap().iter();
    versions.map(|version| version["version"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn versions_that_were_published_are_kept_and_one_steps_back_to_them() {
    let server = Server::start().await;
    for version in ["1.0.0", "1.1.0", "2.0.0"] {
        publish(&server, licences(version, "No licence")).await;
    }
    let plugin = listed(&server).await;
    assert_eq!(plugin["version"], "2.0.0");
    assert_eq!(numbers(&plugin), ["1.0.0", "1.1.0", "2.0.0"]);
    let back = async || server.post("/api/v1/plugins/team/rollback").send().await.unwrap();
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
    ok(server
        .request(reqwest::Method::DELETE, "/api/v1/plugins/team")
        .send()
        .await
        .unwrap())
    .await;
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
    ok(server.post("/api/v1/plugins/team/disable").send().await.unwrap()).await;
    refused(other.clone()).await;
    ok(server
        .request(Method::DELETE, "/api/v1/plugins/team")
        .send()
        .await
        .unwrap())
    .await;
    publish(&server, other).await;
    assert_eq!(
        numbers(&listed(&server).await),
        ["1.0.0"],
        "what was removed holds no number"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_kill_cut_off_is_ended_at_the_next_start() {
    let server = Server::start().await;
    publish(&server, licences("1.0.0", "No licence")).await;
    publish(&server, licences("1.1.0", "No licence")).await;
    let listings = async |server: &Server| {
        listed(server).await;
        let plugins = server.json("/api/v1/plugins").await["plugins"].clone();
        let team = plugins
            .as_array()
            .unwrap()
            .iter()
            .filter(|plugin| plugin["name"] == "team");
        team.cloned().collect::<Vec<_>>()
    };
    // On both shelves: it was disabled by an earlier program, or published while it was disabled.
    let server = server
        .restart(|data| {
            std::fs::copy(data.join("plugins/team.zip"), data.join("plugins-disabled/team.zip")).unwrap();
        })
        .await;
    let team = listings(&server).await;
    assert_eq!((team.len(), &team[0]["notice"]), (1, &Value::Null), "{team:?}");
    ok(server.post("/api/v1/plugins/team/disable").send().await.unwrap()).await;
    let team = listings(&server).await;
    assert_eq!(team.len(), 1, "{team:?}");
    assert!(team[0]["notice"].is_string(), "{team:?}");
    ok(server.post("/api/v1/plugins/team/enable").send().await.unwrap()).await;
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

/// A component that names one cause.
pub fn naming(name: &str, version: &str, cause: &str) -> Vec<u8> {
    let case = Case {
        info: Info {
            name: name.to_owned(),
            version: version.to_owned(),
            causes: vec![cause.to_owned()],
            ..Info::default()
        },
        ..Case::default()
    };
    component(&case).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_plugin_keeps_another_from_taking_part() {
    let server = Server::start().await;
    // Of both names the id is a cause of their own.
    let own = page("team-x-seats", "No licence", "");
    let team = package(&naming("team", "1.0.0", "team-x-seats"), "team-x-seats", &own);
    publish(&server, team).await;
    let stranger = naming("team-x", "1.0.0", "team-x-seats");
    let stranger = package_of("team-x", &stranger, "team-x-seats", &own);
    let refused = server.post("/api/v1/plugins").body(stranger).send().await.unwrap();
    let refused = problem(refused, 422, "plugin-refused").await;
    let detail = refused["detail"].as_str().unwrap();
    assert!(
        detail.contains("it keeps the plugin team from taking part: it brings a page for team-x-seats"),
        "{detail}"
    );
    let team = listed(&server).await;
    assert_eq!(
        (&team["problem"], &team["version"]),
        (&Value::Null, &json!("1.0.0")),
        "{team}"
    );
    let plugins = server.json("/api/v1/plugins").await["plugins"].clone();
    assert!(
        plugins
            .as_array()
            .unwrap()
            .iter()
            .all(|plugin| plugin["name"] != "team-x")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_version_that_an_undone_one_replaced_is_kept() {
    let server = Server::start().await;
    for patch in 0..10 {
        publish(&server, licences(&format!("1.0.{patch}"), "No licence")).await;
    }
    for _ in 0..9 {
        ok(server.post("/api/v1/plugins/team/rollback").send().await.unwrap()).await;
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
    let back = server.post("/api/v1/plugins/team/rollback").send().await.unwrap();
    assert_eq!(ok(back).await["version"], "1.0.0");
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_what_a_trusted_key_signed_is_taken_where_that_is_asked_for() {
    let (ours, _) = SigningKey::generate().unwrap();
    let (theirs, _) = SigningKey::generate().unwrap();
    let key = ours.public();
    let server = Server::with(|config| {
        config.plugin_trust.require_signature = true;
        config.plugin_trust.trusted_keys.insert("the team".to_owned(), key);
    })
    .await;
    let package = licences("1.0.0", "No licence");
    let refused = async |package: Vec<u8>| {
        let answer = server.post("/api/v1/plugins").body(package).send().await.unwrap();
        let problem = problem(answer, 422, "plugin-refused").await;
        problem["detail"].as_str().unwrap().to_owned()
    };
    assert!(refused(package.clone()).await.contains("it is not signed"));
    assert!(
        refused(plugin("1.0.0")).await.contains("it is not signed"),
        "a bare component"
    );
    assert!(
        refused(theirs.sign(package.clone()).unwrap())
            .await
            .contains("no trusted key")
    );
    let signed = ours.sign(package.clone()).unwrap();
    assert_eq!(publish(&server, signed.clone()).await["signed_by"], "the team");
    assert_eq!(listed(&server).await["versions"][0]["signed_by"], "the team");
    assert_eq!(ours.sign(package).unwrap(), signed, "the same every time");
    assert_eq!(
        ours.sign(theirs.sign(signed.clone()).unwrap()).unwrap(),
        signed,
        "one signature"
    );
    let changed = String::from_utf8_lossy(&unpacked(&signed, "signature.toml")).into_owned();
    let forged = with_file(&licences("1.0.1", "No licence"), "signature.toml", changed.as_bytes());
    assert!(refused(forged).await.contains("was changed after it was signed"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_key_signed_that_is_trusted_no_more_does_not_run() {
    let (ours, _) = SigningKey::generate().unwrap();
    let server = Server::start().await;
    for version in ["1.0.0", "1.1.0"] {
        publish(&server, ours.sign(licences(version, "No licence")).unwrap()).await;
    }
    let server = server
        .restart_with(|_| {}, |config| config.plugin_trust.require_signature = true)
        .await;
    let plugin = listed(&server).await;
    assert!(
        plugin["problem"]
            .as_str()
            .unwrap_or_default()
            .contains("which is no trusted key"),
        "{plugin}"
    );
    let post = async |action: &str| {
        let path = format!("/api/v1/plugins/team/{action}");
        server.post(&path).send().await.unwrap()
    };
    problem(post("rollback").await, 422, "plugin-refused").await;
    ok(post("disable").await).await;
    problem(post("enable").await, 422, "plugin-refused").await;
    let gone = server.request(Method::DELETE, "/api/v1/plugins/team").send().await;
    ok(gone.unwrap()).await;
}

fn unpacked(package: &[u8], name: &str) -> Vec<u8> {
    let mut zip = zip::ZipArchive::new(Cursor::new(package)).unwrap();
    let mut bytes = Vec::new();
    zip.by_name(name).unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

/// The package with one more file.
fn with_file(package: &[u8], name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let names = ["plugin.toml", "plugin.wasm", "causes/team-licence.md"];
    let files = names.map(|name| (name, unpacked(package, name)));
    for (name, bytes) in files
        .iter()
        .map(|(name, bytes)| (*name, bytes.as_slice()))
        .chain([(name, bytes)])
    {
        zip.start_file(name, SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
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
