//! A client that can stop in the middle of a sentence.

use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::{PATIENCE, Server};

/// A connection whose every byte the test chooses.
pub struct Raw(TcpStream);

impl Raw {
    /// Connects and sends the head of a request; `headers` are lines without ends.
    pub async fn open(server: &Server, request: &str, headers: &[&str]) -> Self {
        let address = server.url("");
        let mut raw = Self(TcpStream::connect(address.trim_start_matches("http://")).await.unwrap());
        let mut head = format!("{request} HTTP/1.1\r\nHost: localhost\r\n");
        for header in headers {
            head.push_str(header);
            head.push_str("\r\n");
        }
        head.push_str("\r\n");
        assert!(raw.send(head.as_bytes()).await, "the head is taken");
        raw
    }

    /// Sends bytes; false if the server has closed the connection.
    pub async fn send(&mut self, bytes: &[u8]) -> bool {
        let sent = tokio::time::timeout(PATIENCE, self.0.write_all(bytes)).await;
        sent.expect("the server takes bytes or closes the connection").is_ok()
    }

    /// Sends these bytes for ever; how many times until the server closed the connection.
    pub async fn flood(&mut self, bytes: &[u8]) -> u64 {
        let mut times = 0;
        let flood = async {
            while self.0.write_all(bytes).await.is_ok() {
                times += 1;
            }
        };
        tokio::time::timeout(PATIENCE, flood)
            .await
            .expect("the server closes the connection");
        times
    }

    /// The answer's status and its problem document, or null.
    pub async fn answer(&mut self) -> (u16, Value) {
        let mut text = Vec::new();
        let mut buffer = [0; 4096];
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let said = String::from_utf8_lossy(&text);
            if let Some((head, body)) = said.split_once("\r\n\r\n") {
                let length = head
                    .lines()
                    .find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
                if length.is_none_or(|length: usize| body.len() >= length) {
                    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
                    return (status, serde_json::from_str(body).unwrap_or_default());
                }
            }
            let read = tokio::time::timeout_at(deadline, self.0.read(&mut buffer)).await;
            match read.expect("the server answers") {
                Ok(read @ 1..) => text.extend_from_slice(&buffer[..read]),
                ended => panic!(
                    "the connection ended ({ended:?}) after {:?}",
                    String::from_utf8_lossy(&text)
                ),
            }
        }
    }
}

/// Asks until the answer is what it should be: things happen a moment after a connection ends.
pub async fn eventually<T: PartialEq + std::fmt::Debug>(expected: T, mut ask: impl AsyncFnMut() -> T) {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        let actual = ask().await;
        if actual == expected {
            return;
        }
        assert!(
            tokio::time::Instant::now() < deadline,
            "still {actual:?}, not {expected:?}"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
