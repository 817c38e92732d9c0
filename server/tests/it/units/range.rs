use actix_web::http::header::{HeaderMap, HeaderValue, RANGE};

use whycrash_server::api::range::{Part, asked};

#[test]
fn single_ranges_of_bytes_are_understood() {
    let cases = [
        ("bytes=0-", Part::Bytes(0..10)),
        ("bytes=0-0", Part::Bytes(0..1)),
        ("bytes=3-5", Part::Bytes(3..6)),
        ("bytes=9-99999999999999999999999", Part::Bytes(9..10)),
        ("bytes=-3", Part::Bytes(7..10)),
        ("bytes=-99", Part::Bytes(0..10)),
        ("bytes=10-", Part::Outside),
        ("bytes=18446744073709551615-", Part::Outside),
        ("bytes=-0", Part::Outside),
        ("bytes=5-3", Part::Whole),
        ("bytes=-", Part::Whole),
        ("bytes=", Part::Whole),
        ("bytes=0-1,3-4", Part::Whole),
        ("bytes=a-b", Part::Whole),
        ("bytes=+1-2", Part::Whole),
        ("lines=1-2", Part::Whole),
    ];
    for (range, expected) in cases {
        let mut headers = HeaderMap::new();
        headers.insert(RANGE, HeaderValue::from_static(range));
        assert_eq!(asked(&headers, 10, "\"x\""), expected, "{range}");
    }
}
