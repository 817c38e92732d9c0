//! Healthy clients: they send small crashes and search, as on any day.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::blocking::Client;
use serde_json::{Value, json};

use crate::client::client;

/// From the start of one request of a healthy client to the start of its next, at the least, where many are to be under
/// way when something happens.
pub const BRISK: Duration = Duration::from_millis(40);
/// The same where they are only to notice what others do, however long that takes.
pub const CALM: Duration = Duration::from_millis(600);

/// What healthy clients saw.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// How long each upload took until it was acknowledged.
    pub uploads: Vec<Duration>,
    /// How long each search took.
    pub searches: Vec<Duration>,
    /// Reports that were acknowledged.
    pub acknowledged: Vec<String>,
    /// Answers that were no success, by status.
    pub refused: Vec<String>,
}

/// Healthy clients at work.
#[derive(Debug)]
pub struct Load {
    stop: Arc<AtomicBool>,
    seen: Arc<Mutex<Seen>>,
    clients: Vec<JoinHandle<()>>,
}

/// Numbers healthy reports over all loads, so that each is another report.
static NUMBER: AtomicU64 = AtomicU64::new(0);

impl Load {
    /// Starts one client that uploads and one that searches, at this pace.
    pub fn start(address: SocketAddr, pace: Duration) -> anyhow::Result<Self> {
        let (stop, seen) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Seen::default())));
        let client = client(Duration::from_secs(60))?;
        let act = |act: fn(&Client, SocketAddr, &Mutex<Seen>)| {
            let (stop, seen, client) = (Arc::clone(&stop), Arc::clone(&seen), client.clone());
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let started = Instant::now();
                    act(&client, address, &seen);
                    std::thread::sleep(pace.saturating_sub(started.elapsed()));
                }
            })
        };
        let clients = vec![act(upload), act(search)];
        Ok(Self { stop, seen, clients })
    }

    /// Waits until they were acknowledged something; on a busy machine that takes a while.
    pub fn wait_for_one(&self, within: Duration) {
        let deadline = Instant::now() + within;
        let has_one = || {
            let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            !seen.acknowledged.is_empty()
        };
        while !has_one() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// What they saw since this was asked last.
    pub fn latest(&self) -> Seen {
        std::mem::take(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Ends them; what they saw since then.
    pub fn stop(self) -> Seen {
        self.stop.store(true, Ordering::Relaxed);
        for client in self.clients {
            // A client that panicked has seen what it has seen.
            let _ = client.join();
        }
        std::mem::take(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Seen {
    /// Adds what was seen later.
    pub fn add(&mut self, later: Self) {
        self.uploads.extend(later.uploads);
        self.searches.extend(later.searches);
        self.acknowledged.extend(later.acknowledged);
        self.refused.extend(later.refused);
    }
}

fn upload(client: &Client, address: SocketAddr, seen: &Mutex<Seen>) {
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let log = format!(
        "epoch 3 step {number} loss 2.31\nTraceback (most recent call last):\n  File \"train.py\", line 41, in <module>\n    \
         loss = step(model, batch)\n  File \"train.py\", line 12, in step\n    return model(batch)\nIndexError: index {number} \
         is out of bounds for dimension 0 with size 10\n"
    );
    let artifact = json!({"name": "train.log", "data": STANDARD.encode(log)});
    let body = json!({"metadata": {"host": "healthy", "number": number}, "artifacts": [artifact]});
    let started = Instant::now();
    let answer = client
        .post(format!("http://{address}/api/v1/reports"))
        .json(&body)
        .send();
    let took = started.elapsed();
    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    match answer {
        Ok(answer) if answer.status().is_success() => {
            let document: Value = answer.json().unwrap_or_default();
            seen.uploads.push(took);
            seen.acknowledged.extend(document["id"].as_str().map(str::to_owned));
        }
        Ok(answer) => seen.refused.push(format!("upload: {}", answer.status())),
        Err(error) => seen.refused.push(format!("upload: {error}")),
    }
}

fn search(client: &Client, address: SocketAddr, seen: &Mutex<Seen>) {
    let started = Instant::now();
    let answer = client
        .get(format!("http://{address}/api/v1/search?q=IndexError+host:healthy"))
        .send();
    let answer = answer.and_then(|answer| answer.error_for_status()?.bytes().map(drop));
    let took = started.elapsed();
    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    match answer {
        Ok(()) => seen.searches.push(took),
        Err(error) => seen.refused.push(format!("search: {error}")),
    }
}

/// The time within which this part of all requests ended.
pub fn quantile(times: &[Duration], part: f64) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    let at = (times.len() as f64 * part) as usize;
    times
        .get(at.min(times.len().saturating_sub(1)))
        .copied()
        .unwrap_or_default()
}
