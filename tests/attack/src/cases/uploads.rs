//! Uploads in chunks that lie about where they are and how much they bring.

use super::{Size, encoded, noise, post_json};
use crate::case::{Case, Expect, bytes, head};
use crate::wire::Step;

/// The report all these cases upload to: its artifact is declared and never sent whole.
const METADATA: &str = "{\"attack\": \"uploads\"}";
/// An artifact that is declared with this digest never gets the right bytes.
const DIGEST: &str = "1111111111111111111111111111111111111111111111111111111111111111";

/// Cases that aim at uploads in chunks.
pub fn cases(size: Size) -> Vec<Case> {
    let declared = format!(
        "{{\"metadata\": {METADATA}, \"artifacts\": [{{\"name\": \"core\", \"bytes\": 1000000, \"sha256\": \"{DIGEST}\"}}]}}"
    );
    let mut cases = vec![post_json("the declaration", "/api/v1/reports", declared.as_bytes())];
    // Ids are derived from what is declared, but strangers can only guess them: these name nothing.
    let unknown = format!("/api/v1/reports/{}/artifacts/core", "0".repeat(32));
    cases.push(Case::request("bytes for no report", "PUT", &unknown, &[], &noise(1000, 1)).expect(Expect::Refused));
    for offset in [
        "-1",
        "1",
        "x",
        "18446744073709551615",
        "18446744073709551616",
        "0x10",
        "",
        "1e3",
    ] {
        let headers = [("Upload-Offset", offset)];
        cases.push(
            Case::request(format!("offset {offset:?}"), "PUT", &unknown, &headers, b"abc").expect(Expect::Refused),
        );
    }
    for range in [
        "bytes",
        "bytes -",
        "bytes 5-1/2",
        "bytes 0-9999999999999999999999/1",
        "items 0-1/2",
        "bytes */5",
    ] {
        let headers = [("Content-Range", range)];
        cases
            .push(Case::request(format!("range {range:?}"), "PUT", &unknown, &headers, b"abc").expect(Expect::Refused));
    }
    for name in ["", "..", "a/b", "é", &"n".repeat(4000)] {
        let path = format!("/api/v1/reports/{}/artifacts/{}", "0".repeat(32), encoded(name));
        cases.push(
            Case::request(
                format!("bytes for an artifact named {name:.20?}"),
                "PUT",
                &path,
                &[],
                b"abc",
            )
            .expect(Expect::Refused),
        );
    }
    let start = head("PUT", &unknown, &[("Transfer-Encoding", "chunked")]);
    let chunk = [b"100000\r\n".as_slice(), &noise(1 << 20, 3), b"\r\n"].concat();
    let steps = vec![
        Step::Send(start.into()),
        Step::Repeat(bytes(chunk), size.pick(200, 2000)),
    ];
    cases.push(Case::steps("bytes without end for no report", steps).expect(Expect::Ended));
    cases.push(
        Case::request(
            "completing no report",
            "POST",
            &unknown.replace("/artifacts/core", "/complete"),
            &[],
            b"",
        )
        .expect(Expect::Refused),
    );
    cases
}
