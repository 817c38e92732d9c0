//! What `whycrash plugin` does around the tools of a language: when they are asked, what is told of them, and what comes
//! out. A script stands in the place of the tools, and counts how often it is run.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;
use whycrash_hostile_plugins::{Case, Info, component};

use crate::house::{House, binary};

/// Name of the plugins that these tests make.
const NAME: &str = "team-licences";

/// A project that scripts build: each time it is another component, which says the same of itself.
struct Project {
    home: TempDir,
    folder: PathBuf,
}

/// In the place of rustc, which is asked what there is.
const RUSTC: &str =
    "#!/bin/sh\ncase \"$*\" in -vV) echo 'host: here' ;; *) echo \"$(dirname \"$0\")/sysroot\" ;; esac\n";
/// In the place of cargo.
const CARGO: &str = "#!/bin/sh
home=$(dirname \"$0\")/..
echo built >>\"$home/builds\"
mkdir -p target/wasm32-unknown-unknown/release
cp \"$home/$(wc -l <\"$home/builds\").wasm\" target/wasm32-unknown-unknown/release/team_licences.wasm
";
/// In the place of componentize-py, with what that says of a file that does not parse.
const COMPONENTIZE_PY: &str = "#!/bin/sh
[ \"$RUST_BACKTRACE\" = 0 ] || backtrace='\n\nStack backtrace:\n   0: main'
printf 'Traceback (most recent call last):\n  File \"x/componentize-py\", line 8, in <module>\nAssertionError:   File \
                               \"/0/app.py\", line 3\nSyntaxError: invalid syntax\n\n\nCaused by:\n    x'\"$backtrace\" >&2
exit 1
";

impl Project {
    /// One that needs nothing, or all of these kinds of evidence.
    fn new(needs: &[&str]) -> Self {
        let home = TempDir::new().expect("a folder");
        let folder = home.path().join(NAME);
        well(&whycrash(home.path(), &["plugin", "new", NAME, "--lang", "rust"]));
        script(&home.path().join("bin/rustc"), RUSTC);
        script(&home.path().join("bin/cargo"), CARGO);
        script(
            &home.path().join("bin/sysroot/lib/rustlib/here/bin/wasm-component-ld"),
            "",
        );
        for number in 1..=5 {
            let made = component(&Case {
                info: Info {
                    name: NAME.to_owned(),
                    causes: vec![format!("{NAME}-licence")],
                    all_of: needs.iter().map(|kind| (*kind).to_owned()).collect(),
                    ..Info::default()
                },
                module: format!("(global i32 (i32.const {number}))"),
                ..Case::default()
            });
            let to = home.path().join(format!("{number}.wasm"));
            fs::write(to, made.expect("a component")).expect("a file");
        }
        // Nothing is found by what only says what it is.
        fs::write(folder.join("cases/licence-server-down/case.toml"), "cause = \"\"\n").expect("a case");
        fs::remove_file(folder.join("cases/licence-server-down/expected.json")).expect("it was there");
        Self { home, folder }
    }

    fn run(&self, arguments: &[&str]) -> Output {
        whycrash(&self.folder, &[&["plugin"], arguments].concat())
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.folder.join(path), text).expect("a file");
    }

    fn append(&self, path: &str, text: &str) {
        let path = self.folder.join(path);
        let before = fs::read_to_string(&path).expect("a file");
        fs::write(path, before + text).expect("a file");
    }

    fn builds(&self) -> usize {
        let builds = fs::read_to_string(self.home.path().join("builds")).unwrap_or_default();
        builds.lines().count()
    }
}

/// An executable file.
fn script(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("it has a folder")).expect("a folder");
    fs::write(path, text).expect("a script");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("its mode");
}

