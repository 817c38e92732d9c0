//! Packages that are odd in themselves: what their directories claim, what their files are called, what their texts ask of
//! whoever parses them, and what they take from other plugins.

use std::fs;
use std::io::{Cursor, Write as _};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use whycrash_attack::server::Server;
use whycrash_hostile_plugins::{Case, Claim, Info, Place, component};
use whycrash_plugin_host::PluginInfo;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::packages::{package, page, plugin};
use crate::support::{LOG, binary, diagnose, diagnoser, limits};

/// How long looking at one of them may take: far more than any takes here.
const PATIENCE: Duration = Duration::from_secs(300);
/// Memory of its own that a server may have that looked at all of them, in KiB.
const MEMORY: u64 = 1 << 20;

/// A plugin of this name that names a cause of this id.
fn naming(name: &str, cause: &str) -> Vec<u8> {
    let claim = Claim {
        cause: cause.to_owned(),
        cites: vec![Place {
            line: Some([1, 1]),
            quote: "step 1 loss".to_owned(),
            ..Place::default()
        }],
        ..Claim::default()
    };
    let case = Case {
        info: Info {
            name: name.to_owned(),
            causes: vec![cause.to_owned()],
            ..Info::default()
        },
        findings: vec![claim],
        ..Case::default()
    };
    component(&case).expect("a component")
}

/// The package of a plugin of this name with one page.
fn bringing(name: &str, cause: &str, page: &str) -> Vec<u8> {
    let path = format!("causes/{cause}.md");
    package(&[
        ("plugin.toml", format!("name = {name:?}").as_bytes()),
        ("plugin.wasm", &naming(name, cause)),
        (&path, page.as_bytes()),
    ])
}

fn titled(id: &str, title: &str, more: &str) -> String {
    page(id, more).replace("The team's own cause", title)
}

/// A package with this manifest and this page beside what belongs there.
fn with(manifest: &str, more: &[(&str, &[u8])]) -> Vec<u8> {
    let (wasm, own) = (plugin(), page("team-loss", ""));
    let files = [
        ("plugin.toml", manifest.as_bytes()),
        ("plugin.wasm", &wasm),
        ("causes/team-loss.md", own.as_bytes()),
    ];
    package(&[&files, more].concat())
}

const NAME: &str = "name = \"team\"\n";

/// A file of this many zeros under this name, packed.
fn zeros(name: &str, bytes: usize) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let packed = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    zip.start_file(name, packed).expect("a file");
    for _ in 0..bytes >> 20 {
        zip.write_all(&vec![0; 1 << 20]).expect("it is written");
    }
    zip.finish().expect("a zip file").into_inner()
}

/// The package with every one of these bytes in its directory and its entries replaced.
fn renamed(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut renamed = bytes.to_vec();
    for at in 0..renamed.len().saturating_sub(from.len()) {
        if renamed[at..].starts_with(from) {
            renamed[at..at + to.len()].copy_from_slice(to);
        }
    }
    renamed
}

/// A package whose component is said to be a symbolic link.
fn linking() -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default();
    zip.start_file("plugin.toml", options).expect("a file");
    zip.write_all(NAME.as_bytes()).expect("it is written");
    zip.add_symlink("plugin.wasm", "/etc/passwd", options).expect("a link");
    zip.finish().expect("a zip file").into_inner()
}

