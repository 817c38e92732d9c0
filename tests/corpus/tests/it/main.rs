//! What is kept is what is found again.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use proptest::prelude::*;
use whycrash_corpus::archive::{Entry, archive, entries, holdable};
use whycrash_corpus::{Case, cases, digest, freeze, frozen, keep};

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
            "cause = {cause:?}\nmade = \"by hand\"\nversions = \"1\"\nartifacts = [\"train.log\", \"core.zst\"]\n\
             date = \"2026-11-29\"\norigin = \"written\"\n"
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
fn a_case_is_frozen_once_and_only_after_what_is_said_of_it_first_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let (corpus, case) = (folder.path().join("corpus"), folder.path().join("a-case"));
    fs::create_dir_all(corpus.join("frozen")).unwrap();
    fs::create_dir(&case).unwrap();
    fs::write(case.join("train.log"), "step 1\n").unwrap();
    let label = "cause = \"\"\nmade = \"by hand\"\nversions = \"1\"\nartifacts = [\"train.log\"]\ndate = \"2026-11-29\"\n\
                 origin = \"written\"\n";
    fs::write(case.join("case.toml"), label).unwrap();
    assert!(freeze(&case, &corpus).is_err(), "nobody looked");
    fs::write(
        case.join("case.toml"),
        format!("{label}first = {{ cause = \"\", commit = \"0\" }}\n"),
    )
    .unwrap();
    freeze(&case, &corpus).unwrap();
    let listed = fs::read_to_string(corpus.join("frozen/digests")).unwrap();
    assert_eq!(listed, digest(&case).unwrap() + "\n");
    assert!(
        fs::read_to_string(corpus.join("frozen/2026-11-29.txtar"))
            .unwrap()
            .contains("-- a-case/train.log --")
    );
    let again = folder.path().join("another-name");
    fs::rename(&case, &again).unwrap();
    assert!(freeze(&again, &corpus).is_err(), "under another name it is the same");
}

/// What judges neither shrinks nor changes: every digest that was ever listed is listed, and is that of a case.
#[test]
fn the_frozen_part_only_grows() {
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("frozen/digests");
    let listed = fs::read_to_string(&list).expect("the list is there");
    let cases: BTreeSet<String> = frozen()
        .expect("every folder is a case")
        .iter()
        .map(|case| digest(&case.folder).expect("it can be read"))
        .collect();
    let listed: BTreeSet<String> = listed.lines().map(str::to_owned).collect();
    assert_eq!(
        cases.difference(&listed).count(),
        0,
        "a frozen case was changed, or is not in the list"
    );
    assert_eq!(
        listed.difference(&cases).count(),
        0,
        "a frozen case was changed, or is gone"
    );
    for (commit, earlier) in earlier(&list) {
        let gone = earlier.lines().filter(|digest| !listed.contains(*digest)).count();
        assert_eq!(gone, 0, "cases were frozen in {commit} that are not now");
    }
}

/// The list in all commits that changed it; none where this is no checkout, or a shallow one without them.
fn earlier(list: &Path) -> Vec<(String, String)> {
    let folder = list.parent().expect("it is in a folder");
    let git = |arguments: &[&str]| {
        let output = Command::new("git").current_dir(folder).args(arguments).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        output.status.success().then_some(text)
    };
    let commits = git(&["log", "--format=%H", "--", "digests"]).unwrap_or_default();
    let at = |commit: &str| Some((commit.to_owned(), git(&["show", &format!("{commit}:./digests")])?));
    commits.lines().filter_map(at).collect()
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
