//! What the tests share: a home of their own, and a server that says what it is told to.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// A home folder with nothing in it, and a folder to work in.
pub struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    /// An empty one.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir(folder.path().join("work")).expect("a folder to work in");
        Self { folder }
    }

    /// Where the tests' commands run.
    pub fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// Writes a file into the folder to work in.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.work().join(name);
        std::fs::create_dir_all(path.parent().expect("it has a folder")).expect("a folder");
        std::fs::write(&path, content).expect("a file");
        path
    }

    /// The program, with nothing of this machine's settings.
    pub fn whycrash(&self, arguments: &[&str]) -> Command {
        let mut command = self.isolated(env!("CARGO_BIN_EXE_whycrash"));
        command.args(arguments);
        command
    }

    /// Any program, set up as the tests set up ours.
    pub fn isolated(&self, program: &str) -> Command {
        let mut command = Command::new("env");
        // A test run started with nohup, or in the background of a script, ignores signals: our programs must not.
        command.args(["--default-signal", program]);
        command.current_dir(self.work()).stdin(Stdio::null());
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("WHYCRASH_")
                || text.starts_with("DEBUGINFOD")
                || text.starts_with("XDG_")
                || text.starts_with("PYTHON")
            {
                command.env_remove(&name);
            }
        }
        command.env("HOME", self.folder.path()).env("TZ", "UTC");
        // A busy machine may take its time: what is tested is what comes out.
        command.env("WHYCRASH_WAIT", "120s");
        command
    }

    /// Runs a job to its end, keeping a crash's report in `work/report`.
    pub fn run(&self, job: &[&str]) -> Output {
        let mut command = self.whycrash(&["run", "--output", "report", "--"]);
        command.args(job).output().expect("the program runs")
    }

    /// The context of the report that [`Self::run`] kept.
    pub fn context(&self) -> Value {
        let text = std::fs::read(self.work().join("report/context.json")).expect("a context was kept");
        serde_json::from_slice(&text).expect("it is JSON")
    }
}

/// Runs a shell script as a job.
pub fn sh(script: &str) -> [&str; 3] {
    ["sh", "-c", script]
}

/// Runs a Python program as a job.
pub fn python(program: &str) -> [&str; 3] {
    ["python3", "-c", program]
}

/// The interpreters of this machine, of each version that has one.
pub fn interpreters() -> Vec<String> {
    let names = (8..=14)
        .map(|minor| format!("python3.{minor}"))
        .chain(["python3".to_owned()]);
    let found = names.filter_map(|name| {
        let ask = ["-c", "import ctypes, sys; print(sys.executable)"];
        let answer = Command::new(name)
            .args(ask)
            .output()
            .ok()
            .filter(|answer| answer.status.success())?;
        Some(String::from_utf8_lossy(&answer.stdout).trim().to_owned())
    });
    let mut found: Vec<String> = found.collect();
    found.dedup();
    found
}

/// Standard error as text.
pub fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A request as the server got it.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Such as `GET /api/v1/search?q=oom`.
    pub line: String,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

/// What it answers: status, further headers, body.
pub struct Answer(pub u16, pub &'static str, pub String);

/// A server that answers as a test wants and remembers what it was asked.
pub struct Server {
    pub address: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    /// Answers requests until the test ends.
    pub fn start(answer: impl Fn(&Request) -> Answer + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let Some(request) = read(&stream) else { continue };
                seen.lock().expect("no panic elsewhere").push(request.clone());
                let Answer(status, headers, body) = answer(&request);
                let length = body.len();
                let _ = write!(
                    &stream,
                    "HTTP/1.1 {status} Status\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
                );
            }
        });
        Self { address, requests }
    }

    /// What was asked so far.
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().expect("no panic elsewhere").clone()
    }

    /// The first lines of what was asked, without the protocol.
    pub fn lines(&self) -> Vec<String> {
        self.requests().into_iter().map(|request| request.line).collect()
    }
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut request = Request {
        line: line.trim().trim_end_matches(" HTTP/1.1").to_owned(),
        ..Request::default()
    };
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim().split_once(": ") else {
            break;
        };
        request.headers.insert(name.to_lowercase(), value.to_owned());
    }
    let length = request
        .headers
        .get("content-length")
        .and_then(|length| length.parse().ok())
        .unwrap_or(0);
    reader.take(length).read_to_end(&mut request.body).ok()?;
    Some(request)
}

/// Names of the files in a folder, in order.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// The id that every report gets.
pub const ID: &str = "0123456789abcdef0123456789abcdef";

/// Wants every artifact that came without its bytes.
pub fn accept(request: &Request) -> Answer {
    let report: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let artifacts = report["artifacts"].as_array().cloned().unwrap_or_default();
    let wants: Vec<Value> = artifacts
        .into_iter()
        .filter(|artifact| artifact["data"].is_null())
        .collect();
    let url = format!("http://example.org/reports/{ID}");
    Answer(
        201,
        "",
        json!({"id": ID, "url": url, "state": "uploading", "wants": wants, "findings": []}).to_string(),
    )
}
