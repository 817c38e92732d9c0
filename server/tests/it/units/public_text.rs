use whycrash_server::public_text::without_paths;

#[test]
fn paths_are_cut_to_their_last_component() {
    let cases = [
        ("can not open /srv/data/blobs/ab12: denied", "can not open ab12: denied"),
        ("Os { path: \"/srv/whycrash-data/index\" }", "Os { path: \"index\" }"),
        ("/a/b/c/ and (/d/e)", "c and (e)"),
        ("took 3 MiB/s, and/or more", "took 3 MiB/s, and/or more"),
        ("https://crashes.example/reports/1", "https://crashes.example/reports/1"),
        ("1 / 2", "1 / 2"),
        ("", ""),
    ];
    for (text, expected) in cases {
        assert_eq!(without_paths(text), expected, "{text:?}");
    }
}
