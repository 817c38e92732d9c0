//! Symbols that come after the crash: the report is read again with them.

use serde_json::Value;
use whycrash_tests::corpus;

use crate::house::House;

/// Names of the crashed thread's functions, as far as they are known.
fn functions(document: &Value) -> Vec<&str> {
    let frames = document["evidence"]["threads"][0]["frames"].as_array().expect("frames");
    frames.iter().filter_map(|frame| frame["function"].as_str()).collect()
}

#[test]
fn a_report_is_read_again_with_symbols_that_come_later() {
    let cases = corpus::cases().expect("the corpus can be read");
    let case = cases
        .iter()
        .find(|case| case.name == "seg-null-deref-worker-thread")
        .expect("it is there");
    let house = House::open("local_symbols = false");
    let whycrash = |arguments: &[&str]| -> Value {
        let output = house.whycrash(arguments).output().expect("the program runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {errors}");
        serde_json::from_slice(&output.stdout).expect("it prints JSON")
    };
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
    let served = reqwest::blocking::get(format!("{}/buildid/{build_id}/executable", house.url)).expect("it answers");
    assert!(served.status().is_success());
    let path = kept["files"][0]["path"].as_str().expect("a path");
    assert!(
        served.bytes().expect("bytes") == std::fs::read(path).expect("the file"),
        "debuginfod gets the same bytes"
    );
}

#[test]
fn what_is_no_symbols_is_refused_with_the_reason() {
    let house = House::open("local_symbols = false");
    let client = reqwest::blocking::Client::new();
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
        let answer = reqwest::blocking::get(format!("{}/buildid/{id}/debuginfo", house.url)).expect("it answers");
        assert_eq!(answer.status().as_u16(), 404, "{id}");
    }
}
