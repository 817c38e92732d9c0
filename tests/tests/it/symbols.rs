//! Symbols that come after the crash: the report is read again with them.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use whycrash_corpus::Case;

use crate::house::{House, client};

/// Names of the crashed thread's functions, as far as they are known.
fn functions(document: &Value) -> Vec<&str> {
    let frames = document["evidence"]["threads"][0]["frames"].as_array().expect("frames");
    frames.iter().filter_map(|frame| frame["function"].as_str()).collect()
}

/// A crash of the corpus, whose program carries its own debug information.
fn case() -> Case {
    whycrash_corpus::case("seg-null-deref-worker-thread")
}

/// What the command line prints when it may ask these debuginfod servers.
fn printed(house: &House, servers: &str, arguments: &[&str]) -> Value {
    run_and_parse(house.whycrash(arguments).env("DEBUGINFOD_URLS", servers))
}

fn run_and_parse(command: &mut Command) -> Value {
    let output = command.output().expect("the program runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    serde_json::from_slice(&output.stdout).expect("it prints JSON")
}

#[test]
fn a_report_is_read_again_with_symbols_that_come_later() {
    let case = case();
    let house = House::open("local_symbols = false");
    let whycrash = |arguments: &[&str]| printed(&house, "", arguments);
    let core = case.folder.join("core.zst");
    let sent = whycrash(&["upload", "--format", "json", &core.to_string_lossy()]);
    let id = sent["id"].as_str().expect("an id");
    let before = house.document(id);
    assert!(!functions(&before).contains(&"sum_pixels"), "{before:#}");

    let binaries = case.binaries().expect("its program is there");
    let upload = ["symbols", "upload", "--format", "json", &binaries.to_string_lossy()];
    let kept = whycrash(&upload);
    assert_eq!(kept["files"][0]["kind"], "executable");
    assert_eq!(
        (&kept["files"][0]["new"], &kept["files"][0]["reports"]),
        (&true.into(), &1.into())
    );
    let after = house.document_when(id, |document| functions(document).contains(&"sum_pixels"));
    assert_eq!(after["findings"][0]["cause"], "seg-null-deref");

    let again = whycrash(&upload);
    assert_eq!(again["files"][0]["new"], false, "the server has it");
    let build_id = kept["files"][0]["id"].as_str().expect("an id");
    let served = client()
        .get(format!("{}/buildid/{build_id}/executable", house.url))
        .send()
        .expect("it answers");
    assert!(served.status().is_success());
    let path = kept["files"][0]["path"].as_str().expect("a path");
    assert!(
        served.bytes().expect("bytes") == std::fs::read(path).expect("the file"),
        "debuginfod gets the same bytes"
    );
}

/// Two functions of the program that `cpp_null_worker.dmp` is of, as tools that read debug information write them.
const SYMBOL_FILE: &str = "\
MODULE Linux x86_64 5A865AB22664BC5E2A9FB3019E57AB350 n_plain_O2
FILE 0 /src/reduce.cpp
FUNC 3130 480 0 trainer::do_crash(int)
3130 480 53 0
FUNC 3630 40 0 trainer::reduce(int)
3630 40 29 0
STACK CFI INIT 3630 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^
";

#[test]
fn minidumps_are_read_again_with_symbol_files_that_come_later() {
    let house = House::open("local_symbols = false");
    let dumps = Path::new(env!("CARGO_MANIFEST_DIR")).join("../knowledge/evidence/tests/fixtures/minidumps");
    let send = |name: &str| {
        let path = dumps.join(name).to_string_lossy().into_owned();
        let sent = printed(&house, "", &["upload", "--format", "json", &path]);
        let id = sent["id"].as_str().expect("an id").to_owned();
        assert!(functions(&house.document(&id)).is_empty(), "{name}");
        id
    };
    let id = send("cpp_null_worker.dmp");
    send("rust_panic.dmp");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let upload = |text: &str| {
        let path = folder.path().join("n_plain_O2.sym");
        std::fs::write(&path, text).expect("room");
        let kept = printed(
            &house,
            "",
            &["symbols", "upload", "--format", "json", &path.to_string_lossy()],
        );
        kept["files"][0]["reports"].as_u64().expect("a number")
    };
    assert_eq!(upload(&SYMBOL_FILE.replace("5A865AB2", "00000000")), 0, "another build");
    assert_eq!(upload(SYMBOL_FILE), 1);
    let expected = ["trainer::reduce(int)", "trainer::do_crash(int)"];
    let after = house.document_when(&id, |document| functions(document) == expected);
    assert_eq!(after["evidence"]["modules"][0]["symbols"], "symbol-file");
    assert_eq!(upload(SYMBOL_FILE), 0, "the server has it");
}

/// Runs a tool; `package` is what brings it.
pub fn run(folder: &Path, tool: &str, package: &str, arguments: &[&str]) {
    let output = Command::new(tool).args(arguments).current_dir(folder).output();
    let output = output.unwrap_or_else(|error| panic!("can not run {tool} ({error}): apt-get install {package}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{tool} {arguments:?}: {errors}");
}

/// A core in the folder, and the path that its program was moved to.
fn crash(folder: &Path) -> (PathBuf, PathBuf) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("reproducers/seg-null-deref/null_in_worker.cpp");
    let compile = [
        "-g",
        "-O1",
        "-pthread",
        &source.to_string_lossy(),
        "-o",
        "null_in_worker",
    ];
    run(folder, "g++", "g++", &compile);
    let debug = [
        "-q",
        "-batch",
        "-nx",
        "-iex",
        "set debuginfod enabled off",
        "-ex",
        "run",
    ];
    let write = ["-ex", "generate-core-file core", "null_in_worker"];
    run(folder, "gdb", "gdb", &[&debug[..], &write].concat());
    let moved = folder.join("built");
    std::fs::rename(folder.join("null_in_worker"), &moved).expect("the program");
    (folder.join("core"), moved)
}

/// How often a server was asked for files by build id.
fn asked(house: &House) -> u64 {
    let text = client()
        .get(format!("{}/metrics", house.url))
        .send()
        .expect("it answers");
    let text = text.text().expect("text");
    let lines = text.lines().filter(|line| line.starts_with("whycrash_requests_total{"));
    let lines = lines.filter(|line| line.contains("route=\"/buildid/"));
    lines
        .filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
        .sum()
}

/// The frames of a build, over all threads.
fn frames_of<'a>(document: &'a Value, build_id: &str) -> Vec<&'a Value> {
    let threads = document["evidence"]["threads"].as_array().expect("threads");
    let frames = threads
        .iter()
        .flat_map(|thread| thread["frames"].as_array().expect("frames"));
    frames.filter(|frame| frame["build_id"] == build_id).collect()
}

