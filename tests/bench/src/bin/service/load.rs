//! Clients: those that send reports, and one that searches.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::json;

use crate::server::{Server, client};

/// Between searches, so that they measure the server and do not load it.
const PAUSE: Duration = Duration::from_millis(10);

/// Sends reports of these numbers by so many clients at one time; each is acknowledged when this returns.
pub fn send_all(server: &Server, numbers: Range<usize>, senders: usize) -> Result<()> {
    let next = AtomicUsize::new(numbers.start);
    std::thread::scope(|scope| {
        let send = || -> Result<()> {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= numbers.end {
                    return Ok(());
                }
                send(server, number)?;
            }
        };
        let threads: Vec<_> = (0..senders).map(|_| scope.spawn(send)).collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

fn send(server: &Server, number: usize) -> Result<()> {
    let body = json!({
        "metadata": {"host": format!("node-{}", number % 50), "job": number},
        "artifacts": [{"name": "train.log", "data": BASE64.encode(log(number))}],
    });
    loop {
        let answer = server
            .client
            .post(format!("{}/api/v1/reports", server.url))
            .json(&body)
            .send()?;
        // Back-pressure is an answer too.
        if answer.status().as_u16() == 503 || answer.status().as_u16() == 429 {
            std::thread::sleep(Duration::from_millis(100));
            continue;
        }
        ensure!(answer.status().is_success(), "{}: {}", answer.status(), answer.text()?);
        return Ok(());
    }
}

/// The end of a training log, of a few kilobytes, with a failure that differs from the next one's.
fn log(number: usize) -> String {
    let steps: String = (0..30)
        .map(|step| {
            format!(
                "[{number}] step {step} | loss {:.4} | lr 3e-4 | 412 ms\n",
                10.0 / f64::from(step + 1)
            )
        })
        .collect();
    let gib = 2 + number % 40;
    format!(
        "{steps}Traceback (most recent call last):\n  File \"/job/train.py\", line {}, in <module>\n    main()\n  File \
         \"/job/train.py\", line 61, in main\n    loss.backward()\ntorch.OutOfMemoryError: CUDA out of memory. Tried to \
         allocate {gib}.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.20 GiB is free. Process 4711 has 77.95 \
         GiB memory in use. Of the allocated memory 75.10 GiB is allocated by PyTorch, and 1.02 GiB is reserved by PyTorch \
         but unallocated.\n",
        100 + number % 7
    )
}

/// A client that searches again and again.
pub struct Search {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<Vec<f64>>>,
}

impl Search {
    /// Seconds that each of so many searches took.
    pub fn times(server: &Server, count: usize) -> Result<Vec<f64>> {
        let client = client()?;
        let once = |number| search(&client, &server.url, number);
        (0..count).map(once).collect()
    }

    /// Begins to search.
    pub fn start(server: &Server) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (is_over, url) = (Arc::clone(&stop), server.url.clone());
        let thread = std::thread::spawn(move || {
            // Not the senders': a client's requests share one thread, and its queue is not the server's.
            let client = client()?;
            let mut times = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                times.push(search(&client, &url, times.len())?);
            }
            Ok(times)
        });
        Self { stop, thread }
    }

    /// Ends it; seconds that each search took.
    pub fn stop(self) -> Result<Vec<f64>> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

fn search(client: &reqwest::blocking::Client, url: &str, number: usize) -> Result<f64> {
    let queries = [
        "out+of+memory",
        "cause:oom-exhaustion",
        "host:node-7",
        "backward+loss",
        "-step",
    ];
    let query = queries[number % queries.len()];
    std::thread::sleep(PAUSE);
    let started = Instant::now();
    let answer = client.get(format!("{url}/api/v1/search?q={query}")).send()?;
    ensure!(
        answer.status().is_success(),
        "a search was answered {}",
        answer.status()
    );
    answer.bytes()?;
    Ok(started.elapsed().as_secs_f64())
}
