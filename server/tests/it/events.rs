//! How far reports have come, told as it happens: to a bounded number of clients, whatever they do.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use reqwest::Response;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use whycrash_server::config::Config;
use whycrash_server::services::Services;
use whycrash_server::watching::Watching;

use crate::support::{Hooked, PATIENCE, Server, config};

/// A server that reads nothing before it is allowed to.
struct Held {
    server: Server,
    watching: Arc<Watching>,
    open: Arc<AtomicBool>,
}

impl Held {
    async fn with(change: impl FnOnce(&mut Config)) -> Self {
        let folder = TempDir::new().unwrap();
        let mut config = config(folder.path());
        config.limits.provisional_bytes = 0;
        change(&mut config);
        let mut services = Services::open(config).unwrap();
        let open = Arc::new(AtomicBool::new(false));
        let gate = Arc::clone(&open);
        services.reader = Hooked::before(services.reader, move |_| {
            while !gate.load(Ordering::Acquire) {
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let watching = Arc::clone(&services.watching);
        Self {
            server: Server::over(folder, services).await,
            watching,
            open,
        }
    }

    async fn send(&self, name: &str) -> String {
        self.server.send(json!({}), &[(name, b"a line\n")]).await
    }

    async fn watch(&self, id: &str) -> Response {
        let path = format!("/api/v1/reports/{id}/events");
        self.server.get(&path).send().await.unwrap()
    }

    fn release(&self) {
        self.open.store(true, Ordering::Release);
    }

    /// Waits until so many reports are watched.
    async fn until_watched(&self, count: usize) {
        let deadline = Instant::now() + PATIENCE;
        while self.watching.watched() != count {
            assert!(Instant::now() < deadline, "{} are watched", self.watching.watched());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.release();
    }
}

/// The next event, or nothing at the end.
async fn next(stream: &mut Response) -> Option<Value> {
    let chunk = tokio::time::timeout(PATIENCE, stream.chunk()).await.expect("an event");
    let text = String::from_utf8(chunk.unwrap()?.to_vec()).unwrap();
    let data = text
        .strip_prefix("event: progress\ndata: ")
        .expect("an event with progress");
    Some(serde_json::from_str(data.trim()).unwrap())
}

#[tokio::test]
async fn who_watches_a_report_is_told_when_it_was_read() {
    let held = Held::with(|_| {}).await;
    let id = held.send("train.log").await;
    let mut first = held.watch(&id).await;
    let mut second = held.watch(&id).await;
    assert_eq!(first.headers()["content-type"], "text/event-stream");
    for stream in [&mut first, &mut second] {
        assert_eq!(next(stream).await.unwrap()["state"], "processing");
    }
    assert_eq!(held.watching.watched(), 1, "the store is asked once for both");
    held.release();
    for stream in [&mut first, &mut second] {
        let told = next(stream).await.unwrap();
        assert_eq!(told["state"], "done");
        let path = format!("/api/v1/reports/{id}/state");
        assert_eq!(told, held.server.json(&path).await);
        assert!(next(stream).await.is_none(), "there is no more to tell");
    }
    held.until_watched(0).await;
    let mut late = held.watch(&id).await;
    assert_eq!(next(&mut late).await.unwrap()["state"], "done");
    assert!(next(&mut late).await.is_none());
}

#[tokio::test]
async fn the_store_is_asked_nothing_when_the_last_watcher_has_left() {
    let held = Held::with(|_| {}).await;
    let id = held.send("train.log").await;
    let mut stream = held.watch(&id).await;
    next(&mut stream).await.unwrap();
    assert_eq!(held.watching.watched(), 1);
    drop(stream);
    held.until_watched(0).await;
}

#[tokio::test]
async fn watchers_are_bounded_and_their_places_come_back() {
    let held = Held::with(|config| config.limits.watchers = 2).await;
    let id = held.send("train.log").await;
    let (mut one, two) = (held.watch(&id).await, held.watch(&id).await);
    let refused = held.watch(&id).await;
    assert_eq!(refused.status(), 429);
    assert!(refused.headers().contains_key("retry-after"));
    assert_eq!(refused.json::<Value>().await.unwrap()["code"], "too-many-requests");
    next(&mut one).await.unwrap();
    drop(two);
    let deadline = Instant::now() + PATIENCE;
    while held.watch(&id).await.status() != 200 {
        assert!(Instant::now() < deadline, "the place does not come back");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn watching_ends_after_a_while_and_begins_anew() {
    let held = Held::with(|config| config.limits.watch_seconds = 1).await;
    let id = held.send("train.log").await;
    let mut stream = held.watch(&id).await;
    next(&mut stream).await.unwrap();
    assert!(next(&mut stream).await.is_none(), "it ends without news");
    held.until_watched(0).await;
    assert_eq!(held.watch(&id).await.status(), 200);
}

#[tokio::test]
async fn clients_that_take_nothing_keep_nobody_waiting() {
    let held = Held::with(|config| {
        config.limits.watchers = 64;
        config.limits.watch_seconds = 2;
    })
    .await;
    let id = held.send("train.log").await;
    let address = held.server.url("").replace("http://", "");
    let mut silent = Vec::new();
    for _ in 0..64 {
        let mut stream = TcpStream::connect(&address).await.unwrap();
        let request = format!("GET /api/v1/reports/{id}/events HTTP/1.1\r\nhost: {address}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        silent.push(stream);
    }
    held.until_watched(1).await;
    held.release();
    assert_eq!(held.server.processed(&id).await["state"], "done");
    held.until_watched(0).await;
    let mut stream = held.watch(&id).await;
    assert_eq!(
        next(&mut stream).await.unwrap()["state"],
        "done",
        "the places are free again"
    );
}

#[tokio::test]
async fn a_report_that_is_deleted_ends_its_watching_and_an_unknown_one_is_not_found() {
    let held = Held::with(|_| {}).await;
    let id = held.send("train.log").await;
    let mut stream = held.watch(&id).await;
    next(&mut stream).await.unwrap();
    let path = format!("/api/v1/reports/{id}");
    held.server
        .request(reqwest::Method::DELETE, &path)
        .send()
        .await
        .unwrap();
    assert!(next(&mut stream).await.is_none());
    assert_eq!(held.watch(&id).await.status(), 404);
}

#[tokio::test]
async fn a_server_that_stops_does_not_wait_for_watchers() {
    let held = Held::with(|_| {}).await;
    let id = held.send("train.log").await;
    let mut stream = held.watch(&id).await;
    next(&mut stream).await.unwrap();
    held.watching.end();
    assert!(next(&mut stream).await.is_none());
}
