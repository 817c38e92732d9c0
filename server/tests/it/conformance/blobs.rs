//! Blobs.

use std::io::Write as _;
use std::time::Duration;

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use jiff::{SignedDuration, Timestamp};
use tempfile::{NamedTempFile, TempPath};
use whycrash_server::store::{Blobs, Digest};

/// A staged file with these bytes.
fn staged(data: &[u8]) -> TempPath {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(data).unwrap();
    file.into_temp_path()
}

async fn put(blobs: &impl Blobs, data: &[u8]) -> Digest {
    let (digest, file) = (Digest::of(data), staged(data));
    blobs.put(&digest, &file).await.unwrap();
    assert!(!file.exists(), "the store takes the file over");
    digest
}

async fn read(blobs: &impl Blobs, digest: &Digest, range: std::ops::Range<u64>) -> Option<Vec<u8>> {
    let pieces = blobs.read(digest, range).await.unwrap()?;
    Some(pieces.try_collect::<Vec<Bytes>>().await.unwrap().concat())
}

pub async fn what_is_put_can_be_read(blobs: &impl Blobs) {
    for data in [&b""[..], b"one", &vec![7; 1 << 20]] {
        let digest = put(blobs, data).await;
        assert_eq!(blobs.size(&digest).await.unwrap(), Some(data.len() as u64));
        assert_eq!(read(blobs, &digest, 0..u64::MAX).await.as_deref(), Some(data));
        let local = blobs.local(&digest).await.unwrap().unwrap();
        assert_eq!(std::fs::read(&local.path).unwrap(), data);
    }
}

pub async fn the_same_bytes_are_one_blob(blobs: &impl Blobs) {
    let first = put(blobs, b"same").await;
    let second = put(blobs, b"same").await;
    assert_eq!(first, second);
    let racing = futures_util::future::join_all((0..8).map(|_| put(blobs, b"raced"))).await;
    assert_eq!(read(blobs, &racing[0], 0..9).await.as_deref(), Some(&b"raced"[..]));
}

pub async fn ranges_are_cut_to_the_size(blobs: &impl Blobs) {
    let digest = put(blobs, b"0123456789").await;
    for (range, expected) in [
        (2..5, &b"234"[..]),
        (8..99, b"89"),
        (10..20, b""),
        (99..100, b""),
        (5..5, b""),
    ] {
        assert_eq!(
            read(blobs, &digest, range.clone()).await.as_deref(),
            Some(expected),
            "{range:?}"
        );
    }
}

pub async fn what_is_collected_is_gone(blobs: &impl Blobs) {
    let digest = put(blobs, b"gone").await;
    assert!(
        !blobs.collect(&digest, ago(1)).await.unwrap(),
        "it was put a moment ago"
    );
    assert!(blobs.collect(&digest, ago(-1)).await.unwrap());
    assert!(!blobs.collect(&digest, ago(-1)).await.unwrap(), "it is gone already");
    assert_eq!(blobs.size(&digest).await.unwrap(), None);
    assert_eq!(blobs.claim(&digest).await.unwrap(), None);
    assert_eq!(read(blobs, &digest, 0..9).await, None);
    assert!(blobs.local(&digest).await.unwrap().is_none());
}

/// Who finds bytes here and is about to refer to them must not lose them to who collects.
pub async fn what_was_claimed_is_not_collected(blobs: &impl Blobs) {
    let (claimed, put_again) = (put(blobs, b"claimed").await, put(blobs, b"put again").await);
    tokio::time::sleep(Duration::from_millis(20)).await;
    let between = Timestamp::now();
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(blobs.claim(&claimed).await.unwrap(), Some(7));
    put(blobs, b"put again").await;
    for digest in [&claimed, &put_again] {
        assert!(!blobs.collect(digest, between).await.unwrap());
        assert!(blobs.size(digest).await.unwrap().is_some());
    }
    for _ in 0..50 {
        let digest = put(blobs, b"raced").await;
        let (found, _) = tokio::join!(blobs.claim(&digest), blobs.collect(&digest, between));
        assert_eq!(
            found.unwrap(),
            blobs.size(&digest).await.unwrap(),
            "what was found is there"
        );
    }
}

pub async fn blobs_are_listed_in_pages(blobs: &impl Blobs) {
    let mut expected = Vec::new();
    for number in 0..20_u8 {
        expected.push(put(blobs, &[number; 3]).await);
    }
    expected.sort();
    let (mut listed, mut last) = (Vec::new(), None);
    loop {
        let page = blobs.list(last.as_ref(), 7).await.unwrap();
        let Some(end) = page.last() else { break };
        last = Some(end.digest.clone());
        assert!(
            page.iter().all(|blob| blob.bytes == 3 && blob.claimed > ago(1)),
            "{page:?}"
        );
        listed.extend(page.into_iter().map(|blob| blob.digest));
    }
    assert_eq!(listed, expected);
}

/// This many hours before now.
fn ago(hours: i64) -> Timestamp {
    Timestamp::now() - SignedDuration::from_hours(hours)
}
