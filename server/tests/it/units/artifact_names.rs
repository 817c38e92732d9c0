use whycrash_server::ingest::names::{MAX_NAME_BYTES, clean, unique};

#[test]
fn names_become_plain_file_names() {
    let cases = [
        ("core.4711", Some("core.4711")),
        ("/var/crash/core", Some("core")),
        ("C:\\dumps\\a.dmp", Some("a.dmp")),
        ("../../etc/passwd", Some("passwd")),
        ("train\nlog\u{7f}.txt", Some("train_log_.txt")),
        ("evil\u{202E}txt.exe", Some("evil_txt.exe")),
        ("folder/", Some("folder")),
        ("..", None),
        ("", None),
        ("///", None),
        ("日誌.log", Some("日誌.log")),
    ];
    for (name, expected) in cases {
        assert_eq!(clean(name).as_deref(), expected, "{name:?}");
    }
    let long = clean(&format!("{}.log", "é".repeat(300))).unwrap_or_default();
    assert!(long.len() <= MAX_NAME_BYTES && long.ends_with(".log"));
}

#[test]
fn a_second_file_of_the_same_name_gets_a_number() {
    let taken = ["core".to_owned(), "a.log".to_owned(), "a-2.log".to_owned()];
    assert_eq!(unique("core", &taken), "core-2");
    assert_eq!(unique("a.log", &taken), "a-3.log");
    assert_eq!(unique("b.log", &taken), "b.log");
}
