//! What is kept is what is found again.

use std::fs;

use proptest::prelude::*;
use whycrash_corpus::archive::{Entry, archive, entries, holdable};
use whycrash_corpus::{Case, cases, keep};

fn pairs<'a>(entries: &[Entry<'a>]) -> Vec<(&'a str, &'a str)> {
    entries.iter().map(|entry| (entry.name, entry.text)).collect()
}

#[test]
fn texts_stand_below_their_marks() {
    let text = "about it\n-- a/b.log --\none\n\n--  --\ntwo\n-- c --\n-- d --\nthree\n";
    assert_eq!(
        pairs(&entries(text)),
        [("a/b.log", "one\n\n--  --\ntwo\n"), ("c", ""), ("d", "three\n")]
    );
    assert_eq!(entries(""), []);
    assert_eq!(entries("no mark\n"), []);
}

#[test]
fn what_would_come_out_changed_is_not_held() {
    for bytes in [
        &b"no end"[..],
        b"a\0b\n",
        b"\xff\n",
        b"one\n-- two --\n",
        b"-- two --\r\n-- three --\n",
    ] {
        assert_eq!(holdable(bytes), None, "{bytes:?}");
    }
    for bytes in [&b""[..], b"one\r\ntwo\n", b"-- two--\n", b" -- two --\n", b"--  --\n"] {
        assert!(holdable(bytes).is_some(), "{bytes:?}");
    }
}

proptest! {
    #[test]
    fn whatever_is_held_is_found_again(texts in prop::collection::vec("[-a \r\n]{0,20}", 0..6)) {
        let held: Vec<String> = texts.into_iter().filter(|text| holdable(text.as_bytes()).is_some()).collect();
        let names: Vec<String> = (0..held.len()).map(|number| format!("case/{number}")).collect();
        let all: Vec<Entry<'_>> = names.iter().zip(&held).map(|(name, text)| Entry { name, text }).collect();
        let packed = archive(all.iter().copied());
        prop_assert_eq!(entries(&packed), all);
    }
}

#[test]
fn a_case_that_is_kept_stands_in_the_archive_of_its_cause_and_nowhere_else() {
    let folder = tempfile::tempdir().unwrap();
    let (corpus, case) = (folder.path().join("corpus"), folder.path().join("a-case"));
    for part in ["cases", "files"] {
        fs::create_dir_all(corpus.join(part)).unwrap();
    }
    fs::create_dir(&case).unwrap();
    fs::write(case.join("train.log"), "step 1\n").unwrap();
    fs::write(case.join("core.zst"), b"\x28\xb5\x2f\xfd\x00").unwrap();
    let label = |cause: &str| {
        let label = format!(
            "cause = {cause:?}\nmade = \"by hand\"\nversions = \"1\"\nartifacts = [\"train.log\", \"core.zst\"]\n"
        );
        fs::write(case.join("case.toml"), &label).unwrap();
        label
    };
    let archive_of = |cause: &str| fs::read_to_string(corpus.join(format!("cases/{cause}.txtar"))).ok();
    let first = label("oom-exhaustion");
    keep(&case, &corpus).unwrap();
    let expected = format!("-- a-case/case.toml --\n{first}-- a-case/train.log --\nstep 1\n");
    assert_eq!(archive_of("oom-exhaustion"), Some(expected));
    assert!(corpus.join("files/a-case/core.zst").is_file());
    label("");
    fs::remove_file(case.join("core.zst")).unwrap();
    keep(&case, &corpus).unwrap();
    assert_eq!(archive_of("oom-exhaustion"), None, "its cause was another one");
    assert!(archive_of("none").is_some_and(|text| text.contains("-- a-case/train.log --")));
    assert!(!corpus.join("files/a-case").exists());
}

#[test]
fn all_cases_are_laid_out_with_what_they_name() {
    let cases = cases().expect("every folder is a case");
    assert!(cases.len() > 1000, "{}", cases.len());
    let absent = |case: &Case| {
        case.artifacts()
            .find(|(_, path)| !path.is_file())
            .map(|(name, _)| name.to_owned())
    };
    for case in &cases {
        assert_eq!(absent(case), None, "{}", case.name);
    }
}
