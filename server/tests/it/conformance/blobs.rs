//! Blobs.

use std::io::Write as _;

use bytes::Bytes;
use futures_util::TryStreamExt as _;
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

pub async fn what_is_deleted_is_gone(blobs: &impl Blobs) {
    let digest = put(blobs, b"gone").await;
    blobs.delete(&digest).await.unwrap();
    blobs.delete(&digest).await.unwrap();
    assert_eq!(blobs.size(&digest).await.unwrap(), None);
    assert_eq!(read(blobs, &digest, 0..9).await, None);
    assert!(blobs.local(&digest).await.unwrap().is_none());
}
