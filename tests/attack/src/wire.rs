//! HTTP/1.1 by hand: hostile clients send what no library would.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a client does with its connection.
#[derive(Clone, Debug)]
pub enum Step {
    /// Sends these bytes.
    Send(Arc<[u8]>),
    /// Sends these bytes again and again.
    Repeat(Arc<[u8]>, usize),
    /// Sends one byte at a time.
    Trickle(Arc<[u8]>, Duration),
    /// Does nothing.
    Pause(Duration),
    /// Says that nothing more will come.
    HalfClose,
    /// Goes away without waiting for an answer.
    Vanish,
}

/// What came back.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Status of the answer; none when the connection ended, or the time was over, without one.
    pub status: Option<u16>,
    /// Head of the answer, in lower case.
    pub head: String,
    /// Body of the answer, no more than the first few MB.
    pub body: Vec<u8>,
    /// Whether the client gave up waiting.
    pub timed_out: bool,
    /// Whether the client asked for a head alone, so that no body can come.
    pub head_only: bool,
    /// From the first byte sent to the end of the answer.
    pub took: Duration,
}

/// Most bytes of an answer that are kept.
const KEPT: usize = 32 << 20;

/// Does the steps on a connection of their own and waits for one answer.
///
/// A server may answer and close before all is sent: what can not be sent any more is left out.
pub fn play(address: SocketAddr, steps: &[Step], patience: Duration) -> io::Result<Answer> {
    let started = Instant::now();
    let stream = TcpStream::connect_timeout(&address, patience)?;
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(patience))?;
    for step in steps {
        if let Step::Vanish = step {
            return Ok(Answer::default());
        }
        if take(&stream, step).is_err() {
            break;
        }
    }
    let mut answer = read_answer(&stream, started + patience, asks_for_head(steps))?;
    (answer.took, answer.head_only) = (started.elapsed(), asks_for_head(steps));
    Ok(answer)
}

/// Whether the answer will have no body, whatever its head says.
fn asks_for_head(steps: &[Step]) -> bool {
    matches!(steps.first(), Some(Step::Send(bytes)) if bytes.starts_with(b"HEAD "))
}

fn take(mut stream: &TcpStream, step: &Step) -> io::Result<()> {
    match step {
        Step::Send(bytes) => stream.write_all(bytes),
        Step::Repeat(bytes, times) => (0..*times).try_for_each(|_| stream.write_all(bytes)),
        Step::Trickle(bytes, pause) => bytes.iter().try_for_each(|byte| {
            stream.write_all(&[*byte])?;
            std::thread::sleep(*pause);
            Ok(())
        }),
        Step::Pause(time) => {
            std::thread::sleep(*time);
            Ok(())
        }
        Step::HalfClose => stream.shutdown(Shutdown::Write),
        Step::Vanish => Ok(()),
    }
}

fn read_answer(mut stream: &TcpStream, deadline: Instant, head_only: bool) -> io::Result<Answer> {
    let (mut bytes, mut buffer) = (Vec::new(), vec![0; 64 << 10]);
    let mut timed_out = false;
    while !(is_whole(&bytes) || head_only && head_end(&bytes).is_some()) && bytes.len() < KEPT {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            timed_out = true;
            break;
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => bytes.extend_from_slice(buffer.get(..read).unwrap_or_default()),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                timed_out = true
            }
            // The peer threw the connection away: what came before counts.
            Err(_) => break,
        }
    }
    Ok(Answer {
        timed_out,
        ..parse(&bytes)
    })
}

fn head_end(bytes: &[u8]) -> Option<usize> {
    bytes
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .map(|at| at + 4)
}

/// Whether an answer has all its bytes, as far as its head tells.
fn is_whole(bytes: &[u8]) -> bool {
    let Some(end) = head_end(bytes) else { return false };
    let answer = parse(bytes);
    if matches!(answer.status, Some(100..=199 | 204 | 304)) {
        return answer.status != Some(100);
    }
    let length = header(&answer.head, "content-length").and_then(|length| length.parse::<usize>().ok());
    match length {
        Some(length) => bytes.len() - end >= length,
        None => answer.head.contains("transfer-encoding: chunked") && bytes.ends_with(b"0\r\n\r\n"),
    }
}

fn parse(bytes: &[u8]) -> Answer {
    let end = head_end(bytes).unwrap_or(bytes.len());
    let (head, body) = bytes.split_at(end);
    let head = String::from_utf8_lossy(head).to_lowercase();
    let status = head
        .strip_prefix("http/1.")
        .and_then(|rest| rest.get(2..5)?.parse().ok());
    let chunked = head.contains("transfer-encoding: chunked");
    let length = header(&head, "content-length").and_then(|length| length.parse().ok());
    let body = match length {
        _ if chunked => unchunk(body),
        // What comes behind is the answer to something else.
        Some(length) if status != Some(100) => body.get(..length).unwrap_or(body).to_vec(),
        _ => body.to_vec(),
    };
    // The answer proper follows after "100 Continue".
    if status == Some(100) && !body.is_empty() {
        return parse(&body);
    }
    Answer {
        status,
        head,
        body,
        ..Answer::default()
    }
}

/// The bytes of a chunked body, as far as they came.
fn unchunk(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|window| window == b"\r\n") {
        let (line, after) = rest.split_at(end);
        let line = String::from_utf8_lossy(line);
        let Ok(size) = usize::from_str_radix(line.split(';').next().unwrap_or_default().trim(), 16) else {
            break;
        };
        let data = after.get(2..).unwrap_or_default();
        body.extend_from_slice(data.get(..size).unwrap_or(data));
        rest = data.get(size + 2..).unwrap_or_default();
        if size == 0 {
            break;
        }
    }
    body
}

/// The value of a header in the head of an answer.
pub fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value.trim())
}
