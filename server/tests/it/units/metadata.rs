use serde_json::json;

use whycrash_server::config::Limits;
use whycrash_server::ingest::Refusal;
use whycrash_server::ingest::metadata::{Budget, DEPTH, ObjectError};

fn budget() -> Budget {
    Budget::new(&Limits {
        metadata_bytes: 100,
        metadata_values: 10,
        ..Limits::default()
    })
}

#[test]
fn objects_are_read_as_they_are() {
    let text = r#"{"host": "a\u0000b", "rank": 3, "x": [null, true, -1, 0.5, {"y": 18446744073709551615}]}"#;
    let read = budget().parse(text.as_bytes()).unwrap();
    assert_eq!(
        serde_json::Value::Object(read),
        serde_json::from_str::<serde_json::Value>(text).unwrap()
    );
    assert_eq!(json!(budget().parse(b"{}").unwrap()), json!({}));
}

#[test]
fn limits_end_the_reading() {
    let deep = |levels: usize| format!("{{\"a\": {}{}}}", "[".repeat(levels), "]".repeat(levels));
    let refusals: [(String, fn(&Refusal) -> bool); 5] = [
        (format!("{{\"a\": \"{}\"}}", "x".repeat(100)), |r| {
            matches!(r, Refusal::MetadataBytes(100))
        }),
        (format!("{{\"{}\": 1}}", "x".repeat(101)), |r| {
            matches!(r, Refusal::MetadataBytes(100))
        }),
        // What follows is not even looked at.
        (format!("{{\"a\": [{}", "0,".repeat(11)), |r| {
            matches!(r, Refusal::MetadataValues(10))
        }),
        (deep(DEPTH), |r| matches!(r, Refusal::MetadataValues(10))),
        (
            "{\"a\": {\"b\": 1, \"b\": 2}}".to_owned(),
            |r| matches!(r, Refusal::MetadataTwice(name) if name == "b"),
        ),
    ];
    for (text, expected) in refusals {
        match budget().parse(text.as_bytes()) {
            Err(ObjectError::Refused(refusal)) => assert!(expected(&refusal), "{text}: {refusal}"),
            other => panic!("{text}: {other:?}"),
        }
    }
    let mut roomy = Budget::new(&Limits::default());
    assert!(roomy.parse(deep(DEPTH - 1).as_bytes()).is_ok());
    assert!(matches!(
        roomy.parse(deep(DEPTH).as_bytes()),
        Err(ObjectError::Refused(Refusal::MetadataDepth(DEPTH)))
    ));
    for text in [
        "[]",
        "5",
        "{",
        "{} {}",
        "{\"a\": 1e999}",
        "{\"a\": NaN}",
        "{\"a\": \"\u{0}\"}",
    ] {
        assert!(
            matches!(roomy.parse(text.as_bytes()), Err(ObjectError::Json(_))),
            "{text}"
        );
    }
}
