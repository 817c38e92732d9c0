//! The server, as this program talks to it.

mod ids;
#[cfg(feature = "diagnosis")]
mod plugins;
mod sent;
mod symbols;
mod tls;
mod upload;

use std::error::Error;
use std::time::Duration;

use anyhow::{Context as _, bail};
use reqwest::StatusCode;
use reqwest::blocking::{RequestBuilder, Response};
use reqwest::header::RETRY_AFTER;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use ids::{is_like_an_id, number_from_the_last};
pub use symbols::Kept;
pub use upload::{Progress, Uploaded};

use crate::config::Config;

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(5);
/// How long an answer may take, once the request has been sent.
const ANSWER: Duration = Duration::from_secs(60);
/// First and last pause between two questions how far a report has come.
const ASK_AGAIN: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));
/// How often a request is sent again, and how long the first pause is; each further one is twice as long.
const RETRIES: (u32, Duration) = (5, Duration::from_millis(250));
/// A server may ask for more patience than this; nobody has it.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// A connection to a server.
#[derive(Debug)]
pub struct Client {
    http: reqwest::blocking::Client,
    server: String,
    token: Option<String>,
    /// Whether what is sent is without the secrets in it.
    scrubs: bool,
}

/// How a server lets this client in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It has no tokens: it answers its own machine alone.
    Open,
    /// With a token that allows reading.
    Reading,
    /// With a token that does not allow reading, such as one for sending alone.
    Sending,
}

/// A server's no, which stays one however often it is asked.
#[derive(Debug)]
pub struct Refused(String);

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// What the server says when it says no: a problem document (RFC 9457).
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Problem {
    code: String,
    title: String,
    detail: String,
    hint: String,
}

impl Client {
    /// A client of the server that flags, environment and settings name.
    pub fn new(server: Option<&str>, config: &Config) -> anyhow::Result<Self> {
        let server = config.server(server);
        // An error says that it was done before.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::blocking::Client::builder()
            .connect_timeout(CONNECT)
            .timeout(ANSWER)
            .build();
        let http = http.context("can not set up HTTP")?;
        let token = std::env::var("WHYCRASH_TOKEN").ok().or_else(|| config.token.clone());
        Ok(Self {
            http,
            server,
            token,
            scrubs: config.scrub,
        })
    }

    /// The server's address, without a slash at its end.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Asks for JSON below `/api/v1/`.
    pub fn get<T: DeserializeOwned>(&self, path: &str, query: &[(&str, &str)]) -> anyhow::Result<T> {
        let query: Vec<String> = query
            .iter()
            .map(|(name, value)| format!("{name}={}", encode(value)))
            .collect();
        let address = self.address(&format!("{path}?{}", query.join("&")));
        let answer = self.send(|http| http.get(&address))?;
        answer
            .json()
            .with_context(|| format!("{} answered what this program does not understand", self.server))
    }

    /// Asks once, and not for long, for what can be told without a server too. None where it has no such thing.
    pub fn glance<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<Option<T>> {
        let request = self.http.get(self.address(path)).timeout(CONNECT);
        let answer = self
            .authorized(request)
            .send()
            .map_err(|error| self.unreachable(&error))?;
        match answer.status() {
            StatusCode::NOT_FOUND => Ok(None),
            status if status.is_success() => answer
                .json()
                .map(Some)
                .with_context(|| format!("{} answered what this program does not understand", self.server)),
            _ => Err(self.refusal(&Problem::of(answer))),
        }
    }

    /// The document of a report, with all of its evidence.
    pub fn report(&self, id: &str) -> anyhow::Result<Value> {
        self.get(&format!("reports/{}", encode(id)), &[("evidence", "whole")])
    }

    /// What the server says of a report at a path below it.
    pub fn get_of_report(&self, id: &str, path: &str, query: &[(&str, &str)]) -> anyhow::Result<Value> {
        self.get(&format!("reports/{}/{path}", encode(id)), query)
    }

