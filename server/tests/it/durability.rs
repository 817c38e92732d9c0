//! What was acknowledged survives anything, and is processed once.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use reqwest::Client;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::watch;

use crate::support::{PATIENCE, client, declared, inline, noise, ok};

const ROUNDS: u64 = 40;

/// The real binary over a folder.
pub struct Process {
    child: Child,
    url: String,
    /// What it said before it listened.
    started: Vec<String>,
}

impl Process {
    /// Starts the binary as it is.
    pub fn start(data: &Path) -> Self {
        Self::spawn(Command::new(env!("CARGO_BIN_EXE_whycrash-server")), data)
    }

    /// Starts the binary through `command` and waits until it says where it listens.
    pub fn spawn(mut command: Command, data: &Path) -> Self {
        let mut child = command
            .args(["--listen", "127.0.0.1:0", "--log-format", "json", "--data"])
            .arg(data)
            .env("RUST_LOG", "info")
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut seen = Vec::new();
        let url = loop {
            let line = log
                .next()
                .unwrap_or_else(|| panic!("the server ended: {seen:#?}"))
                .unwrap();
            if let Some((_, url)) = line.split_once("listening on ") {
                break url.split('"').next().unwrap_or_default().to_owned();
            }
            seen.push(line);
        };
        // The pipe must not fill up.
        std::thread::spawn(move || log.for_each(drop));
        Self {
            child,
            url,
            started: seen,
        }
    }