/// Each by what it is.
fn odd() -> Vec<(&'static str, Vec<u8>)> {
    let deep = |open: &str, close: &str, depth: usize| open.repeat(depth) + &close.repeat(depth);
    let prose = |text: String| page("team-loss", "").replace("It.\n", &text);
    let own = |page: String| {
        let wasm = plugin();
        package(&[
            ("plugin.toml", NAME.as_bytes()),
            ("plugin.wasm", &wasm),
            ("causes/team-loss.md", page.as_bytes()),
        ])
    };
    let more = |text: &str| own(page("team-loss", text));
    vec![
        ("a manifest of a hundred megabytes", zeros("plugin.toml", 100 << 20)),
        ("a component of two gigabytes", zeros("plugin.wasm", 2 << 30)),
        (
            "lists in lists in its manifest",
            with(&format!("{NAME}x = {}", deep("[", "]", 30_000)), &[]),
        ),
        (
            "tables in tables in its manifest",
            with(&format!("{NAME}x{} = 1", ".x".repeat(30_000)), &[]),
        ),
        (
            "inline tables in its manifest",
            with(
                &format!("{NAME}x = {}1{}", "{x=".repeat(10_000), "}".repeat(10_000)),
                &[],
            ),
        ),
        (
            "a manifest with two names",
            with("name = \"team\"\nname = \"other\"\n", &[]),
        ),
        ("a name that is a path", with("name = \"../../team\"\n", &[])),
        ("a name with escapes", with("name = \"\\u001b[31mteam\\u202e\"\n", &[])),
        (
            "two components",
            renamed(
                &with(NAME, &[("plugin.wasx", b"nonsense")]),
                b"plugin.wasx",
                b"plugin.wasm",
            ),
        ),
        (
            "two manifests",
            renamed(
                &with(NAME, &[("plugin.tomx", b"name = \"cuda-oom\"")]),
                b"plugin.tomx",
                b"plugin.toml",
            ),
        ),
        ("a component that is a link", linking()),
        (
            "absolute paths",
            with(NAME, &[("/etc/cron.d/x", b"x"), ("/causes/team-y.md", b"x")]),
        ),
        (
            "paths of drives",
            with(NAME, &[("C:\\causes\\team-y.md", b"x"), ("causes\\team-y.md", b"x")]),
        ),
        (
            "a page in the folder above",
            with(NAME, &[("causes/..\\team-y.md", b"x"), ("causes/./team-y.md", b"x")]),
        ),
        (
            "names with escapes",
            with(NAME, &[("causes/\u{1b}[31m\u{202e}.md", b"x")]),
        ),
        (
            "a name that is no text",
            renamed(
                &with(NAME, &[("causes/~~.md", b"x")]),
                b"causes/~~.md",
                b"causes/\xff\xff.md",
            ),
        ),
        (
            "lists in lists in a page",
            more(&format!("x = {}", deep("[", "]", 30_000))),
        ),
        ("dotted names in a page", more(&format!("x{} = 1", ".x".repeat(30_000)))),
        (
            "quotes in quotes",
            own(prose(format!("{} deep\n", "> ".repeat(60_000)))),
        ),
        (
            "lists in lists in prose",
            own(prose((0..400).map(|n| format!("{}- x\n", "  ".repeat(n))).collect())),
        ),
        (
            "links in links",
            own(prose("[".repeat(100_000) + &"](x)".repeat(20_000))),
        ),
        ("stress on stress", own(prose("*a _b ".repeat(30_000)))),
        (
            "a script",
            own(prose(
                "<script>alert(1)</script>\n\n[x](javascript:alert(1))\n".to_owned(),
            )),
        ),
        (
            "a pattern that is a bomb",
            more("[[leads_to]]\ncause = \"oom-exhaustion\"\nsays = '(\\w{1000}){1000}'\n"),
        ),
        (
            "a title with escapes",
            own(titled("team-loss", "\\u001b]0;evil\\u0007\\u202e", "")),
        ),
        (
            "a page that leads to itself",
            more("[[leads_to]]\ncause = \"team-loss\"\nsays = 'loss'\n"),
        ),
        ("a page that is its own family", more("members = [\"team-loss\"]\n")),
        ("another's id", more("also = [\"rival-loss\"]\n")),
        (
            "very many ids",
            more(&format!(
                "also = [{}]\n",
                (0..9000).map(|n| format!("\"team-{n}\",")).collect::<String>()
            )),
        ),
    ]
}