/// The program in a folder, with the scripts beside that folder in the place of the tools.
fn whycrash(folder: &Path, arguments: &[&str]) -> Output {
    let scripts = folder.join("../bin").into_os_string().into_string().expect("text");
    let path = format!("{scripts}:{}", env::var("PATH").unwrap_or_default());
    let mut command = Command::new(binary("whycrash"));
    command.args(arguments).current_dir(folder);
    for name in ["WHYCRASH_PLUGINS", "CARGO_TARGET_DIR"] {
        command.env_remove(name);
    }
    let output = command.env("PATH", path).env("RUST_BACKTRACE", "1").output();
    output.expect("it runs")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

fn well(output: &Output) -> String {
    assert!(output.status.success(), "{}", said(output));
    said(output)
}

#[test]
fn what_is_tested_is_built_of_what_stands_there() {
    let project = Project::new(&[]);
    let first = well(&project.run(&["test"]));
    assert!(first.contains("building team-licences: it is not built yet"), "{first}");
    assert!(first.contains("2 of 2 cases ok, 0 failed, 0 skipped"), "{first}");
    let second = well(&project.run(&["test"]));
    assert!(!second.contains("building"), "{second}");
    // Pages, cases and tests are not what a component is built of.
    project.append("causes/team-licences-licence.md", "\nAsk the owner.\n");
    project.append("cases/healthy-log/train.log", "step 2\n");
    script(&project.folder.join("tests/more.rs"), "// another test\n");
    well(&project.run(&["test"]));
    assert_eq!(project.builds(), 1);
    project.append("src/lib.rs", "// changed\n");
    project.write("src/helper.rs", "const A: u32 = 1;\n");
    let changed = well(&project.run(&["test"]));
    assert!(
        changed.contains("building team-licences: src/helper.rs and 1 more changed"),
        "{changed}"
    );
    assert_eq!(project.builds(), 2);
    fs::remove_file(project.folder.join("src/helper.rs")).expect("it was there");
    assert!(well(&project.run(&["build"])).contains("src/helper.rs changed"));
    assert!(well(&project.run(&["build"])).contains("what the files here make already"));
    assert_eq!(project.builds(), 3);
}

#[test]
fn what_does_not_build_is_not_tried() {
    let project = Project::new(&[]);
    well(&project.run(&["test"]));
    project.append("src/lib.rs", "// changed\n");
    script(
        &project.home.path().join("bin/cargo"),
        "#!/bin/sh\necho 'error: no' >&2\nexit 101\n",
    );
    for _ in 0..2 {
        let refused = project.run(&["test"]);
        let said = said(&refused);
        assert_eq!(refused.status.code(), Some(1), "{said}");
        assert!(
            said.contains("error: no") && said.contains("team-licences can not be built"),
            "{said}"
        );
        assert!(!said.contains("cases ok"), "{said}");
    }
}

#[test]
fn a_fault_of_the_source_is_shown_without_those_of_the_tool() {
    let home = TempDir::new().expect("a folder");
    well(&whycrash(home.path(), &["plugin", "new", NAME, "--lang", "python"]));
    let folder = home.path().join(NAME);
    script(&folder.join(".venv/bin/componentize-py"), COMPONENTIZE_PY);
    fs::write(folder.join(".venv/ready"), "").expect("a file");
    let refused = whycrash(&folder, &["plugin", "build"]);
    let said = said(&refused);
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(
        said.contains("  File \"app.py\", line 3\nSyntaxError: invalid syntax\n"),
        "{said}"
    );
    for word in ["backtrace", "Traceback", "Caused by"] {
        assert!(!said.contains(word), "{word}: {said}");
    }
}

#[test]
fn a_run_that_was_skipped_is_right_only_where_the_case_says_so() {
    let project = Project::new(&["gpu-cores"]);
    let failed = project.run(&["test", "--junit", "junit.xml"]);
    let text = said(&failed);
    assert_eq!(failed.status.code(), Some(1), "{text}");
    assert!(text.contains("FAILED  healthy-log"), "{text}");
    assert!(text.contains("it was skipped: the report has no gpu-cores"), "{text}");
    assert!(text.contains("0 of 2 cases ok, 2 failed, 0 skipped"), "{text}");
    project.write("cases/healthy-log/case.toml", "cause = \"\"\nskipped = true\n");
    project.write("cases/licence-server-down/case.toml", "cause = \"\"\nskipped = true\n");
    let text = well(&project.run(&["test", "--junit", "junit.xml"]));
    assert!(text.contains("skipped healthy-log"), "{text}");
    assert!(text.contains("0 of 2 cases ok, 0 failed, 2 skipped"), "{text}");
    let xml = fs::read_to_string(project.folder.join("junit.xml")).expect("it was written");
    assert!(
        xml.contains("tests=\"2\" failures=\"0\" errors=\"0\" skipped=\"2\""),
        "{xml}"
    );
    assert!(
        xml.contains("<skipped message=\"the report has no gpu-cores\"/>"),
        "{xml}"
    );
    // What a test writes beside the sources is none of them.
    assert_eq!(project.builds(), 1);
    let project = Project::new(&[]);
    project.write("cases/healthy-log/case.toml", "cause = \"\"\nskipped = true\n");
    let failed = project.run(&["test", "--junit", "junit.xml"]);
    assert!(said(&failed).contains("it ran, and case.toml says that it is skipped"));
    let xml = fs::read_to_string(project.folder.join("junit.xml")).expect("it was written");
    assert!(
        xml.contains("<failure message=\"it ran, and case.toml says that it is skipped\">"),
        "{xml}"
    );
}

#[test]
fn another_build_of_the_same_sources_is_the_same_plugin() {
    let project = Project::new(&[]);
    let house = House::open("");
    let publish = |more: &[&str]| project.run(&[&["publish", "--server", &house.url], more].concat());
    let first = well(&publish(&["--if-changed"]));
    assert!(first.contains("published team-licences 1.0.0 to"), "{first}");
    let listed = house.get("/api/v1/plugins");
    // As in a fresh checkout, where nothing is built.
    fs::remove_dir_all(project.folder.join("build")).expect("it was there");
    let same = well(&publish(&["--if-changed"]));
    assert!(
        same.contains("is published to") && same.contains("nothing was built or sent"),
        "{same}"
    );
    assert_eq!(project.builds(), 1);
    let same = well(&publish(&[]));
    assert!(
        same.contains("its bytes differ, what they were built of does not"),
        "{same}"
    );
    assert_eq!(project.builds(), 2);
    let sha256 = |listed: &serde_json::Value| {
        let plugins = listed["plugins"].as_array().expect("plugins").iter();
        let ours = plugins.filter(|plugin| plugin["name"] == NAME);
        ours.map(|plugin| plugin["sha256"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(sha256(&house.get("/api/v1/plugins")), sha256(&listed));
    project.append("src/lib.rs", "// changed\n");
    let refused = publish(&["--if-changed"]);
    assert!(
        said(&refused).contains("give it a higher version"),
        "{}",
        said(&refused)
    );
}

#[test]
fn a_new_plugin_has_no_name_that_is_taken() {
    let home = TempDir::new().expect("a folder");
    for (name, language, why) in [
        ("cuda-oom", "python", "the name of a built-in one"),
        ("recognise", "c", "the name of a built-in one"),
        ("whycrash-plugin", "rust", "every plugin in Rust is built of"),
        ("fn", "rust", "a word of Rust's"),
        ("nul", "python", "a device on Windows"),
        ("fs", "js", "a module of Node's"),
    ] {
        let refused = whycrash(home.path(), &["plugin", "new", name, "--lang", language]);
        let said = said(&refused);
        assert_eq!(refused.status.code(), Some(1), "{name}: {said}");
        assert!(
            said.contains(why) && said.contains(&format!("team-{name}")),
            "{name}: {said}"
        );
        assert!(!home.path().join(name).exists(), "{name}");
    }
    well(&whycrash(home.path(), &["plugin", "new", "fn", "--lang", "python"]));
}

#[test]
fn a_plugin_is_inspected_with_the_limits_that_hold_for_it() {
    let project = Project::new(&[]);
    well(&project.run(&["build"]));
    let shown = well(&project.run(&["inspect", "build/team-licences.zip"]));
    for part in [
        "1000000000 fuel, and as much again",
        "10000 ms of processor time, 256 MiB of memory",
        "64 MiB of evidence",
        "32 findings with 32 citations each",
        "[plugin_limits]",
        "built of",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    // One that carries an interpreter may use more, however well it packs.
    let path = project.folder.join("build/plugin.wasm");
    let mut large = fs::read(&path).expect("a component");
    let custom = 5_u32 << 20;
    large.push(0);
    let mut size = custom;
    loop {
        let byte = u8::try_from(size & 0x7f).expect("seven bits");
        size >>= 7;
        large.push(if size == 0 { byte } else { byte | 0x80 });
        if size == 0 {
            break;
        }
    }
    large.push(1);
    large.push(b'x');
    large.resize(large.len() + custom as usize - 2, 0);
    fs::write(&path, large).expect("a component");
    well(&project.run(&["build"]));
    let shown = well(&project.run(&["inspect", "build/team-licences.zip"]));
    assert!(
        shown.contains("100000000000 fuel") && shown.contains("60000 ms of processor time"),
        "{shown}"
    );
}
