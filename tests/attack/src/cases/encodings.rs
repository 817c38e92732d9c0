//! Packed bodies, wherever one is unpacked, and where none is.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

use super::artifacts::gzip_of_zeros;
use super::{Size, noise};
use crate::case::{Case, Expect, bytes, head};
use crate::wire::Step;

const JSON: &str = "application/json";
const FORM: &str = "multipart/form-data; boundary=x";

/// Cases that aim at unpacking.
pub fn cases(size: Size) -> Vec<Case> {
    let mut cases = Vec::new();
    for (path, kind, plain) in [
        ("/api/v1/reports", JSON, "{\"artifacts\": []}"),
        ("/api/v1/reports", FORM, "--x--\r\n"),
        ("/api/v1/minidump", FORM, "--x--\r\n"),
        ("/api/v1/symbols", "application/octet-stream", "MODULE"),
    ] {
        for (name, encoding, body) in bodies(plain.as_bytes(), size) {
            let headers = [("Content-Type", kind), ("Content-Encoding", encoding)];
            let case = Case::request(format!("{path} ({kind:.12}): {name}"), "POST", path, &headers, &body);
            cases.push(case.expect(Expect::Refused));
        }
        cases.push(byte_by_byte(path, kind, plain.as_bytes()));
    }
    cases
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    // Writing to memory does not fail.
    encoder
        .write_all(plain)
        .and_then(|()| encoder.finish())
        .unwrap_or_default()
}

fn zlib(plain: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder
        .write_all(plain)
        .and_then(|()| encoder.finish())
        .unwrap_or_default()
}

fn deflate(plain: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder
        .write_all(plain)
        .and_then(|()| encoder.finish())
        .unwrap_or_default()
}

/// Bodies that are no report, packed well or badly: name, encoding, bytes.
fn bodies(plain: &[u8], size: Size) -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let spaces = size.pick(64, 1024) << 20;
    let zeros = gzip_of_zeros(spaces);
    let zstd = zstd::encode_all(&vec![b' '; size.pick(64, 256) << 20][..], 1).unwrap_or_default();
    let packed = gzip(plain);
    let broken_sum = [&packed[..packed.len() - 8], &[0; 8]].concat();
    vec![
        ("zeros", "gzip", zeros.clone()),
        ("zeros in gzip in gzip", "gzip", gzip(&zeros)),
        ("zeros, zlib", "deflate", zlib(&vec![0; size.pick(16, 64) << 20])),
        ("zeros, deflate", "deflate", deflate(&vec![0; size.pick(16, 64) << 20])),
        ("many members", "gzip", packed.repeat(size.pick(1000, 20_000))),
        ("empty members", "gzip", gzip(b"").repeat(size.pick(10_000, 200_000))),
        (
            "followed by noise",
            "gzip",
            [packed.clone(), noise(100_000, 4)].concat(),
        ),
        ("cut in its head", "gzip", packed[..5].to_vec()),
        ("cut in its data", "gzip", packed[..packed.len() - 9].to_vec()),
        ("with a wrong sum", "gzip", broken_sum),
        ("noise", "gzip", noise(100_000, 5)),
        (
            "noise after a head",
            "gzip",
            [b"\x1f\x8b\x08\0\0\0\0\0\0\x03".as_slice(), &noise(100_000, 6)].concat(),
        ),
        (
            "a name without end",
            "gzip",
            [b"\x1f\x8b\x08\x08\0\0\0\0\0\x03".as_slice(), &vec![b'n'; 4 << 20]].concat(),
        ),
        ("zstd", "zstd", zstd),
        (
            "zstd said to be gzip",
            "gzip",
            zstd::encode_all(plain, 1).unwrap_or_default(),
        ),
        ("gzip said to be deflate", "deflate", packed.clone()),
        ("packed twice", "gzip, gzip", gzip(&packed)),
        ("packed in a way nobody knows", "x-unknown", plain.to_vec()),
        ("nothing", "gzip", Vec::new()),
    ]
}

/// Packed, in chunks of one byte.
fn byte_by_byte(path: &str, kind: &str, plain: &[u8]) -> Case {
    let headers = [
        ("Content-Type", kind),
        ("Content-Encoding", "gzip"),
        ("Transfer-Encoding", "chunked"),
    ];
    let chunk = |byte: &u8| [b"1\r\n".as_slice(), &[*byte], b"\r\n"].concat();
    let mut body: Vec<u8> = gzip(plain).iter().flat_map(chunk).collect();
    body.extend_from_slice(b"0\r\n\r\n");
    let steps = vec![Step::Send(head("POST", path, &headers).into()), Step::Send(bytes(body))];
    Case::steps(format!("{path} ({kind:.12}): packed, byte by byte"), steps).expect(Expect::Refused)
}
