//! What somebody may have meant.

use whycrash_evidence::{did_they_mean, did_you_mean, nearest};

const KNOWN: [&str; 6] = [
    "cause",
    "signal",
    "exception",
    "python-exception",
    "oom-fragmentation",
    "host",
];

#[test]
fn a_slip_is_told_from_another_word() {
    for (word, meant) in [
        ("casue", Some("cause")),
        ("cuase", Some("cause")),
        ("cause", Some("cause")),
        ("Signal", Some("signal")),
        ("singal", Some("signal")),
        ("pythn-exception", Some("python-exception")),
        ("excption", Some("exception")),
        ("python_exception", Some("python-exception")),
        ("PythonException", Some("python-exception")),
        ("oom-frag", Some("oom-fragmentation")),
        ("hots", Some("host")),
        ("colour", None),
        ("x", None),
        ("", None),
        ("größe", None),
    ] {
        assert_eq!(nearest(word, KNOWN), meant, "{word}");
    }
    assert_eq!(nearest(&"cause".repeat(50_000), KNOWN), None);
    assert_eq!(
        nearest("oom-", ["oom-a", "oom-b", "x"]),
        Some("oom-a"),
        "one letter away"
    );
    assert_eq!(nearest("fra", ["frame", "fragment"]), None, "it begins two of them");
}

#[test]
fn a_refusal_ends_with_what_was_meant() {
    assert_eq!(did_you_mean("singal", KNOWN), "; did you mean \"signal\"?");
    assert_eq!(did_you_mean("colour", KNOWN), "");
}

#[test]
fn what_a_reader_of_settings_refuses_is_understood() {
    for (refusal, meant) in [
        (
            "unknown field `servr`, expected one of `server`, `token`, `symbols`",
            "; did you mean \"server\"?",
        ),
        (
            "TOML parse error at line 1\nunknown variant `txt`, expected `text` or `json`\n",
            "; did you mean \"text\"?",
        ),
        ("unknown field `colour`, expected `server`", ""),
        ("invalid type: string, expected `a`", ""),
        ("", ""),
    ] {
        assert_eq!(did_they_mean(refusal), meant, "{refusal}");
    }
}
