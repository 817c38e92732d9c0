//! One hostile client: what it does, and what may come of it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::wire::{self, Answer, Step};

/// How long a client waits for an answer, where the case does not say.
const PATIENCE: Duration = Duration::from_secs(30);

/// What may come of a case. Whatever is expected: no answer is a 500, and each refusal is a problem document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// An answer, whether it takes or refuses what was asked.
    Answered,
    /// A refusal of the client: a status of 4xx, or 507.
    Refused,
    /// The report is taken in and ends as done, whatever is in its artifacts.
    Done,
    /// The connection ends in time, with or without an answer: what was sent may be no HTTP at all.
    Ended,
    /// Nobody waits for an answer.
    Nothing,
}

/// What one hostile client does.
#[derive(Clone, Debug)]
pub struct Case {
    /// What it is, in words.
    pub name: String,
    /// What clients do: the first one the first of these, and so on, and then from the first again.
    pub scripts: Vec<Vec<Step>>,
    /// How many clients do the same at one time.
    pub clients: usize,
    /// What may come of it.
    pub expect: Expect,
    /// How long a client waits.
    pub patience: Duration,
}

/// What came of a case.
#[derive(Debug)]
pub struct Outcome {
    /// Its name.
    pub name: String,
    /// What is wrong with it, if anything is.
    pub wrong: Option<String>,
    /// The longest that a client waited.
    pub took: Duration,
    /// Reports that were taken in and must end as done.
    pub reports: Vec<String>,
}

impl Case {
    /// A request with a body whose length is declared.
    pub fn request(name: impl Into<String>, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Self {
        let length = body.len().to_string();
        let mut all = headers.to_vec();
        if !body.is_empty() || matches!(method, "POST" | "PUT") {
            all.push(("Content-Length", &length));
        }
        let mut bytes = head(method, path, &all);
        bytes.extend_from_slice(body);
        Self::steps(name, vec![Step::Send(bytes.into())])
    }

    /// What a client does byte by byte.
    pub fn steps(name: impl Into<String>, steps: Vec<Step>) -> Self {
        Self::scripts(name, vec![steps])
    }

    /// What several clients do, each something else, at one time.
    pub fn scripts(name: impl Into<String>, scripts: Vec<Vec<Step>>) -> Self {
        Self {
            name: name.into(),
            scripts,
            clients: 1,
            expect: Expect::Answered,
            patience: PATIENCE,
        }
    }

    /// The same with another expectation.
    #[must_use]
    pub fn expect(self, expect: Expect) -> Self {
        Self { expect, ..self }
    }

    /// The same by many clients at one time.
    #[must_use]
    pub fn clients(self, clients: usize) -> Self {
        Self { clients, ..self }
    }

    /// The same with clients that wait longer, or not as long.
    #[must_use]
    pub fn patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Has the clients do what they do.
    pub fn run(&self, address: SocketAddr) -> Outcome {
        let answers: Vec<_> = std::thread::scope(|scope| {
            let scripts = self.scripts.iter().cycle().take(self.clients);
            let clients: Vec<_> = scripts
                .map(|steps| scope.spawn(|| wire::play(address, steps, self.patience)))
                .collect();
            clients.into_iter().filter_map(|client| client.join().ok()).collect()
        });
        let mut outcome = Outcome {
            name: self.name.clone(),
            wrong: None,
            took: Duration::ZERO,
            reports: Vec::new(),
        };
        for answer in answers {
            match answer {
                Ok(answer) => self.judge(&answer, &mut outcome),
                Err(error) => outcome.wrong = Some(format!("can not connect: {error}")),
            }
        }
        outcome
    }

    fn judge(&self, answer: &Answer, outcome: &mut Outcome) {
        outcome.took = outcome.took.max(answer.took);
        let wrong = match (self.expect, answer.status) {
            (expect, None) if answer.timed_out && expect != Expect::Nothing => {
                Some(format!("no answer within {} s", self.patience.as_secs()))
            }
            (Expect::Nothing, _) | (Expect::Ended, None | Some(400)) => None,
            (_, None) => Some("the connection ended without an answer".to_owned()),
            (expect, Some(status)) => wrong_status(expect, status)
                .or_else(|| no_problem_document(answer, status))
                .or_else(|| (status >= 400).then(|| leak(answer)).flatten()),
        };
        if self.expect == Expect::Done && wrong.is_none() {
            outcome.reports.extend(report_id(answer));
        }
        outcome.wrong = outcome.wrong.take().or(wrong);
    }
}

/// What is wrong with a status under an expectation.
fn wrong_status(expect: Expect, status: u16) -> Option<String> {
    // Busy and full are answers of a sound server that was asked for too much.
    let sound = status < 500 || matches!(status, 501 | 503 | 505 | 507);
    let fits = match expect {
        Expect::Refused => (400..500).contains(&status) || matches!(status, 501 | 503 | 505 | 507),
        Expect::Done => (200..300).contains(&status),
        Expect::Answered | Expect::Ended | Expect::Nothing => true,
    };
    (!sound || !fits).then(|| format!("answered {status} where {expect:?} was expected"))
}

/// Parts of paths in the server's own folder: no answer tells how a server keeps what it has.
const INSIDE: [&str; 5] = ["/staging/", "/blobs/", "/symbols/.", "whycrash.sqlite", "/index/"];

/// What an answer tells of the server's inside.
fn leak(answer: &Answer) -> Option<String> {
    let body = String::from_utf8_lossy(&answer.body);
    let told = INSIDE.into_iter().find(|inside| body.contains(inside));
    told.map(|told| format!("the answer tells of {told:?}"))
}

/// What is missing from a refusal.
fn no_problem_document(answer: &Answer, status: u16) -> Option<String> {
    if status < 400 || answer.head_only || answer.body.is_empty() && answer.head.contains("connection: close") {
        return None;
    }
    if wire::header(&answer.head, "content-type") != Some("application/problem+json") {
        return Some(format!("{status} is no problem document"));
    }
    let problem: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let member = |name: &&str| problem[*name].as_str().is_none_or(str::is_empty);
    let missing: Vec<_> = ["type", "code", "title", "detail", "hint"]
        .into_iter()
        .filter(member)
        .collect();
    (!missing.is_empty()).then(|| format!("the problem document of {status} lacks {}", missing.join(", ")))
}

fn report_id(answer: &Answer) -> Option<String> {
    let document: Value = serde_json::from_slice(&answer.body).ok()?;
    document["id"].as_str().map(str::to_owned)
}

/// The head of a request.
pub fn head(method: &str, path: &str, headers: &[(&str, &str)]) -> Vec<u8> {
    let mut head = format!("{method} {path} HTTP/1.1\r\n");
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        head.push_str("Host: 127.0.0.1\r\n");
    }
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    head.into_bytes()
}

/// Bytes to share between clients.
pub fn bytes(text: impl AsRef<[u8]>) -> Arc<[u8]> {
    text.as_ref().into()
}
