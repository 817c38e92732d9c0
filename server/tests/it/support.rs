//! A real server on a loopback port over a folder of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;
use whycrash_plugin_host::Input;
use whycrash_reading::stored::Parts;
use whycrash_server::config::Config;
use whycrash_server::reading::{ReadError, ReadReports};
use whycrash_server::serve::{self, Running};
use whycrash_server::services::Services;
use whycrash_server::store::{Digest, ReportId};

/// How long anything may take before a test fails.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A client of the library's. All goes to loopback without TLS, but the library wants one named.
pub fn client() -> Client {
    // An error says that it was done before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::new()
}

/// A server that ends with the test.
pub struct Server {
    pub client: Client,
    pub folder: TempDir,
    running: Running,
}

/// Settings for a server of a test.
pub fn config(folder: &Path) -> Config {
    let mut config = Config {
        listen: "127.0.0.1:0".parse().unwrap(),
        data: folder.join("data"),
        // This program is the tests', and not the server's.
        reader: Some(env!("CARGO_BIN_EXE_whycrash-server").into()),
        ..Config::default()
    };
    config.local_symbols = false;
    config.workers.threads = 1;
    config.workers.retry_seconds = 0;
    config.limits.reserved_disk_bytes = 0;
    config
}

impl Server {
    /// A server with default settings.
    pub async fn start() -> Self {
        Self::with(|_| {}).await
    }

    /// A server with changed settings.
    pub async fn with(change: impl FnOnce(&mut Config)) -> Self {
        let folder = TempDir::new().unwrap();
        let mut config = config(folder.path());
        change(&mut config);
        Self::over(folder, Services::open(config).unwrap()).await
    }

    /// A server over these services.
    pub async fn over(folder: TempDir, services: Services) -> Self {
        Self {
            client: client(),
            folder,
            running: serve::start(services).await.unwrap(),
        }
    }

    /// Stops the server, lets `change` have its folder of data, and starts another over it.
    pub async fn restart(self, change: impl FnOnce(&Path)) -> Self {
        self.restart_with(change, |_| {}).await
    }