#[test]
fn an_uploaded_binary_names_frames_wherever_debuginfod_is_asked() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (core, program) = crash(folder.path());
    let mut house = House::open("local_symbols = false");
    let core = core.to_string_lossy().into_owned();
    let diagnose = ["diagnose", "--format", "json", core.as_str()];
    let kept = printed(
        &house,
        "",
        &["symbols", "upload", "--format", "json", &program.to_string_lossy()],
    );
    let id = kept["files"][0]["id"].as_str().expect("an id").to_owned();
    let url = house.url.clone();

    let nobody = printed(&house, "", &diagnose);
    assert!(!frames_of(&nobody, &id).is_empty());
    assert!(frames_of(&nobody, &id).iter().all(|frame| frame["line"].is_null()));

    let first = printed(&house, &url, &diagnose);
    let frames = frames_of(&first, &id);
    assert!(frames.iter().any(|frame| frame["function"] == "sum_pixels"));
    for frame in frames {
        // The C library's own start code has no debug information in the program either.
        let is_start = frame["function"] == "_start";
        assert!(
            is_start || (frame["file"].is_string() && frame["line"].is_number()),
            "{frame:#}"
        );
        assert_ne!(frame["trust"], "scan", "{frame:#}");
    }

    let asked_first = asked(&house);
    let second = printed(&house, &url, &diagnose);
    assert_eq!(second["evidence"], first["evidence"]);
    assert_eq!(asked(&house), asked_first, "what is kept is not asked for");

    house.stop();
    let third = printed(&house, &url, &diagnose);
    assert_eq!(third["evidence"], first["evidence"]);
}

