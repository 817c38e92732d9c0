//! What is installed with the program: manual pages, completions, licences, and the Python package.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::Value;

use crate::support::{Home, errors, names};

fn asked(arguments: &[&str]) -> String {
    let output = Home::new().whycrash(arguments).output().expect("it runs");
    assert!(output.status.success(), "{arguments:?}: {}", errors(&output));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn every_command_has_a_manual_page() {
    let home = Home::new();
    let written = home.whycrash(&["man", "--to", "man1"]).output().expect("it runs");
    assert!(written.status.success(), "{}", errors(&written));
    let pages = names(&home.work().join("man1"));
    for page in [
        "whycrash.1",
        "whycrash-run.1",
        "whycrash-spool-list.1",
        "whycrash-core-handler.1",
    ] {
        assert!(pages.iter().any(|name| name == page), "{pages:?}");
    }
    assert!(!pages.iter().any(|name| name.contains("finish-report")), "{pages:?}");
    let page = asked(&["man"]);
    assert!(
        page.contains(".TH whycrash 1") && page.contains("whycrash\\-run(1)"),
        "{page}"
    );
}

#[test]
fn every_shell_completes_the_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(asked(&["completions", shell]).contains("snapshot"), "{shell}");
    }
}

#[test]
fn the_licences_of_all_that_is_linked_are_told() {
    let text = asked(&["licenses"]);
    for told in [
        "serde ",
        "MIT OR Apache-2.0",
        "Permission is hereby granted",
        "TERMS AND CONDITIONS",
    ] {
        assert!(text.contains(told), "{told}");
    }
    let licences: Value = serde_json::from_str(&asked(&["licenses", "--format", "json"])).expect("JSON");
    let packages = licences["packages"].as_array().expect("packages");
    let without: Vec<_> = packages.iter().filter(|package| package["license"].is_null()).collect();
    assert!(without.is_empty(), "{without:?}");
    // What only tests are built of is not handed out.
    assert!(!packages.iter().any(|package| package["name"] == "insta"));
    let bill: Value = serde_json::from_str(&asked(&["licenses", "--format", "cyclonedx"])).expect("JSON");
    assert_eq!(
        (bill["bomFormat"].as_str(), bill["specVersion"].as_str()),
        (Some("CycloneDX"), Some("1.5"))
    );
    assert_eq!(bill["metadata"]["component"]["name"], "whycrash");
    assert_eq!(bill["components"].as_array().map(Vec::len), Some(packages.len() - 1));
    let component = bill["components"]
        .as_array()
        .and_then(|all| all.iter().find(|one| one["name"] == "serde"));
    assert!(component.is_some_and(|one| {
        one["purl"]
            .as_str()
            .is_some_and(|purl| purl.starts_with("pkg:cargo/serde@"))
    }));
}

/// Runs Python with the package, and the program on its PATH.
fn python(home: &Home, arguments: &[&str]) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_whycrash")).parent().expect("a folder");
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let package = concat!(env!("CARGO_MANIFEST_DIR"), "/packaging/python");
    let mut python = home.isolated("python3");
    python.args(arguments).env("PATH", path).env("PYTHONPATH", package);
    python
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::null())
        .output()
        .expect("python3 runs")
}

const CRASH: &str = "import os, sys
print('before', flush=True)
import whycrash
watched = whycrash.install('--output', os.path.abspath('report'), '--quiet', '--no-diagnosis')
print('watched', watched, sys.argv[1:], flush=True)
";

#[test]
fn a_python_program_has_itself_watched() {
    let home = Home::new();
    home.file("train.py", format!("{CRASH}import ctypes; ctypes.string_at(0)"));
    let output = python(&home, &["-u", "-X", "dev", "train.py", "--lr", "a b"]);
    assert_eq!(output.status.signal(), Some(11), "{}", errors(&output));
    // What stands before it is done twice, all else once.
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(said, "before\nbefore\nwatched True ['--lr', 'a b']\n");
    let context = home.context();
    assert_eq!(context["exit"]["signal"], "SIGSEGV");
    let command: Vec<_> = context["command"]
        .as_array()
        .expect("words")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert_eq!(
        command.get(1..),
        Some(&["-u", "-X", "dev", "train.py", "--lr", "a b"][..]),
        "{command:?}"
    );
}

#[test]
fn a_python_program_ends_as_it_would() {
    for (end, code) in [("", 0), ("sys.exit(7)", 7), ("raise ValueError", 1), ("os._exit(9)", 9)] {
        let home = Home::new();
        home.file("train.py", format!("{CRASH}{end}"));
        for arguments in [&["train.py"][..], &["-c", &format!("{CRASH}{end}")], &["-m", "train"]] {
            let output = python(&home, arguments);
            assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", errors(&output));
        }
    }
}

#[test]
fn a_python_program_that_is_watched_is_left_as_it_is() {
    let home = Home::new();
    // By its launcher, by its parent, and by itself.
    let program = "import whycrash, subprocess, sys, multiprocessing
def work(queue):
    queue.put(whycrash.install())
if __name__ == '__main__':
    print(whycrash.install('--quiet'))
    if sys.argv[1:] != ['child']:
        print(subprocess.check_output([sys.executable, sys.argv[0], 'child']).decode().split())
        context = multiprocessing.get_context('spawn')
        queue = context.Queue()
        process = context.Process(target=work, args=(queue,))
        process.start(); print(queue.get()); process.join()
";
    home.file("train.py", program);
    let output = python(&home, &["train.py"]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(said, "True\n['True']\nTrue\n", "{}", errors(&output));
    let whycrash = env!("CARGO_BIN_EXE_whycrash");
    let job = format!(
        "import os; os.execv({whycrash:?}, ['whycrash', 'run', '--quiet', '--', 'python3', 'train.py', 'child'])"
    );
    let output = python(&home, &["-c", &job]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "True\n", "{}", errors(&output));
}

#[test]
fn a_python_program_that_can_not_be_watched_goes_on_and_says_why() {
    let home = Home::new();
    let threads = "import threading, time, whycrash
threading.Thread(target=time.sleep, args=(0.5,)).start()
print(whycrash.install())";
    let nowhere = "import os, whycrash\nos.environ['PATH'] = '/nowhere'\nprint(whycrash.install())";
    home.file("bin/whycrash", "#!/bin/sh\necho too old >&2\nexit 1\n");
    let made = home
        .isolated("chmod")
        .args(["+x", "bin/whycrash"])
        .status()
        .expect("chmod runs");
    assert!(made.success());
    let broken = "import os, whycrash\nos.environ['PATH'] = 'bin:' + os.environ['PATH']\nprint(whycrash.install())";
    for (program, why) in [
        (threads, "threads already"),
        (nowhere, "no program whycrash"),
        (broken, "too old"),
    ] {
        let output = python(&home, &["-c", program]);
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "False\n",
            "{}",
            errors(&output)
        );
        assert!(errors(&output).contains(why), "{}", errors(&output));
    }
}