    /// How far a report has come, once nothing more is done for it. Asks again and again, less and less often.
    pub fn wait_for(&self, id: &str) -> anyhow::Result<Value> {
        let mut pause = ASK_AGAIN.0;
        loop {
            let state = self.get_of_report(id, "state", &[])?;
            if !is_being_read(&state) {
                return Ok(state);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(ASK_AGAIN.1);
        }
    }

    /// Has a report diagnosed anew.
    pub fn rediagnose(&self, id: &str) -> anyhow::Result<()> {
        let address = self.address(&format!("reports/{}/diagnoses", encode(id)));
        self.send(|http| http.post(&address)).map(drop)
    }

    /// Has all reports diagnosed anew, or those that a search finds; how many.
    pub fn rediagnose_many(&self, search: Option<&str>) -> anyhow::Result<Value> {
        let scope = search.map_or_else(|| "all=true".to_owned(), |query| format!("q={}", encode(query)));
        let address = self.address(&format!("diagnoses?{scope}"));
        self.send(|http| http.post(&address))?
            .json()
            .with_context(|| format!("{} answered what this program does not understand", self.server))
    }

    /// How far diagnosing stored reports anew has come, once nothing more is to be.
    pub fn wait_for_diagnoses(&self) -> anyhow::Result<Value> {
        let mut pause = ASK_AGAIN.0;
        loop {
            let progress: Value = self.get("diagnoses", &[])?;
            if progress["waiting"].as_u64().unwrap_or(0) == 0 {
                return Ok(progress);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(ASK_AGAIN.1);
        }
    }

    /// Deletes a report for good; false if there was none.
    pub fn delete_report(&self, id: &str) -> anyhow::Result<bool> {
        let address = self.address(&format!("reports/{}", encode(id)));
        let answer: Value = self
            .send(|http| http.delete(&address))?
            .json()
            .with_context(|| format!("{} answered what this program does not understand", self.server))?;
        Ok(answer.get("deleted").and_then(Value::as_bool).unwrap_or(true))
    }

    /// Asks, once, whether the server is there and lets this client in.
    pub fn access(&self) -> anyhow::Result<Access> {
        let request = self.http.get(self.address("reports?limit=0")).timeout(CONNECT);
        let answer = self
            .authorized(request)
            .send()
            .map_err(|error| self.unreachable(&error))?;
        if answer.status().is_success() {
            return Ok(self.token.as_ref().map_or(Access::Open, |_| Access::Reading));
        }
        let problem = Problem::of(answer);
        match problem.code.as_str() {
            "forbidden" => Ok(Access::Sending),
            _ => Err(self.refusal(&problem)),
        }
    }

    fn authorized(&self, request: RequestBuilder) -> RequestBuilder {
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    fn address(&self, path: &str) -> String {
        format!("{}/api/v1/{path}", self.server)
    }

    /// Sends a request, again and again where that may help: when the server can not be reached, is busy, or failed.
    fn send(&self, request: impl Fn(&reqwest::blocking::Client) -> RequestBuilder) -> anyhow::Result<Response> {
        let mut pause = RETRIES.1;
        for retries_left in (0..=RETRIES.0).rev() {
            match self.authorized(request(&self.http)).send() {
                Ok(answer) if answer.status().is_success() => return Ok(answer),
                Ok(answer) if retries_left > 0 && is_passing(answer.status()) => {
                    pause = asked_pause(&answer).unwrap_or(pause).min(LONGEST_PAUSE);
                }
                Ok(answer) => return Err(self.refusal(&Problem::of(answer))),
                Err(error) if retries_left > 0 && !error.is_builder() && !is_lasting(&error) => {
                    tracing::debug!("{} did not answer, trying again: {error}", self.server);
                }
                Err(error) => return Err(self.unreachable(&error)),
            }
            std::thread::sleep(pause);
            pause *= 2;
        }
        bail!("{} is busy and stays so: try again later", self.server)
    }

    /// Sends a request once.
    fn once(&self, request: impl FnOnce(&reqwest::blocking::Client) -> RequestBuilder) -> anyhow::Result<()> {
        match self.authorized(request(&self.http)).send() {
            Ok(answer) if answer.status().is_success() => Ok(()),
            // What the server has is not what we think: its answer to where it has come says.
            Ok(answer) if is_passing(answer.status()) || answer.status() == StatusCode::CONFLICT => {
                if let Some(pause) = asked_pause(&answer) {
                    std::thread::sleep(pause.min(LONGEST_PAUSE));
                }
                bail!("{} answered {}", self.server, answer.status())
            }
            Ok(answer) => Err(self.refusal(&Problem::of(answer))),
            Err(error) => Err(self.unreachable(&error)),
        }
    }

    fn unreachable(&self, error: &reqwest::Error) -> anyhow::Error {
        let reason = innermost(error);
        let hint = tls::hint(error).unwrap_or("start whycrash-server there, or name another with --server");
        anyhow::anyhow!("can not reach {}: {reason}; {hint}", self.server)
    }

    fn refusal(&self, problem: &Problem) -> anyhow::Error {
        let said = [&problem.detail, &problem.title]
            .into_iter()
            .find(|text| !text.is_empty())
            .map_or("no", String::as_str);
        let hint = if problem.hint.is_empty() {
            String::new()
        } else {
            format!(" ({})", problem.hint)
        };
        Refused(format!("{} says: {said}{hint}", self.server)).into()
    }
}

/// Whether what a server says of a report says that it waits to be read, or is being read.
pub fn is_being_read(progress: &Value) -> bool {
    progress["state"] == "processing"
}

impl Problem {
    /// What an answer that is no success says; its status where it says nothing.
    fn of(answer: Response) -> Self {
        let status = answer.status();
        let mut problem: Self = answer.json().unwrap_or_default();
        if problem.title.is_empty() {
            problem.title = status.to_string();
        }
        problem
    }
}

/// Whether the same request may get another answer later.
fn is_passing(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::REQUEST_TIMEOUT
            | StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT
            | StatusCode::INTERNAL_SERVER_ERROR
    )
}

/// Nobody listens there, or its certificate is none that can be used: that does not change within seconds.
fn is_lasting(error: &reqwest::Error) -> bool {
    let is_refused = |error: &(dyn Error + 'static)| {
        error
            .downcast_ref::<std::io::Error>()
            .is_some_and(|io| io.kind() == std::io::ErrorKind::ConnectionRefused)
    };
    tls::is_lasting(error) || chain(error).any(is_refused)
}

/// An error and what caused it, the innermost last.
fn chain<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error: &&(dyn Error + 'static)| (*error).source())
}

fn asked_pause(answer: &Response) -> Option<Duration> {
    let seconds = answer.headers().get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// The reason at the end of the chain: what comes before it repeats the address.
fn innermost(error: &(dyn Error + 'static)) -> String {
    chain(error).last().unwrap_or(error).to_string()
}

/// A path segment of an address.
fn encode(segment: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    segment
        .bytes()
        .map(|byte| {
            if plain(byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}
