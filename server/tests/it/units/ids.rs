use sha2::Digest as _;

use whycrash_server::store::{Digest, ReportId};

#[test]
fn ids_come_from_canonical_json() {
    let sent = r#"{"b": [1, {"y": null, "x": "\u0000é\""}], "a": {"d": 1.5, "c": -3}, "e": {}, "f": []}"#;
    let digest = Digest::of(b"");
    let id = ReportId::derive(
        &serde_json::from_str(sent).unwrap(),
        &[("core".to_owned(), digest.clone())],
    );
    let canonical = format!(
        r#"{{"a":{{"c":-3,"d":1.5}},"b":[1,{{"x":"\u0000é\"","y":null}}],"e":{{}},"f":[]}}[["core","{digest}"]]"#
    );
    assert_eq!(id.as_str(), &hex::encode(sha2::Sha256::digest(canonical))[..32]);
}
