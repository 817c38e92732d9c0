//! Signatures of packages, where they are asked for.

use std::io::{Cursor, Read as _, Write as _};

use whycrash_plugin_host::SigningKey;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::{licences, listed, plugin, publish, remove, switch};
use crate::support::{Server, ok, problem};

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
    problem(switch(&server, "rollback").await, 422, "plugin-refused").await;
    ok(switch(&server, "disable").await).await;
    problem(switch(&server, "enable").await, 422, "plugin-refused").await;
    ok(remove(&server).await).await;
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