    /// The same with changed settings.
    pub async fn restart_with(self, change: impl FnOnce(&Path), set: impl Fn(&mut Config)) -> Self {
        self.running.stop().await.unwrap();
        change(&self.folder.path().join("data"));
        let deadline = Instant::now() + PATIENCE;
        // The threads of the old server let go of the folder's lock a moment after it has ended.
        let services = loop {
            let mut config = config(self.folder.path());
            set(&mut config);
            match Services::open(config) {
                Ok(services) => break services,
                Err(error) => assert!(Instant::now() < deadline, "{error:#}"),
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        };
        Self::over(self.folder, services).await
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.running.address())
    }

    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, self.url(path))
    }

    pub fn get(&self, path: &str) -> RequestBuilder {
        self.request(Method::GET, path)
    }

    pub fn post(&self, path: &str) -> RequestBuilder {
        self.request(Method::POST, path)
    }

    pub fn put(&self, path: &str) -> RequestBuilder {
        self.request(Method::PUT, path)
    }

    /// The JSON at a path that must answer 200.
    pub async fn json(&self, path: &str) -> Value {
        ok(self.get(path).send().await.unwrap()).await
    }

    /// Sends a report whose artifacts are all inline; its id.
    pub async fn send(&self, metadata: Value, artifacts: &[(&str, &[u8])]) -> String {
        let body =
            json!({"metadata": metadata, "artifacts": artifacts.iter().map(|(n, d)| inline(n, d)).collect::<Vec<_>>()});
        let answer = self.post("/api/v1/reports").json(&body).send().await.unwrap();
        let answer = ok(answer).await;
        answer["id"].as_str().unwrap().to_owned()
    }

    /// The document of a report once it is done or has failed, and searches find it.
    pub async fn processed(&self, id: &str) -> Value {
        let path = format!("/api/v1/reports/{id}");
        let document = self
            .until(&path, |document| {
                matches!(document["state"].as_str(), Some("done" | "failed" | "quarantined"))
            })
            .await;
        self.indexed().await;
        document
    }

    /// Waits until no report is to be read or diagnosed.
    pub async fn idle(&self) {
        self.until_jobs(|none| none("queued") && none("running")).await;
    }

    /// Waits until a report is being read or diagnosed.
    pub async fn working(&self) {
        self.until_jobs(|none| !none("running")).await;
    }

    /// Waits until jobs are as they should be; `good` is told whether there are none in a state.
    async fn until_jobs(&self, good: impl Fn(&dyn Fn(&str) -> bool) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let metrics = self.get("/metrics").send().await.unwrap().text().await.unwrap();
            let none = |state: &str| metrics.contains(&format!("whycrash_jobs{{state=\"{state}\"}} 0\n"));
            if good(&none) {
                return;
            }
            assert!(Instant::now() < deadline, "jobs are not as they should be: {metrics}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until the index has everything.
    pub async fn indexed(&self) {
        self.until("/readyz", |ready| {
            ready["status"] == "ready" && ready["index"]["waiting"] == 0
        })
        .await;
    }

    /// The JSON at a path once it is as it should be.
    pub async fn until(&self, path: &str, good: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let value = self.json(path).await;
            if good(&value) {
                return value;
            }
            assert!(Instant::now() < deadline, "{path} is still {value}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// The files under a folder of the server's data.
    pub fn files(&self, folder: &str) -> Vec<PathBuf> {
        let mut folders = vec![self.folder.path().join("data").join(folder)];
        let mut files = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                match entry.path().is_dir() {
                    true => folders.push(entry.path()),
                    false => files.push(entry.path()),
                }
            }
        }
        files
    }

    /// What a search finds.
    pub async fn find(&self, query: &str) -> Value {
        let query: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
        self.json(&format!("/api/v1/search?q={query}")).await
    }
}

/// An artifact with its bytes inline.
pub fn inline(name: &str, data: &[u8]) -> Value {
    use base64::Engine as _;
    json!({"name": name, "data": base64::engine::general_purpose::STANDARD.encode(data)})
}

/// An artifact whose bytes are to follow.
pub fn declared(name: &str, data: &[u8]) -> Value {
    json!({"name": name, "bytes": data.len(), "sha256": Digest::of(data).as_str()})
}

/// The id a report with these must have.
pub fn id_of(metadata: &Value, artifacts: &[(&str, &[u8])]) -> String {
    let pairs: Vec<_> = artifacts
        .iter()
        .map(|(name, data)| ((*name).to_owned(), Digest::of(data)))
        .collect();
    ReportId::derive(metadata.as_object().unwrap(), &pairs).to_string()
}

/// The JSON of an answer that must be a success.
pub async fn ok(answer: Response) -> Value {
    let status = answer.status();
    let text = answer.text().await.unwrap();
    assert!(status.is_success(), "{status}: {text}");
    serde_json::from_str(&text).unwrap()
}

/// The problem document of an answer that must be one with this status and code.
pub async fn problem(answer: Response, status: u16, code: &str) -> Value {
    let (actual, kind) = (answer.status(), answer.headers().get("content-type").cloned());
    let text = answer.text().await.unwrap();
    assert_eq!(actual, StatusCode::from_u16(status).unwrap(), "{text}");
    assert_eq!(kind.unwrap(), "application/problem+json");
    let problem: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(problem["code"], code, "{text}");
    assert_eq!(problem["status"], status);
    for member in ["type", "title", "detail", "hint"] {
        assert!(
            problem[member].as_str().is_some_and(|text| !text.is_empty()),
            "{member} in {text}"
        );
    }
    problem
}

/// A form body and its content type.
pub fn form(parts: &[(&str, Option<&str>, &[u8])]) -> (String, Vec<u8>) {
    let boundary = "between-the-parts";
    let mut body = Vec::new();
    for (name, file, data) in parts {
        let file = file.map(|file| format!("; filename=\"{file}\"")).unwrap_or_default();
        let head = format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n");
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(data);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    (format!("multipart/form-data; boundary={boundary}"), body)
}

/// Bytes that look random and are the same every time.
pub fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

/// A log that every reader knows: a Python traceback of an exhausted GPU.
pub fn traceback(gib: &str) -> String {
    format!(
        "step 100 loss 2.31\nTraceback (most recent call last):\n  File \"train.py\", line 41, in <module>\n    loss = step(model, batch)\n  File \
         \"train.py\", line 12, in step\n    return model(batch)\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate {gib} GiB. \
         GPU 0 has a total capacity of 79.15 GiB of which 1.25 GiB is free. Including non-PyTorch memory, this process has 77.90 GiB \
         memory in use. Of the allocated memory 60.00 GiB is allocated by PyTorch, and 16.50 GiB is reserved by PyTorch but unallocated. \
         If reserved but unallocated memory is large try setting PYTORCH_ALLOC_CONF=expandable_segments:True to avoid fragmentation.\n"
    )
}

/// A reader that lets a test in before and after it reads.
pub struct Hooked {
    inner: Arc<dyn ReadReports>,
    before: Hook,
    after: Hook,
}

type Hook = Box<dyn Fn(&Input) + Send + Sync>;

impl std::fmt::Debug for Hooked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hooked").finish_non_exhaustive()
    }
}

impl Hooked {
    pub fn before(inner: Arc<dyn ReadReports>, hook: impl Fn(&Input) + Send + Sync + 'static) -> Arc<dyn ReadReports> {
        let (before, after): (Hook, Hook) = (Box::new(hook), Box::new(|_| {}));
        Arc::new(Self { inner, before, after })
    }

    pub fn after(inner: Arc<dyn ReadReports>, hook: impl Fn(&Input) + Send + Sync + 'static) -> Arc<dyn ReadReports> {
        let (before, after): (Hook, Hook) = (Box::new(|_| {}), Box::new(hook));
        Arc::new(Self { inner, before, after })
    }
}

impl ReadReports for Hooked {
    fn read(&self, input: &Input, folder: &Path) -> Result<Parts, ReadError> {
        let before = catch_unwind(AssertUnwindSafe(|| (self.before)(input)));
        if let Err(panic) = before {
            let words = panic.downcast_ref::<String>().cloned();
            return Err(ReadError::Panicked(words.unwrap_or_default()));
        }
        let read = self.inner.read(input, folder);
        (self.after)(input);
        read
    }
}
