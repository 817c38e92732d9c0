//! A plugin, as somebody writes one who has nothing of this repository but the programs: made, built, tried, published.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;
use std::time::Instant;
use std::{env, fs};

use serde_json::Value;
use tempfile::TempDir;

use crate::house::{House, binary};

/// Where compilers may leave what the next run of these tests can use.
fn builds() -> PathBuf {
    let folder = binary("whycrash").with_file_name("authors");
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// Where `plugins/build.sh` left what components here are built of: the standard library takes a minute, and is the same.
fn components() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let of_all = || Some(PathBuf::from(env::var_os("CARGO_TARGET_DIR")?).join("plugins"));
    let folder = env::var_os("WHYCRASH_PLUGIN_TARGET_DIR").map(PathBuf::from);
    root.join(folder.or_else(of_all).unwrap_or("plugins/builtin/target".into()))
}

/// The program in a folder of an author's own.
fn whycrash(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(binary("whycrash"))
        .args(arguments)
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", components())
        .env("XDG_CACHE_HOME", builds())
        .env_remove("WHYCRASH_PLUGINS")
        .output()
        .expect("it runs")
}

fn well(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{}{said}",
        String::from_utf8_lossy(&output.stdout)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What the plugins here are called.
const NAME: &str = "team-licences";

/// A new project in a folder, built.
fn build(home: &Path, language: &str) -> PathBuf {
    well(&whycrash(home, &["plugin", "new", NAME, "--lang", language]));
    let project = home.join(NAME);
    if language == "rust" {
        // In the versions that are compiled already.
        let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins/builtin/Cargo.lock");
        fs::copy(lock, project.join("Cargo.lock")).expect("it is copied");
    }
    well(&whycrash(&project, &["plugin", "build"]));
    project
}

/// One in Rust, always in the same place, and what it was like when it was built. It is built once: a compiler takes
/// longer for it than everything else here together.
static RUST: LazyLock<[PathBuf; 2]> = LazyLock::new(|| {
    let home = builds().join("rust");
    let _ = fs::remove_dir_all(&home);
    let untouched = home.join("untouched");
    fs::create_dir_all(&untouched).expect("a folder");
    let project = build(&home, "rust");
    copy(&project, &untouched);
    [project, untouched.join(NAME)]
});

fn copy(folder: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-R").args([folder, to]).status();
    assert!(copied.expect("cp runs").success());
}

/// A copy of it, for a test that changes it.
fn copied() -> (TempDir, PathBuf) {
    let home = TempDir::new().expect("a folder");
    copy(&RUST[1], home.path());
    let project = home.path().join(NAME);
    (home, project)
}

/// What the plugin's own tests in its language say, with the runner that everybody has for that.
fn test_in_its_language(language: &str, project: &Path) {
    let (program, arguments): (PathBuf, &[&str]) = match language {
        "rust" => (env!("CARGO").into(), &["test", "--quiet"]),
        "js" => ("node".into(), &["--test"]),
        "ts" => ("npm".into(), &["--silent", "test"]),
        "python" => (project.join(".venv/bin/pytest"), &["--quiet"]),
        "c" => ("make".into(), &["--silent", "test"]),
        _ => panic!("there is no runner for {language}"),
    };
    let mut command = Command::new(&program);
    command.args(arguments).current_dir(project);
    let output = command.env("CARGO_TARGET_DIR", builds().join("target")).output();
    well(&output.unwrap_or_else(|error| panic!("{}: {error}", program.display())));
}

/// Every step from an empty folder to a cause of one's own in a server's answers.
fn from_nothing_to_a_cause(language: &str) {
    let begun = Instant::now();
    let home = TempDir::new().expect("a folder");
    let project = build(home.path(), language);
    println!("{language}: made and built after {:?}", begun.elapsed());
    to_a_cause(language, &project, begun);
    breaks(language, &project);
}

/// What follows once a plugin is built.
fn to_a_cause(language: &str, project: &Path, begun: Instant) {
    // What must be found is brought along, byte by byte the same in every language.
    let expected = project.join("cases/licence-server-down/expected.json");
    let written = fs::read_to_string(&expected).expect("it is part of a new project");
    let tried = well(&whycrash(project, &["plugin", "test", "--sandbox", "--format", "json"]));
    let tried: Value = serde_json::from_str(&tried).expect("JSON");
    let cases = tried["cases"].as_array().expect("cases");
    assert_eq!(cases.len(), 2, "{tried}");
    assert!(cases.iter().all(|case| case["problem"].is_null()), "{tried}");
    assert!(cases[0]["run"]["fuel"].as_u64() < tried["fuel"].as_u64());
    assert_eq!(fs::read_to_string(&expected).expect("it is there"), written);
    assert_eq!(
        cases[1]["findings"].to_string(),
        serde_json::from_str::<Value>(&written).expect("JSON").to_string()
    );
    test_in_its_language(language, project);
    well(&whycrash(project, &["plugin", "test"]));
    let shown = well(&whycrash(project, &["plugin", "inspect", "build/team-licences.zip"]));
    assert!(
        shown.contains("team-licences 0.1.0") && !shown.contains("wasi:"),
        "{shown}"
    );

    let house = House::open("");
    let server = ["--server", &house.url];
    well(&whycrash(project, &[&["plugin", "publish"], &server[..]].concat()));
    let listed = well(&whycrash(project, &[&["plugin", "list"], &server[..]].concat()));
    assert!(listed.contains("team-licences 0.1.0"), "{listed}");
    let log = project.join("cases/licence-server-down/train.log");
    let sent = well(&whycrash(
        project,
        &[
            &["upload", log.to_str().expect("text")],
            &server[..],
            &["--format", "json"],
        ]
        .concat(),
    ));
    let sent: Value = serde_json::from_str(&sent).expect("JSON");
    let document = house.document(sent["id"].as_str().expect("an id"));
    assert_eq!(document["findings"][0]["cause"], "team-licences-licence", "{document}");
    println!("{language}: its cause is in the server after {:?}", begun.elapsed());
    let page = house.get("/api/v1/causes/team-licences-licence");
    assert_eq!(page["origin"], "plugin team-licences");
    well(&whycrash(
        project,
        &[&["plugin", "remove", "team-licences"], &server[..]].concat(),
    ));
}

/// What is put in front of the first line of `diagnose` in each language, and how its place is told.
const BREAKS: [(&str, &str, &str, &str); 5] = [
    (
        "rust",
        "src/lib.rs",
        "        panic!(\"deliberate\");",
        "src/lib.rs:LINE:",
    ),
    (
        "python",
        "app.py",
        "    raise ValueError(\"deliberate\")",
        "File \"app.py\", line LINE, in diagnose",
    ),
    (
        "js",
        "app.js",
        "  throw new Error('deliberate');",
        "at diagnose (app.js:LINE:",
    ),
    (
        "ts",
        "app.ts",
        "  throw new Error('deliberate');",
        "at diagnose (app.ts:LINE:",
    ),
    ("c", "app.c", "  WC_FAIL(\"deliberate\");", "app.c:LINE: "),
];

/// A plugin that fails says at which line of its source, natively and in the sandbox alike.
fn breaks(language: &str, project: &Path) {
    let broken = BREAKS.iter().find(|(of, ..)| *of == language);
    let (_, file, line, place) = broken.expect("it can be broken");
    let path = project.join(file);
    let source = fs::read_to_string(&path).expect("it is there");
    let begins = |line: &str| line.contains("diagnose(") && line.trim_end().ends_with(['{', ':']);
    let before = source.lines().position(begins).expect("it diagnoses") + 1;
    let mut lines: Vec<&str> = source.lines().collect();
    lines.insert(before, line);
    fs::write(&path, lines.join("\n") + "\n").expect("it is written");
    let place = place.replace("LINE", &(before + 1).to_string());
    for way in [&["plugin", "test"][..], &["plugin", "test", "--sandbox"][..]] {
        let begun = Instant::now();
        if way.len() > 2 {
            well(&whycrash(project, &["plugin", "build"]));
        }
        let tried = whycrash(project, way);
        let said = String::from_utf8_lossy(&tried.stdout);
        println!(
            "{language}: broken on purpose, `{}` says after {:?}:\n{said}",
            way.join(" "),
            begun.elapsed()
        );
        assert_eq!(tried.status.code(), Some(1), "{said}");
        assert!(
            said.contains(&place) && said.contains("deliberate"),
            "{place} is not in {said}"
        );
    }
}

/// A change is built and tried by itself while somebody watches.
fn watch(project: &Path) {
    let mut watching = Command::new(binary("whycrash"))
        .args(["plugin", "test", "--watch"])
        .current_dir(project)
        .env("CARGO_TARGET_DIR", components())
        .env("XDG_CACHE_HOME", builds())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let said = BufReader::new(watching.stdout.take().expect("it has a standard output"));
    let mut lines = said.lines().map(|line| line.expect("text"));
    assert!(lines.any(|line| line.starts_with("ok") && line.contains("licence-server-down")));
    let case = project.join("cases/healthy-log/case.toml");
    fs::write(case, "cause = \"team-licences-licence\"\n").expect("a case");
    assert!(lines.any(|line| line.starts_with("FAILED") && line.contains("healthy-log")));
    watching.kill().expect("it was still there");
    watching.wait().expect("it ends");
}

#[test]
fn a_plugin_in_rust_from_nothing_to_a_cause() {
    let begun = Instant::now();
    let [project, _] = &*RUST;
    println!("rust: made and built after {:?}", begun.elapsed());
    to_a_cause("rust", project, begun);
    watch(project);
}

#[test]
fn a_plugin_in_rust_that_panics_says_where() {
    let (_home, project) = copied();
    breaks("rust", &project);
}

#[test]
#[ignore = "fetches its tools from PyPI; `make authors` runs it"]
fn a_plugin_in_python_from_nothing_to_a_cause() {
    from_nothing_to_a_cause("python");
}

#[test]
#[ignore = "fetches its tools from npm; `make authors` runs it"]
fn a_plugin_in_javascript_from_nothing_to_a_cause() {
    from_nothing_to_a_cause("js");
}

#[test]
#[ignore = "fetches its tools from npm; `make authors` runs it"]
fn a_plugin_in_typescript_from_nothing_to_a_cause() {
    from_nothing_to_a_cause("ts");
}

#[test]
#[ignore = "fetches its tools from PyPI; `make authors` runs it"]
fn a_plugin_in_c_from_nothing_to_a_cause() {
    from_nothing_to_a_cause("c");
}

#[test]
fn a_test_fails_when_the_plugin_finds_something_else() {
    let (_home, project) = copied();
    let case = project.join("cases/healthy-log/case.toml");
    fs::write(&case, "cause = \"team-licences-licence\"\n").expect("a case");
    let tried = whycrash(&project, &["plugin", "test"]);
    let said = String::from_utf8_lossy(&tried.stdout);
    assert_eq!(tried.status.code(), Some(1));
    assert!(
        said.contains("it found nothing instead of team-licences-licence"),
        "{said}"
    );
    fs::write(&case, "cause = \"\"\n").expect("a case");
    let page = project.join("causes/team-licences-licence.md");
    let changed = fs::read_to_string(&page)
        .expect("a page")
        .replace("The licence server did not", "Nobody did");
    fs::write(&page, changed).expect("a page");
    let tried = whycrash(&project, &["plugin", "test"]);
    let said = String::from_utf8_lossy(&tried.stdout);
    assert!(
        !tried.status.success() && said.contains("its findings changed"),
        "{said}"
    );
    well(&whycrash(&project, &["plugin", "test", "--accept"]));
    well(&whycrash(&project, &["plugin", "test"]));
}

#[test]
fn a_plugin_is_tried_on_the_reports_of_a_server_before_it_is_published() {
    let (_home, project) = copied();
    let house = House::open("");
    let run = |arguments: &[&str]| well(&whycrash(&project, &[arguments, &["--server", &house.url]].concat()));
    let mut ids = Vec::new();
    for case in ["licence-server-down", "healthy-log"] {
        let log = project.join("cases").join(case).join("train.log");
        let sent = run(&["upload", log.to_str().expect("text"), "--format", "json"]);
        let sent: Value = serde_json::from_str(&sent).expect("JSON");
        ids.push(sent["id"].as_str().expect("an id").to_owned());
        house.document(ids.last().expect("it was sent"));
    }
    let said = run(&["plugin", "preview"]);
    assert!(
        said.contains("team-licences 0.1.0: 1 of 2 reports would change"),
        "{said}"
    );
    assert!(said.contains("+ team-licences-licence  gained in 1 reports"), "{said}");
    assert!(said.contains("whycrash plugin apply 1"), "{said}");
    assert_eq!(
        house.document(&ids[0])["findings"],
        serde_json::json!([]),
        "nothing has changed"
    );
    assert!(!run(&["plugin", "list"]).contains("team-licences"));
    let said = run(&["plugin", "apply", "1"]);
    assert!(
        said.contains("is applied; another diagnosis stands in 1 reports"),
        "{said}"
    );
    assert_eq!(house.document(&ids[0])["findings"][0]["cause"], "team-licences-licence");
    assert!(run(&["plugin", "list"]).contains("team-licences 0.1.0"));
    run(&["plugin", "undo", "1"]);
    assert_eq!(house.document(&ids[0])["findings"], serde_json::json!([]));
    assert!(!run(&["plugin", "list"]).contains("team-licences"));
    let refused = whycrash(&project, &["plugin", "apply", "1", "--server", &house.url]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(
        !refused.status.success() && said.contains("preview 1 is undone, not ready"),
        "{said}"
    );
}
