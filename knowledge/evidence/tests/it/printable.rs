//! What reaches a terminal.

use std::io::Write as _;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use whycrash_evidence::{PrintableLog, printable, printable_json};

#[test]
fn text_can_only_be_shown() {
    let cases = [
        ("plain text, größe 日本 👍🏽 ❤️", "plain text, größe 日本 👍🏽 ❤️"),
        ("\u{1b}[31mred\u{1b}[0m", "red"),
        ("\u{9b}31mred", "red"),
        ("\u{1b}[2J\u{1b}[1;1Hgone", "gone"),
        ("\u{1b}]0;title\u{7}after", "after"),
        ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
        ("\u{9d}52;c;AAAA\u{9c}after", "after"),
        ("\u{1b}P1$r\u{1b}\\after", "after"),
        ("\u{1b}(Bafter", "after"),
        ("\u{1b}cafter", "after"),
        ("\u{1b}]0;never ends", "\u{fffd}]0;never ends"),
        ("\u{1b}]0;a\u{1b}[31mb\u{7}", "\u{fffd}]0;ab\u{fffd}"),
        ("\u{1b}[12", "\u{fffd}[12"),
        ("end\u{1b}", "end\u{fffd}"),
        ("a\tb\r\nc\u{2028}d\u{2029}e\u{85}f", "a    b  c d e f"),
        ("bell\u{7}\u{8}\u{7f}\u{0}", "bell\u{fffd}\u{fffd}\u{fffd}\u{fffd}"),
        ("gnp\u{202e}exe\u{2066}x\u{2069}", "gnp\u{fffd}exe\u{fffd}x\u{fffd}"),
        ("zero\u{200b}\u{200d}\u{feff}\u{ad}width\u{e0041}", "zerowidth"),
    ];
    for (text, expected) in cases {
        assert_eq!(printable(text), expected, "{text:?}");
    }
}

#[test]
fn json_keeps_its_value() {
    let json = "{\n\t\"a\": \"\u{7f}\u{9b}31m\u{202e}\u{200b}\u{2028}\u{e0041}é\"\n}";
    let plain = printable_json(json);
    assert_eq!(
        plain,
        "{\n\t\"a\": \"\\u007f\\u009b31m\\u202e\\u200b\\u2028\\udb40\\udc41é\"\n}"
    );
    let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(value(&plain), value(json));
}

#[test]
fn a_record_of_a_log_is_one_line() {
    let mut written = Vec::new();
    let mut log = PrintableLog::of_lines(&mut written);
    log.write_all(b"ERROR name=\"x\n2026-01-01 INFO all is well\x1b[2J\xff\"\n")
        .unwrap();
    assert_eq!(
        String::from_utf8(written).unwrap(),
        "ERROR name=\"x 2026-01-01 INFO all is well\u{fffd}\"\n"
    );
}

/// What grows with the square of its input would take a hundred times as long here.
#[test]
fn sequences_that_never_end_cost_no_more_than_others() {
    let time = |text: &str| {
        let start = Instant::now();
        assert!(!printable(text).contains('\u{1b}'));
        start.elapsed()
    };
    for piece in ["\u{1b}]x", "\u{1b}[1", "\u{1b}", "\u{9d}\u{1b}", "\u{1b}P\u{7}"] {
        let (short, long) = (piece.repeat(20_000), piece.repeat(200_000));
        // In turns, so that whatever else the machine does slows both.
        let rounds: Vec<_> = (0..3).map(|_| (time(&short), time(&long))).collect();
        let short = rounds.iter().map(|round| round.0).min().unwrap();
        let long = rounds.iter().map(|round| round.1).min().unwrap();
        assert!(
            long < short * 30 + Duration::from_millis(100),
            "{piece:?}: {short:?}, {long:?}"
        );
    }
}

proptest! {
    #[test]
    fn nothing_else_is_left_and_once_is_enough(text in "[\u{0}-\u{a0}\u{200b}-\u{2070}a-z\\[\\];]{0,60}") {
        let plain = printable(&text);
        let hidden = ['\u{200b}'..='\u{200f}', '\u{2028}'..='\u{202e}', '\u{2060}'..='\u{206f}'];
        let acts = |c: char| c.is_control() || hidden.iter().any(|range| range.contains(&c));
        prop_assert!(!plain.contains(acts));
        prop_assert_eq!(printable(&plain), plain.clone());
    }
}