/// What becomes of a package beside others.
fn installed(packages: &[(&str, &[u8])]) -> Vec<PluginInfo> {
    let folder = TempDir::new().expect("a folder");
    for (name, bytes) in packages {
        fs::write(folder.path().join(name), bytes).expect("a file");
    }
    let plugins = diagnoser(folder.path(), limits()).plugins().into_iter();
    plugins.filter(|plugin| plugin.source != "built-in").collect()
}

fn is_clean(text: &str) -> bool {
    !text.contains(['\u{1b}', '\u{202e}', '\u{7}', '\0'])
}

#[test]
fn odd_packages_are_refused_or_have_no_effect_but_their_own() {
    for (what, bytes) in odd() {
        let started = Instant::now();
        let folder = TempDir::new().expect("a folder");
        fs::write(folder.path().join("team.zip"), &bytes).expect("a file");
        let diagnoser = diagnoser(folder.path(), limits());
        let document = diagnose(&diagnoser, LOG);
        assert!(
            document
                .findings
                .iter()
                .any(|finding| finding.cause == "dl-worker-oom-killed"),
            "{what}: what others found is lost"
        );
        let shown = serde_json::to_string(&document).expect("it has a JSON form");
        assert!(!shown.contains(r"\u001b") && is_clean(&shown), "{what}: {shown}");
        for plugin in diagnoser.plugins() {
            let shown = serde_json::to_string(&plugin).expect("it has a JSON form");
            assert!(!shown.contains(r"\u001b") && is_clean(&shown), "{what}: {shown}");
            assert!(
                plugin.source == "built-in" || plugin.problem != Some(String::new()),
                "{what}"
            );
        }
        assert!(started.elapsed() < PATIENCE, "{what}: it took {:?}", started.elapsed());
    }
}

#[test]
fn no_package_takes_the_pages_of_another_plugin() {
    let rival = bringing("rival", "rival-loss", &titled("rival-loss", "The rival's own", ""));
    // Earlier in the alphabet, with a page that says that it answers for the rival's.
    let thief = bringing(
        "a-thief",
        "a-thief-x",
        &titled("a-thief-x", "Stolen", "also = [\"rival-loss\"]\n"),
    );
    let plugins = installed(&[("a.zip", &thief), ("rival.zip", &rival)]);
    let problem = plugins[0].problem.clone().unwrap_or_default();
    assert!(
        problem.contains("rival-loss does not begin with the plugin's name"),
        "{plugins:?}"
    );
    assert_eq!(plugins[1].problem, None);
    // Both names are the beginning of the id.
    let first = bringing("team", "team-x-loss", &titled("team-x-loss", "The first", ""));
    let second = bringing("team-x", "team-x-loss", &titled("team-x-loss", "The second", ""));
    let plugins = installed(&[("first.zip", &first), ("second.zip", &second)]);
    let refused: Vec<_> = plugins.iter().filter_map(|plugin| plugin.problem.as_ref()).collect();
    assert_eq!(refused.len(), 1, "{plugins:?}");
    assert!(
        refused[0].contains("it brings a page for team-x-loss, and so does team"),
        "{refused:?}"
    );
}

#[test]
fn a_server_refuses_odd_packages_and_goes_on() {
    let home = TempDir::new().expect("a folder");
    let server = Server::start(&binary("whycrash-server"), &home.path().join("data"), "").expect("it starts");
    let address = format!("http://{}/api/v1/plugins", server.address());
    for (what, bytes) in odd() {
        let answer = server.client.post(&address).body(bytes).send();
        let answer = answer.unwrap_or_else(|error| panic!("{what}: {error}"));
        let status = answer.status().as_u16();
        // Some of them are usable, and other bytes than the version that was taken before.
        assert!(
            [200, 409, 422].contains(&status),
            "{what}: {status}: {:?}",
            answer.text()
        );
        let said = answer.text().expect("text");
        assert!(is_clean(&said) && !said.contains(r"\u001b"), "{what}: {said}");
    }
    let listed: Value = server.json("/api/v1/plugins").expect("it lists its plugins");
    assert!(listed["plugins"].as_array().expect("a list").len() > 5);
    assert!(server.peak() < MEMORY, "{} KiB", server.peak());
}
