//! Symbols that are uploaded: what is taken, what stays, and which reports are read again with it.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use jiff::Timestamp;
use reqwest::{Method, Response};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use whycrash_evidence::model::{Frame, Module, Thread, ThreadId};
use whycrash_plugin_host::{Input, Report};
use whycrash_reading::stored::Parts;
use whycrash_server::pipeline::reopen::modules_of;
use whycrash_server::reading::{ReadError, ReadReports};
use whycrash_server::services::Services;
use whycrash_server::store::{Kin, Lane, Lease, MadeWith, NewReport, Outcome, ReportId, StoredEvidence, Summary};

use crate::security::with_tokens;
use crate::support::{Hooked, PATIENCE, Server, config, ok, problem};

const BUILD_ID: [u8; 20] = [0xa7; 20];
const DUMP: &str = "../knowledge/evidence/tests/fixtures/minidumps/cpp_null_worker.dmp";

/// An ELF file with some code, this build id, and these bytes at its end.
fn elf(build_id: &[u8], end: &[u8]) -> Vec<u8> {
    let mut note: Vec<u8> = [4, build_id.len() as u32, 3]
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    note.extend(b"GNU\0");
    note.extend(build_id);
    note.resize(note.len().next_multiple_of(4), 0);
    let header = |kind: u32, flags: u32, offset: u64, size: u64| {
        let words = [offset, offset, offset, size, size, 4];
        let start = [kind, flags].into_iter().flat_map(u32::to_le_bytes);
        start
            .chain(words.into_iter().flat_map(u64::to_le_bytes))
            .collect::<Vec<u8>>()
    };
    let notes = 64 + 2 * 56;
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    file.extend([3_u16, 62].iter().flat_map(|half| half.to_le_bytes()));
    file.extend(1_u32.to_le_bytes());
    file.extend([0_u64, 64, 0].iter().flat_map(|word| word.to_le_bytes()));
    file.extend(0_u32.to_le_bytes());
    file.extend([64_u16, 56, 2, 0, 0, 0].iter().flat_map(|half| half.to_le_bytes()));
    file.extend(header(1, 5, 0, notes + note.len() as u64));
    file.extend(header(4, 4, notes, note.len() as u64));
    file.extend(note);
    file.extend(end);
    file
}

/// Names two functions of the program that the dump is of.
fn symbol_file(id: &str, name: &str, function: &str) -> Vec<u8> {
    format!(
        "MODULE Linux x86_64 {id} {name}\nFILE 0 /src/reduce.cpp\nFUNC 3130 480 0 trainer::do_crash(int)\n3130 480 53 0\n\
         FUNC 3630 40 0 {function}\n3630 40 29 0\nSTACK CFI INIT 3630 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n"
    )
    .into_bytes()
}

const DEBUG_ID: &str = "5A865AB22664BC5E2A9FB3019E57AB350";

impl Server {
    async fn symbols(&self, method: Method, bytes: Vec<u8>) -> Response {
        self.request(method, "/api/v1/symbols")
            .body(bytes)
            .send()
            .await
            .unwrap()
    }

    /// The document of a report once its crashed thread is in this function.
    async fn innermost(&self, id: &str, function: &str) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let document = self.json(&format!("/api/v1/reports/{id}")).await;
            if document["evidence"]["threads"][0]["frames"][0]["function"] == function {
                return document;
            }
            assert!(Instant::now() < deadline, "{:#}", document["evidence"]["threads"][0]);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

#[tokio::test]
async fn a_build_id_has_the_length_of_one() {
    let server = Server::start().await;
    for build_id in [&[0xa7][..], &[0xa7; 7], &[0xa7; 65], &[]] {
        let answer = server.symbols(Method::POST, elf(build_id, b"")).await;
        problem(answer, 422, "not-symbols").await;
    }
    let kept = ok(server.symbols(Method::POST, elf(&BUILD_ID, b"")).await).await;
    assert_eq!((&kept["kind"], &kept["new"]), (&json!("executable"), &json!(true)));
    let id = kept["id"].as_str().unwrap();
    assert_eq!(id, "a7".repeat(20));
    let known = server.json(&format!("/api/v1/symbols/{id}")).await;
    assert_eq!(known["files"][0]["kind"], "executable");
    for wrong in [
        "a7",
        "..%2f..%2f..%2fetc%2fpasswd",
        "A7A7A7A7A7A7A7A7A7A7",
        "a7a7a7a7a7a7a7a7a",
    ] {
        let answer = server.get(&format!("/api/v1/symbols/{wrong}")).send().await.unwrap();
        assert_eq!(answer.status().as_u16(), 404, "{wrong}");
        let answer = server
            .get(&format!("/buildid/{wrong}/executable"))
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status().as_u16(), 404, "{wrong}");
    }
}

