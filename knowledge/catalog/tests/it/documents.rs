//! What a document must be, and what is said of one that is not.

use std::fs;
use std::path::Path;

use whycrash_catalog::{Catalog, Cause, check, parse};

use crate::{GOOD, good_with};

/// Parses `text`, or says what is wrong with it.
fn fault_of(text: &str) -> String {
    match parse("oom-example.md", text) {
        Ok(_) => "accepted".to_owned(),
        Err(fault) => fault.to_string(),
    }
}

#[test]
fn each_broken_rule_is_named_with_file_and_line() {
    let cases = [
        ("good", GOOD.to_owned()),
        ("no front matter", "Just prose.\n".to_owned()),
        ("front matter without end", "+++\nid = \"oom-example\"\n".to_owned()),
        ("not TOML", good_with("severity = ", "severity ")),
        ("unknown key", good_with("tags = ", "tag = ")),
        ("unknown severity", good_with("\"fatal\"", "\"terrible\"")),
        ("unknown domain", good_with("\"program\"", "\"weather\"")),
        ("unknown advice", good_with("\"change-first\"", "\"pray\"")),
        ("advice without a reason", good_with("\"It fails again.\"", "\"\"")),
        (
            "a consequence worded as no pattern",
            good_with("tags", "leads_to = [{ cause = \"oom-other\", says = '(' }]\ntags"),
        ),
        ("missing key", good_with("title = \"An example\"\n", "")),
        (
            "id is not the file's name",
            good_with("\"oom-example\"", "\"oom-other\""),
        ),
        ("id is not kebab-case", good_with("\"oom-example\"", "\"oom.example\"")),
        ("empty title", good_with("\"An example\"", "\"\"")),
        ("no sign", good_with("[\"a sign\"]", "[]")),
        ("no reference", good_with("[\"https://example.org\"]", "[]")),
        ("fix without steps", good_with("[\"like so\"]", "[]")),
        (
            "no fix",
            good_with("[[fixes]]\nsummary = \"Mend it\"\nsteps = [\"like so\"]\n", ""),
        ),
        (
            "bad date",
            good_with(
                "\n+++\nProse",
                "\n[[verified]]\ndate = \"today\"\non = \"x\"\nobserved = \"y\"\n+++\nProse",
            ),
        ),
        ("no prose", good_with("Prose with a [link](oom-example.md).\n", "")),
        ("escaped quotes in prose", good_with("Prose with", "Prose \\\"with\\\"")),
        ("quotes escaped twice", good_with("[\"a sign\"]", "['a \\\"sign\\\"']")),
    ];
    let said: Vec<String> = cases
        .iter()
        .map(|(name, text)| format!("{name}:\n  {}", fault_of(text)))
        .collect();
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn documents_must_agree_with_each_other() {
    let link = good_with("(oom-example.md)", "(oom-nowhere.md)");
    let claim =
        good_with("tags", "also = [\"oom-example\"]\ntags").replace("id = \"oom-example\"", "id = \"oom-claim\"");
    let family = good_with("tags", "members = [\"oom-nobody\"]\ntags").replace("\"oom-example\"", "\"oom-family\"");
    let documents = [
        (
            parse("oom-family.md", &family).expect("a dangling member alone is no fault of the document"),
            family.as_str(),
        ),
        (
            parse("oom-example.md", &link).expect("a dangling link alone is no fault of the document"),
            link.as_str(),
        ),
        (
            parse("oom-claim.md", &claim).expect("a double claim alone is no fault of the document"),
            claim.as_str(),
        ),
    ];
    let said: Vec<String> = check(&documents).iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn every_reproducer_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for cause in Catalog::embedded().causes() {
        if let Some(path) = &cause.reproducer {
            assert!(
                root.join(path).is_file(),
                "{}: the reproducer {path} does not exist",
                cause.id
            );
        }
    }
}

#[test]
fn a_page_is_found_by_every_id_it_answers_for() {
    let catalog = Catalog::embedded();
    for cause in catalog.causes() {
        for id in std::iter::once(&cause.id).chain(&cause.also) {
            assert_eq!(catalog.get(id).map(|c| &c.id), Some(&cause.id));
        }
    }
    assert_eq!(catalog.get("no-such-cause"), None);
}

#[test]
fn the_catalogue_holds() {
    let catalog = Catalog::embedded();
    let list: Vec<String> = catalog
        .causes()
        .iter()
        .map(|cause| {
            let also = if cause.also.is_empty() {
                String::new()
            } else {
                format!(" (also {})", cause.also.join(", "))
            };
            format!("{}{also}: {}", cause.id, cause.title)
        })
        .collect();
    insta::assert_snapshot!(list.join("\n"));
}

/// A build keeps them in another form than they are written in; what its binary knows is what stands there.
#[test]
fn what_is_embedded_is_what_the_pages_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../causes");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let pages =
        files.filter(|path| path.extension().is_some_and(|ending| ending == "md") && !path.ends_with("README.md"));
    let mut written: Vec<Cause> = pages
        .map(|path| {
            let file = path.file_name().unwrap().to_string_lossy();
            parse(&file, &fs::read_to_string(&path).unwrap()).unwrap()
        })
        .collect();
    written.sort_by(|a, b| a.id.cmp(&b.id));
    let embedded = Catalog::embedded();
    assert_eq!(embedded.causes().len(), written.len());
    for (embedded, written) in embedded.causes().iter().zip(&written) {
        assert_eq!(embedded, written);
    }
}
