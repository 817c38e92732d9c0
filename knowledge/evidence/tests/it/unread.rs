//! Problems that say that an artifact was not looked into, and those that do not.

use whycrash_evidence::{Limits, Problem, read};

use crate::support::{artifact, compressed};

#[test]
fn an_artifact_that_was_not_looked_into_says_so_in_its_problems() {
    let text = (0..4000_u32).map(|line| format!("step {line} loss {}\n", line.wrapping_mul(2_654_435_761)));
    let text: String = text.collect();
    let cut = compressed(text.as_bytes())
        .into_iter()
        .map(|(name, bytes)| (name, bytes[..bytes.len() / 2].to_vec()));
    let thrice = (0..3).fold(text.clone().into_bytes(), |inner, _| compressed(&inner)[1].1.clone());
    let others = [
        ("weights.bin", b"\x93NUMPY\x01\x00\x00\x00\x00\x01\x02\x03".to_vec()),
        ("libtorch.so", [b"\x7fELF\x02\x01\x01".as_slice(), &[0; 57]].concat()),
        ("log.gz.gz.gz", thrice),
    ];
    for (name, bytes) in cut.chain(others) {
        let (artifact, _keep) = artifact(name, &bytes);
        let problems = read(&artifact, &Limits::default()).problems;
        assert!(problems.iter().any(Problem::leaves_unread), "{name}: {problems:?}");
    }
}

#[test]
fn a_problem_of_something_that_was_read_leaves_nothing_unread() {
    for code in [
        "limit-events",
        "limit-line-bytes",
        "no-rank",
        "empty",
        "no-such-code",
        "",
    ] {
        assert!(!Problem::new(code, "").leaves_unread(), "{code}");
    }
    for code in [
        "unsupported-format",
        "encrypted",
        "not-unpacked",
        "unreadable",
        "damaged",
    ] {
        assert!(Problem::new(code, "").leaves_unread(), "{code}");
    }
}