#[tokio::test]
async fn one_file_is_kept_for_an_id_until_an_administrator_replaces_it() {
    let server = Server::start().await;
    let lower = DEBUG_ID.to_lowercase();
    let cases = [
        [elf(&BUILD_ID, b"one"), elf(&BUILD_ID, b"two")],
        [
            symbol_file(DEBUG_ID, "n_plain_O2", "first"),
            // Another name, and the id written in another way.
            symbol_file(&lower, "evil", "second"),
        ],
    ];
    for [first, second] in cases {
        assert_eq!(ok(server.symbols(Method::POST, first.clone()).await).await["new"], true);
        let again = ok(server.symbols(Method::POST, first.clone()).await).await;
        assert_eq!(again["new"], false, "the very same");
        problem(server.symbols(Method::POST, second.clone()).await, 409, "symbols-exist").await;
        let id = again["id"].as_str().unwrap();
        let size = async || server.json(&format!("/api/v1/symbols/{id}")).await["files"][0]["bytes"].clone();
        assert_eq!(size().await, first.len());
        let replaced = ok(server.symbols(Method::PUT, second.clone()).await).await;
        assert_eq!((&replaced["id"], &replaced["new"]), (&again["id"], &json!(true)));
        assert_eq!(size().await, second.len());
    }
    let staged = std::fs::read_dir(server.folder.path().join("data/staging")).unwrap();
    assert_eq!(staged.count(), 0, "what was refused is gone");
}

#[tokio::test]
async fn only_an_administrator_replaces_symbols() {
    let (server, [ingest, read, write, admin]) = with_tokens().await;
    let send = async |method: Method, token: &str, end: &[u8]| {
        let request = server.request(method, "/api/v1/symbols").bearer_auth(token);
        request.body(elf(&BUILD_ID, end)).send().await.unwrap()
    };
    ok(send(Method::POST, &write, b"one").await).await;
    for token in [&ingest, &read, &write] {
        problem(send(Method::PUT, token, b"two").await, 403, "forbidden").await;
    }
    ok(send(Method::PUT, &admin, b"two").await).await;
}

