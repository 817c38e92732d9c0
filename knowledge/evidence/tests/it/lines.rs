//! Lines by number.

use whycrash_evidence::Limits;
use whycrash_evidence::readers::Lines;

use crate::support::{artifact, compressed};

#[test]
fn lines_are_found_by_number_and_by_pattern() {
    let text: String = (1..=5000).map(|n| format!("line {n}\r\n")).collect::<String>() + "the end";
    let regex = regex::bytes::Regex::new("9{3}$").unwrap();
    let mut forms = compressed(text.as_bytes());
    forms.push(("plain", text.clone().into_bytes()));
    for (name, bytes) in forms {
        let (artifact, _keep) = artifact(name, &bytes);
        let lines = Lines::open(&artifact, &Limits::default()).unwrap();
        assert_eq!(lines.count(), 5001, "{name}");
        assert_eq!(lines.range(1, 2).unwrap(), ["line 1", "line 2"]);
        assert_eq!(
            lines.range(1024, 1026).unwrap(),
            ["line 1024", "line 1025", "line 1026"]
        );
        assert_eq!(lines.range(5000, 9000).unwrap(), ["line 5000", "the end"]);
        assert!(lines.range(6000, 9000).unwrap().is_empty());
        let found = lines.search(&regex, 1500, 2).unwrap();
        assert_eq!(found, [(1999, "line 1999".to_owned()), (2999, "line 2999".to_owned())]);
    }
}

#[test]
fn odd_texts_have_lines_too() {
    for (bytes, expected) in [
        (&b""[..], vec![]),
        (b"\n", vec![""]),
        (b"\n\n", vec!["", ""]),
        (b"a", vec!["a"]),
        (b"\xf8\xfe\n", vec!["\u{fffd}\u{fffd}"]),
    ] {
        let (artifact, _keep) = artifact("odd", bytes);
        let lines = Lines::open(&artifact, &Limits::default()).unwrap();
        assert_eq!(lines.count(), expected.len() as u64, "{bytes:?}");
        assert_eq!(lines.range(1, 10).unwrap(), expected);
    }
    let (artifact, _keep) = artifact("long", &[b'x'; 1000]);
    let limits = Limits {
        line_bytes: 10,
        ..Limits::default()
    };
    assert_eq!(
        Lines::open(&artifact, &limits).unwrap().range(1, 1).unwrap(),
        ["x".repeat(10)]
    );
}
