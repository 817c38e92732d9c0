//! Plugin packages and folders of pages: causes that are not ours, and what they may not do.

use std::fs;
use std::io::{Cursor, Write as _};
use std::path::Path;

use tempfile::TempDir;
use whycrash_hostile_plugins::{Case, Claim, Info, Place, component};
use whycrash_plugin_host::{Diagnoser, PluginInfo, Settings};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::support::{LOG, diagnose, diagnoser, limits};

/// A plugin called `team` that names a cause of its own.
pub fn plugin() -> Vec<u8> {
    let claim = Claim {
        cause: "team-loss".to_owned(),
        confidence: 0.99,
        cites: vec![Place {
            line: Some([1, 1]),
            quote: "step 1 loss".to_owned(),
            ..Place::default()
        }],
        ..Claim::default()
    };
    let case = Case {
        info: Info {
            name: "team".to_owned(),
            causes: vec!["team-loss".to_owned()],
            ..Info::default()
        },
        findings: vec![claim],
        ..Case::default()
    };
    component(&case).expect("a component")
}

/// A page that is right, with more in its front matter.
pub fn page(id: &str, more: &str) -> String {
    format!(
        "+++\nid = {id:?}\ntitle = \"The team's own cause\"\nsummary = \"It is theirs.\"\nseverity = \"fatal\"\ndomain = \"program\"\n\
         retry = {{ advice = \"unknown\" }}\ntags = []\n\
         signs = [\"a step has a loss\"]\nreferences = [\"https://example.com/\"]\n{more}\n\n[[fixes]]\nsummary = \"Ask the team\"\n\
         steps = [\"Ask.\"]\n+++\n\n## What happens\n\nIt.\n"
    )
}

/// A zip file with these files.
pub fn package(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in files {
        zip.start_file(*name, SimpleFileOptions::default()).expect("a file");
        zip.write_all(bytes).expect("it is written");
    }
    zip.finish().expect("a zip file").into_inner()
}

/// What becomes of a package, and the diagnoser that it was given to.
pub fn install(bytes: &[u8]) -> (PluginInfo, Diagnoser) {
    let folder = TempDir::new().expect("a folder");
    fs::write(folder.path().join("team.zip"), bytes).expect("a file");
    let diagnoser = diagnoser(folder.path(), limits());
    let plugin = diagnoser
        .plugins()
        .into_iter()
        .find(|plugin| plugin.source != "built-in");
    (plugin.expect("it is listed"), diagnoser)
}

const MANIFEST: (&str, &[u8]) = ("plugin.toml", b"name = \"team\"");

#[test]
fn a_plugin_names_causes_of_its_own_with_their_pages() {
    let (wasm, own) = (plugin(), page("team-loss", ""));
    let (plugin, diagnoser) = install(&package(&[
        MANIFEST,
        ("plugin.wasm", &wasm),
        ("causes/team-loss.md", own.as_bytes()),
        ("README.md", b"for people"),
    ]));
    assert_eq!((plugin.problem, plugin.pages), (None, vec!["team-loss".to_owned()]));
    let document = diagnose(&diagnoser, LOG);
    let finding = &document.findings[0];
    assert_eq!(
        (finding.cause.as_str(), finding.title.as_str()),
        ("team-loss", "The team's own cause")
    );
    assert_eq!(finding.fixes[0].summary, "Ask the team");
    let catalog = diagnoser.catalog();
    let page = catalog.get("team-loss").expect("the page is shown");
    assert_eq!(page.origin, "plugin team");
}

#[test]
fn packages_that_are_not_right_are_refused_with_the_reason() {
    let wasm = plugin();
    let with = |name: &str, text: &str| {
        let own = page("team-loss", "");
        package(&[
            MANIFEST,
            ("plugin.wasm", &wasm),
            ("causes/team-loss.md", own.as_bytes()),
            (name, text.as_bytes()),
        ])
    };
    let table = "[[recognise]]\nkind = \"exit\"\ntext = 'died'\nconfidence = 0.5\nexplanation = \"x\"";
    let whole = with("x", "");
    for (what, bytes, reason) in [
        ("half of one", whole[..whole.len() / 2].to_vec(), "no whole zip file"),
        ("no manifest", package(&[("plugin.wasm", &wasm)]), "plugin.toml"),
        ("no component", package(&[MANIFEST]), "plugin.wasm"),
        (
            "a bad manifest",
            package(&[("plugin.toml", b"nonsense"), ("plugin.wasm", &wasm)]),
            "does not parse",
        ),
        (
            "another name",
            package(&[("plugin.toml", b"name = \"other\""), ("plugin.wasm", &wasm)]),
            "not documented",
        ),
        (
            "a page under no name of its own",
            with("causes/loss.md", &page("loss", "")),
            "does not begin with",
        ),
        (
            "a page of ours",
            with("causes/oom-exhaustion.md", &page("oom-exhaustion", "")),
            "does not begin with",
        ),
        (
            "a page for ours",
            with("causes/team-x.md", &page("team-x", "also = [\"oom-exhaustion\"]")),
            "does not begin with",
        ),
        (
            "a broken page",
            with("causes/team-x.md", "+++\nid = 1\n+++\n"),
            "team-x.md, line",
        ),
        (
            "a page with tables",
            with("causes/team-x.md", &page("team-x", table)),
            "recognise tables",
        ),
        (
            "a page that leads nowhere",
            with("causes/team-x.md", &(page("team-x", "") + "[x](no-such.md)")),
            "no-such",
        ),
        (
            "a page of zeros",
            with("causes/team-x.md", &"\0".repeat(20 << 20)),
            "more than the",
        ),
        (
            "a page that is no text",
            package(&[MANIFEST, ("plugin.wasm", &wasm), ("causes/team-x.md", b"\xff")]),
            "no text",
        ),
    ] {
        let (plugin, _) = install(&bytes);
        let problem = plugin.problem.unwrap_or_default();
        assert!(problem.contains(reason), "{what}: {problem:?} lacks {reason:?}");
    }
}