#[tokio::test]
async fn reports_are_read_again_with_symbols_that_replace_what_they_used() {
    let server = Server::start().await;
    let dump = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(DUMP)).unwrap();
    let id = server.send(json!({}), &[("a.dmp", &dump)]).await;
    server.processed(&id).await;
    let kept = ok(server
        .symbols(Method::POST, symbol_file(DEBUG_ID, "n_plain_O2", "wrong(int)"))
        .await)
    .await;
    assert_eq!(kept["reports"], 1);
    server.innermost(&id, "wrong(int)").await;
    let kept = ok(server
        .symbols(Method::PUT, symbol_file(DEBUG_ID, "n_plain_O2", "right(int)"))
        .await)
    .await;
    assert_eq!(kept["reports"], 1);
    server.innermost(&id, "right(int)").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn symbols_that_come_while_a_report_is_read_are_used() {
    let folder = TempDir::new().unwrap();
    let mut config = config(folder.path());
    config.limits.provisional_bytes = 0;
    let mut services = Services::open(config).unwrap();
    let (has_read, may_end) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (reads, ends) = (Arc::clone(&has_read), Arc::clone(&may_end));
    services.reader = Hooked::after(services.reader, move |_| {
        reads.store(true, Ordering::SeqCst);
        while !ends.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    let server = Server::over(folder, services).await;
    let dump = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(DUMP)).unwrap();
    let id = server.send(json!({}), &[("a.dmp", &dump)]).await;
    while !has_read.load(Ordering::SeqCst) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let kept = ok(server
        .symbols(Method::POST, symbol_file(DEBUG_ID, "n_plain_O2", "late(int)"))
        .await)
    .await;
    assert_eq!(kept["reports"], 0, "nobody is known to wait for it yet");
    // So that who has reports read again has looked before the report is noted.
    tokio::time::sleep(Duration::from_millis(200)).await;
    may_end.store(true, Ordering::SeqCst);
    server.innermost(&id, "late(int)").await;
}

/// Finds the same stack in every report, and remembers which it read.
#[derive(Debug, Default)]
struct OneStack {
    read: AtomicUsize,
    names: Mutex<std::collections::HashSet<String>>,
}

impl OneStack {
    fn report() -> Report {
        let mut report = Report::default();
        let module = "/opt/lib/libtrainer.so".to_owned();
        report.evidence.modules.push(Module {
            path: module.clone(),
            build_id: Some("a7".repeat(20)),
            ..Module::default()
        });
        report.evidence.threads.push(Thread {
            frames: vec![Frame {
                module: Some(module),
                ..Frame::default()
            }],
            id: ThreadId::Os(1),
            name: None,
            rank: None,
            pid: None,
            crashed: true,
            artifact: String::new(),
            frames_omitted: None,
            holds_gil: false,
            activity: None,
        });
        report
    }
}

impl ReadReports for OneStack {
    fn read(&self, input: &Input, folder: &Path) -> Result<Parts, ReadError> {
        self.read.fetch_add(1, Ordering::SeqCst);
        self.names.lock().unwrap().insert(input.metadata["name"].to_string());
        Ok(Self::report().store(folder)?)
    }
}

/// More than were ever read again at once.
const MANY: usize = 1100;

#[tokio::test(flavor = "multi_thread")]
async fn all_reports_that_wait_for_symbols_are_read_again_however_many() {
    let folder = TempDir::new().unwrap();
    let mut config = config(folder.path());
    // They share the syncs of the disk.
    config.workers.threads = 16;
    let mut services = Services::open(config).unwrap();
    let reader = Arc::new(OneStack::default());
    services.reader = Arc::clone(&reader) as Arc<dyn ReadReports>;
    let (stores, modules) = (services.stores.clone(), modules_of(&OneStack::report().evidence));
    assert_eq!(modules.len(), 1);
    let lease = Lease {
        owner: "before".to_owned(),
        span: Duration::from_secs(1000),
        lane: Lane::Any,
    };
    let outcome = Outcome {
        evidence: Some((StoredEvidence::default(), modules)),
        diagnosis: "{}".to_owned(),
        made_with: MadeWith::default(),
        summary: Summary::default(),
        causes: Vec::new(),
        kinds: Vec::new(),
        kin: Kin::default(),
    };
    let add = async |number: usize| {
        let mut metadata = Map::new();
        metadata.insert("name".into(), json!(number));
        let report = NewReport {
            id: ReportId::derive(&metadata, &[]),
            metadata,
            artifacts: Vec::new(),
            received: Timestamp::now(),
        };
        stores.records.create(&report).await.unwrap();
        stores.records.completed(&report.id).await.unwrap();
        stores.jobs.enqueue(&report.id, u64::MAX).await.unwrap();
        // Whichever of those that are added side by side.
        let job = stores.jobs.take(&lease).await.unwrap().unwrap();
        stores.outcomes.commit(&job, &outcome, 1).await.unwrap();
    };
    for first in (0..MANY).step_by(100) {
        join_all((first..first + 100).map(add)).await;
    }
    let server = Server::over(folder, services).await;
    let kept = ok(server.symbols(Method::POST, elf(&BUILD_ID, b"")).await).await;
    assert_eq!(kept["reports"], MANY);
    let deadline = Instant::now() + PATIENCE;
    while reader.names.lock().unwrap().len() < MANY {
        let read = reader.read.load(Ordering::SeqCst);
        assert!(Instant::now() < deadline, "{read} of {MANY}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