#[test]
fn what_no_server_has_is_asked_for_once() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (core, _) = crash(folder.path());
    let house = House::open("local_symbols = false");
    let diagnose = ["diagnose", "--format", "json", &core.to_string_lossy()];
    let first = printed(&house, &house.url, &diagnose);
    let asked_first = asked(&house);
    assert!(
        asked_first >= 2,
        "for the binary and for its debug information: {asked_first}"
    );
    let second = printed(&house, &house.url, &diagnose);
    assert_eq!(second["evidence"], first["evidence"]);
    assert_eq!(asked(&house), asked_first);
}

/// Asks for what debuginfod's clients ask; status and body.
fn ask(house: &House, path: &str) -> (u16, Vec<u8>) {
    let answer = client()
        .get(format!("{}/buildid/{path}", house.url))
        .send()
        .expect("it answers");
    (answer.status().as_u16(), answer.bytes().expect("bytes").to_vec())
}

#[test]
fn debug_information_is_the_separate_file_or_the_binary_that_has_it() {
    let house = House::open("local_symbols = false");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name);
    let upload = |name: &str| {
        let path = path(name);
        printed(
            &house,
            "",
            &["symbols", "upload", "--format", "json", &path.to_string_lossy()],
        )["files"][0]
            .clone()
    };
    let program = std::fs::read_dir(case().binaries().expect("its program")).expect("a folder");
    let program = program.flatten().next().expect("the program").path();
    std::fs::copy(program, path("whole")).expect("room");
    run(folder.path(), "strip", "binutils", &["whole", "-o", "stripped"]);
    let separate = ["--only-keep-debug", "whole", "separate.debug"];
    run(folder.path(), "objcopy", "binutils", &separate);
    let bytes = |name: &str| std::fs::read(path(name)).expect("the file");

    let id = upload("stripped")["id"].as_str().expect("an id").to_owned();
    assert!(ask(&house, &format!("{id}/executable")) == (200, bytes("stripped")));
    assert_eq!(ask(&house, &format!("{id}/debuginfo")).0, 404);
    assert_eq!(upload("separate.debug")["kind"], "debuginfo");
    assert!(ask(&house, &format!("{id}/debuginfo")) == (200, bytes("separate.debug")));

    // gdb shows what it gets as a source file, whatever it is.
    for other in ["source/src/train.c", "section/.gdb_index", "source", ""] {
        assert_eq!(ask(&house, &format!("{id}/{other}")).0, 404, "{other}");
    }
    let client = client();
    let head = client
        .head(format!("{}/buildid/{id}/executable", house.url))
        .send()
        .expect("it answers");
    assert!(head.status().is_success());
    assert_eq!(head.headers()["content-length"], bytes("stripped").len().to_string());
    assert!(head.headers().contains_key("last-modified"));

    let house = House::open("local_symbols = false");
    printed(
        &house,
        "",
        &[
            "symbols",
            "upload",
            "--format",
            "json",
            &path("whole").to_string_lossy(),
        ],
    );
    for kind in ["executable", "debuginfo"] {
        assert!(ask(&house, &format!("{id}/{kind}")) == (200, bytes("whole")), "{kind}");
    }
}

#[test]
fn what_is_no_symbols_is_refused_with_the_reason() {
    let house = House::open("local_symbols = false");
    let client = client();
    let send = |bytes: Vec<u8>| {
        client
            .post(format!("{}/api/v1/symbols", house.url))
            .body(bytes)
            .send()
            .expect("it answers")
    };
    let hostile = [
        b"".to_vec(),
        b"hello".to_vec(),
        b"\x7fELF".to_vec(),
        [b"\x7fELF\x02\x01\x01".as_slice(), &[0xff; 4096]].concat(),
        b"MODULE Linux x86_64 000000000000000000000000000000000 ../../evil\n".to_vec(),
        b"MODULE Linux x86_64 ../../../00000000000000000000000000000 libevil.so\n".to_vec(),
    ];
    for bytes in hostile {
        let answer = send(bytes.clone());
        assert_eq!(answer.status().as_u16(), 422, "{bytes:?}");
        let problem: Value = answer.json().expect("a problem document");
        assert_eq!(problem["code"], "not-symbols", "{bytes:?}");
    }
    for id in ["..%2f..", "zz", "ab", "%00%00%00%00"] {
        let answer = client
            .get(format!("{}/buildid/{id}/debuginfo", house.url))
            .send()
            .expect("it answers");
        assert_eq!(answer.status().as_u16(), 404, "{id}");
    }
}