/// A diagnoser with this folder of pages.
fn knowing(folder: &Path) -> Diagnoser {
    let settings = Settings {
        knowledge_folders: vec![folder.to_owned()],
        ..Settings::default()
    };
    Diagnoser::new(settings).expect("a diagnoser")
}

#[test]
fn a_folder_of_pages_adds_causes_and_stands_in_the_place_of_ours() {
    let folder = TempDir::new().expect("a folder");
    let table = "[[recognise]]\nkind = \"python-exception\"\nconfidence = 0.99\nexplanation = \"The worker died.\"\n\
                 where.message = { matches = 'DataLoader worker .* is killed' }";
    fs::write(folder.path().join("team-worker.md"), page("team-worker", table)).expect("a page");
    fs::write(folder.path().join("oom-exhaustion.md"), page("oom-exhaustion", "")).expect("a page");
    fs::write(folder.path().join("team-broken.md"), "nonsense").expect("a page");
    let diagnoser = knowing(folder.path());
    let catalog = diagnoser.catalog();
    assert_eq!(
        catalog.get("oom-exhaustion").expect("it is there").title,
        "The team's own cause"
    );
    assert!(
        catalog.get("team-broken").is_none(),
        "what is wrong is left out, and the rest stays"
    );
    let document = diagnose(&diagnoser, LOG);
    assert!(
        document.findings.iter().any(|finding| finding.cause == "team-worker"),
        "{:?}",
        document.findings
    );
}

/// The record at the end of a zip file (APPNOTE.TXT 4.3.16): how many entries, and where their directory begins.
fn end(entries: u16, directory: u32) -> Vec<u8> {
    let mut record = b"PK\x05\x06\0\0\0\0".to_vec();
    record.extend([entries, entries].iter().flat_map(|count| count.to_le_bytes()));
    record.extend([0, directory].iter().flat_map(|of: &u32| of.to_le_bytes()));
    record.extend([0, 0]);
    record
}

#[test]
fn a_package_that_claims_to_hold_millions_of_files_takes_no_memory_for_them() {
    const ENTRIES: u64 = 60_000_000;
    // Entries are believed as long as the file has as many bytes.
    let mut bytes = b"PK\x03\x04".to_vec();
    bytes.resize(ENTRIES as usize + 1, 0);
    let at = bytes.len() as u64;
    // ZIP64's own record, and where it is (APPNOTE.TXT 4.3.14 and 4.3.15).
    bytes.extend(b"PK\x06\x06");
    bytes.extend(44_u64.to_le_bytes());
    bytes.extend([45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    for number in [ENTRIES, ENTRIES, 0, ENTRIES] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(b"PK\x06\x07\0\0\0\0");
    bytes.extend(at.to_le_bytes());
    bytes.extend([1, 0, 0, 0]);
    bytes.extend(end(u16::MAX, u32::MAX));
    let (plugin, _) = install(&bytes);
    let problem = plugin.problem.expect("it is refused");
    assert!(problem.contains("ZIP64"), "{problem}");
}

#[test]
fn a_package_with_many_directories_costs_no_more_than_its_size() {
    const ENTRIES: u16 = 20_000;
    let mut bytes = b"PK\x03\x04".to_vec();
    let directory = bytes.len() as u32;
    for _ in 0..ENTRIES {
        // An entry without a name (APPNOTE.TXT 4.3.12).
        bytes.extend(b"PK\x01\x02");
        bytes.extend([0; 42]);
    }
    bytes.extend(b"what is no entry ends every attempt to read them all");
    for _ in 0..100_000 {
        bytes.extend(end(ENTRIES + 1, directory));
    }
    let (plugin, _) = install(&bytes);
    let problem = plugin.problem.expect("it is refused");
    assert!(problem.contains("no whole zip file"), "{problem}");
}
