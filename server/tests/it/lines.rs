//! Windows into artifacts that are hostile to it.

use serde_json::{Value, json};

use crate::support::{PATIENCE, Server, inline, problem};

/// A report with this artifact, and another one that never comes, so that nobody reads the first but for its lines.
async fn kept(server: &Server, name: &str, data: &[u8]) -> String {
    let body = json!({"metadata": {}, "artifacts": [
        inline(name, data),
        {"name": "never", "bytes": 1, "sha256": "00".repeat(32)},
    ]});
    let answer = server.post("/api/v1/reports").json(&body).send().await.unwrap();
    let answer: Value = answer.json().await.unwrap();
    format!(
        "/api/v1/reports/{}/artifacts/{name}/lines",
        answer["id"].as_str().unwrap()
    )
}

/// So many frames of 64 MiB of this byte, after a start.
fn packed(start: &[u8], byte: u8, frames: usize) -> Vec<u8> {
    let mut packed = zstd::encode_all(start, 1).unwrap();
    let frame = zstd::encode_all(&*vec![byte; 64 << 20], 1).unwrap();
    packed.extend(frame.repeat(frames));
    packed
}

#[tokio::test]
async fn a_packed_core_is_told_from_its_first_bytes() {
    let server = Server::start().await;
    let mut header = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x04\0\x3e\0".to_vec();
    header.resize(4096, 0);
    // 64 GiB, which nobody has the patience to unpack.
    let lines = kept(&server, "core.zst", &packed(&header, 0, 1024)).await;
    let answer = server.get(&lines).timeout(PATIENCE).send().await.unwrap();
    problem(answer, 409, "artifact-not-text").await;
}

#[tokio::test]
async fn a_log_bomb_is_unpacked_to_its_limit_and_says_so() {
    let server = Server::start().await;
    let bomb = packed(b"step 1\nstep 2\n", b'\n', 16);
    let lines = kept(&server, "train.log.zst", &bomb).await;
    let answer = server.json(&format!("{lines}?from=1&to=2")).await;
    assert_eq!(answer["lines"], json!(["step 1", "step 2"]));
    assert_eq!(answer["complete"], false);
    assert!(
        answer["total"].as_u64().unwrap() < 16 * (64 << 20),
        "{}",
        answer["total"]
    );
    let fine = zstd::encode_all(&b"step 1\nstep 2\n"[..], 1).unwrap();
    let lines = kept(&server, "fine.log.zst", &fine).await;
    assert_eq!(server.json(&lines).await["complete"], true);
}

#[tokio::test]
async fn long_lines_fill_no_more_than_a_window() {
    let server = Server::start().await;
    let line = format!("{}\n", "x".repeat(60_000));
    let log = zstd::encode_all(line.repeat(1000).as_bytes(), 1).unwrap();
    let lines = kept(&server, "wide.log.zst", &log).await;
    let answer = server.json(&format!("{lines}?from=1&to=2000")).await;
    assert_eq!(answer["total"], 1000);
    let count = answer["lines"].as_array().unwrap().len();
    assert!((60..80).contains(&count), "{count}");
}