    /// Where it answers.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends one report in the manner that its number picks; the id once it was acknowledged as complete.
async fn send(client: &Client, url: &str, number: u64) -> Option<String> {
    let log = format!("RuntimeError: crash number{number}\n");
    let metadata = json!({"number": number});
    if number.is_multiple_of(2) {
        let body = json!({"metadata": metadata, "artifacts": [inline("train.log", log.as_bytes())]});
        let answer = client
            .post(format!("{url}/api/v1/reports"))
            .json(&body)
            .send()
            .await
            .ok()?;
        return answer.json::<Value>().await.ok()?["id"].as_str().map(str::to_owned);
    }
    let core = noise(200_000, number);
    let body =
        json!({"metadata": metadata, "artifacts": [declared("core", &core), inline("train.log", log.as_bytes())]});
    let answer = client
        .post(format!("{url}/api/v1/reports"))
        .json(&body)
        .send()
        .await
        .ok()?;
    let id = answer.json::<Value>().await.ok()?["id"].as_str()?.to_owned();
    let report = format!("{url}/api/v1/reports/{id}");
    client
        .put(format!("{report}/artifacts/core"))
        .body(core)
        .send()
        .await
        .ok()?;
    let complete = client.post(format!("{report}/complete")).send().await.ok()?;
    complete.status().is_success().then_some(id)
}

/// Sends reports until the server is killed, a pause after so many of them were acknowledged.
async fn round(process: &mut Process, client: &Client, first: u64, least: usize, pause: Duration) -> Vec<String> {
    let (acknowledged, mut count) = watch::channel(Vec::new());
    let url = process.url.clone();
    let sending = async {
        for number in first.. {
            match send(client, &url, number).await {
                Some(id) => acknowledged.send_modify(|ids| ids.push(id)),
                None => break,
            }
        }
    };
    let killing = async {
        let enough = tokio::time::timeout(PATIENCE, count.wait_for(|ids| ids.len() >= least));
        // What it gives holds a lock, under which no other could be counted.
        let enough = enough.await.is_ok();
        assert!(enough, "the server acknowledges nothing");
        tokio::time::sleep(pause).await;
        process.kill();
    };
    tokio::join!(sending, killing);
    acknowledged.borrow().clone()
}

async fn get_json(client: &Client, process: &Process, path: &str) -> Value {
    ok(client.get(format!("{}{path}", process.url)).send().await.unwrap()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_survives_kill_9() {
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("data");
    let client = client();
    let mut acknowledged = Vec::new();
    for number in 0..ROUNDS {
        let mut process = Process::start(&data);
        // From before the first answer to the middle of processing.
        let pause = Duration::from_millis(number * 37 % 150);
        acknowledged.extend(round(&mut process, &client, number * 1000, number as usize % 2, pause).await);
    }

    let process = Process::start(&data);
    let get = async |path: String| {
        ok(client
            .get(format!("{}/api/v1{path}", process.url))
            .send()
            .await
            .unwrap())
        .await
    };
    let deadline = Instant::now() + PATIENCE;
    for id in &acknowledged {
        loop {
            let document = get(format!("/reports/{id}")).await;
            if document["state"] == "done" {
                break;
            }
            assert!(
                document["state"] == "processing" && Instant::now() < deadline,
                "{id}: {document}"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    while get_json(&client, &process, "/readyz").await["index"]["waiting"] != 0 {
        assert!(Instant::now() < deadline, "the index does not follow");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let (mut found, mut after) = (Vec::new(), String::new());
    loop {
        let page = get(format!("/search?limit=200&facet_values=0{after}")).await;
        found.extend(
            page["hits"]
                .as_array()
                .unwrap()
                .iter()
                .map(|hit| hit["id"].as_str().unwrap().to_owned()),
        );
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    let unique: BTreeSet<&String> = found.iter().collect();
    assert_eq!(unique.len(), found.len(), "each report is in the index once");
    assert!(
        acknowledged.iter().all(|id| unique.contains(id)),
        "each acknowledged report is in the index"
    );
    let metrics = client
        .get(format!("{}/metrics", process.url))
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    assert!(metrics.contains("whycrash_jobs{state=\"queued\"} 0"), "{metrics}");
    assert!(metrics.contains("whycrash_jobs{state=\"failed\"} 0"), "{metrics}");
}

/// The kernel refuses to let files grow, as on a full disk: answers are 507, nothing is lost, nothing half-written.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_takes_no_more_loses_nothing() {
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("data");
    let client = client();
    let mut limited = Command::new("sh");
    // 512-byte blocks; without the trap the kernel would end the process where it only shall not write on.
    limited.args([
        "-c",
        "trap '' XFSZ; ulimit -f 4096; exec \"$0\" \"$@\"",
        env!("CARGO_BIN_EXE_whycrash-server"),
    ]);
    let process = Process::spawn(limited, &data);
    let small = send(&client, &process.url, 1).await.unwrap();
    let core = noise(4 << 20, 1);
    let body = json!({"artifacts": [declared("core", &core)]});
    let answer = client
        .post(format!("{}/api/v1/reports", process.url))
        .json(&body)
        .send()
        .await
        .unwrap();
    let large = ok(answer).await["id"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/reports/{large}/artifacts/core");
    let first = client
        .put(format!("{}{path}", process.url))
        .header("Upload-Offset", "0")
        .body(core[..1 << 20].to_vec());
    assert_eq!(ok(first.send().await.unwrap()).await["offset"], 1 << 20);
    let rest = client
        .put(format!("{}{path}", process.url))
        .header("Upload-Offset", (1 << 20).to_string());
    let refused = rest.body(core[1 << 20..].to_vec()).send().await.unwrap();
    crate::support::problem(refused, 507, "disk-full").await;
    let head = client.head(format!("{}{path}", process.url)).send().await.unwrap();
    assert_eq!(
        head.headers()["upload-offset"],
        (1 << 20).to_string(),
        "the chunk before is still there"
    );
    drop(process);

    let process = Process::start(&data);
    let rest = client
        .put(format!("{}{path}", process.url))
        .header("Upload-Offset", (1 << 20).to_string());
    assert_eq!(
        ok(rest.body(core[1 << 20..].to_vec()).send().await.unwrap()).await["stored"],
        true
    );
    let document = ok(client
        .get(format!("{}/api/v1/reports/{small}", process.url))
        .send()
        .await
        .unwrap())
    .await;
    assert!(
        document["state"] == "done" || document["state"] == "processing",
        "{document}"
    );
}

#[tokio::test]
async fn whoever_starts_one_for_the_first_time_is_warned_of_nothing() {
    let folder = TempDir::new().unwrap();
    let mut process = Process::start(folder.path());
    let says_warning = |line: &&String| line.contains(r#""level":"WARN""#) || line.contains(r#""level":"ERROR""#);
    let warnings: Vec<_> = process.started.iter().filter(says_warning).collect();
    assert!(warnings.is_empty(), "{warnings:?}");

    // That its index is lost is another matter, once there is something in it.
    let report = json!({"artifacts": [inline("train.log", b"RuntimeError: it broke\n")]});
    let address = format!("{}/api/v1/reports", process.url());
    let (client, since) = (client(), Instant::now());
    ok(client.post(address).json(&report).send().await.unwrap()).await;
    while get_json(&client, &process, "/api/v1/search?q=broke").await["total"] != 1 {
        assert!(since.elapsed() < PATIENCE, "it is not found");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    process.kill();
    fs::remove_dir_all(folder.path().join("index")).unwrap();
    let process = Process::start(folder.path());
    let warnings: Vec<_> = process.started.iter().filter(says_warning).collect();
    assert!(
        warnings.len() == 1 && warnings[0].contains("the index is gone"),
        "{warnings:?}"
    );
}

#[test]
fn a_folder_has_one_server() {
    let folder = TempDir::new().unwrap();
    let _process = Process::start(folder.path());
    let second = Command::new(env!("CARGO_BIN_EXE_whycrash-server"))
        .args(["--listen", "127.0.0.1:0", "--data"])
        .arg(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&second.stderr);
    assert!(
        !second.status.success() && said.contains("another server uses the data folder"),
        "{said}"
    );
}

#[test]
fn a_lock_that_outlives_its_server_for_a_moment_is_waited_for() {
    let folder = TempDir::new().unwrap();
    let lock = File::create(folder.path().join("lock")).unwrap();
    lock.lock().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(500));
            drop(lock);
        });
        Process::start(folder.path());
    });
}

/// `token`, `reindex` and a clean stop, as an operator uses them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn operators_use_the_binary() {
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("data");
    let client = client();
    let mut process = Process::start(&data);
    let id = send(&client, &process.url, 1).await.unwrap();
    let stop = Command::new("kill")
        .args(["-TERM", &process.child.id().to_string()])
        .status()
        .unwrap();
    assert!(
        stop.success() && process.child.wait().unwrap().success(),
        "a server that is told to stop ends well"
    );

    let run = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_whycrash-server"))
            .args(args)
            .arg("--data")
            .arg(&data)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    };
    std::fs::remove_dir_all(data.join("index")).unwrap();
    assert!(run(&["reindex"]).contains("read 1 reports again, 0 failed"));
    assert!(run(&["maintain"]).starts_with("removed 0 old reports, "));
    let secret = run(&["token", "create", "--scope", "read", "--name", "desk"])
        .trim()
        .to_owned();
    assert!(run(&["token", "list"]).starts_with("desk\tread\t"));

    let process = Process::start(&data);
    let search = || client.get(format!("{}/api/v1/search?q=number1", process.url));
    assert_eq!(search().send().await.unwrap().status(), 401);
    let found = ok(search().bearer_auth(&secret).send().await.unwrap()).await;
    assert_eq!(found["hits"][0]["id"], id);
    run(&["token", "revoke", "desk"]);
    assert_eq!(search().bearer_auth(&secret).send().await.unwrap().status(), 401);
}
