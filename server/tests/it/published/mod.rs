//! Plugins and pages that were published: what they say of causes is shown, searched, and taken into account.

mod pages;
mod shelves;
mod signatures;
mod starts;
mod versions;

use std::io::{Cursor, Write as _};
use std::time::{Duration, Instant};

use reqwest::{Method, Response};
use serde_json::Value;
use whycrash_hostile_plugins::{Case, Claim, Info, Place, component};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::support::{PATIENCE, Server, ok};

/// A log in which a job gets no licence.
pub const LICENCE: &str = "step 1 loss 2.9\nlicence checkout failed: nobody answers\n";
/// Logs of jobs without that.
pub const HEALTHY: &str = "step 1 loss 2.9\nstep 2 loss 2.8\n";

/// A component called `team` that names its cause `team-licence` where the second line of `train.log` says so.
pub fn plugin(version: &str) -> Vec<u8> {
    citing(version, 2, String::new())
}

/// The same, of a line, after it has done something.
fn citing(version: &str, line: u64, diagnose: String) -> Vec<u8> {
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
        info: info("team", version, "team-licence"),
        findings: vec![claim],
        diagnose,
        ..Case::default()
    };
    component(&case).unwrap()
}

/// What a plugin says of itself that names one cause.
pub fn info(name: &str, version: &str, cause: &str) -> Info {
    Info {
        name: name.to_owned(),
        version: version.to_owned(),
        causes: vec![cause.to_owned()],
        ..Info::default()
    }
}

/// The page of a cause.
pub fn page(id: &str, title: &str, more: &str) -> String {
    format!(
        "+++\nid = {id:?}\ntitle = {title:?}\nsummary = \"The job got no licence.\"\nseverity = \"fatal\"\ndomain = \
         \"environment\"\nretry = {{ advice = \"unknown\" }}\ntags = []\nsigns = [\"a line says so\"]\nreferences = \
         [\"https://example.com/\"]\n{more}\n[[fixes]]\nsummary = \"Ask the licence desk\"\nsteps = [\"Ask.\"]\n+++\n\n## \
         What happens\n\nIt.\n"
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

/// A component that names one cause.
pub fn naming(name: &str, version: &str, cause: &str) -> Vec<u8> {
    let case = Case {
        info: info(name, version, cause),
        ..Case::default()
    };
    component(&case).unwrap()
}

/// Publishes a plugin, which has to succeed.
pub async fn publish(server: &Server, package: Vec<u8>) -> Value {
    ok(server.post("/api/v1/plugins").body(package).send().await.unwrap()).await
}

/// Asks for `team` to be disabled or enabled, or for its version before (`rollback`).
pub async fn switch(server: &Server, action: &str) -> Response {
    let path = format!("/api/v1/plugins/team/{action}");
    server.post(&path).send().await.unwrap()
}

/// Asks for `team` to be removed.
async fn remove(server: &Server) -> Response {
    let removal = server.request(Method::DELETE, "/api/v1/plugins/team");
    removal.send().await.unwrap()
}

/// What the server lists under this name: one plugin at most, if all is well.
pub async fn called(server: &Server, name: &str) -> Vec<Value> {
    let listed = server.json("/api/v1/plugins").await;
    let plugins = listed["plugins"].as_array().unwrap().iter();
    plugins.filter(|plugin| plugin["name"] == name).cloned().collect()
}

/// `team` in the server's list; after a start it is not there at once.
pub async fn listed(server: &Server) -> Value {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = called(server, "team").await.into_iter().next() {
            return found;
        }
        assert!(Instant::now() < deadline, "it is not listed");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The versions of a plugin in the list, the oldest first.
fn numbers(listed: &Value) -> Vec<&str> {
    let versions = listed["versions"].as_array().unwrap().iter();
    versions.map(|version| version["version"].as_str().unwrap()).collect()
}
