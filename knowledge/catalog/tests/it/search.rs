//! Finding a cause by words.

use whycrash_catalog::Catalog;

/// Asserts that `words` find `expected` first.
fn check(catalog: &Catalog, words: &str, expected: &str) {
    let found: Vec<&str> = catalog
        .search(words)
        .iter()
        .take(3)
        .map(|cause| cause.id.as_str())
        .collect();
    assert_eq!(found.first(), Some(&expected), "`{words}` found {found:?}");
}

#[test]
fn words_find_the_page_they_describe() {
    let catalog = Catalog::embedded();
    let cases = [
        ("seg-null-deref", "seg-null-deref"),
        ("double free", "abrt-heap-corruption"),
        ("stack smashing detected", "abrt-stack-smash"),
        ("Illegal instruction AVX512", "ill-unsupported-instruction"),
        ("pure virtual", "abrt-pure-virtual"),
        ("rust panic unwrap", "abrt-rust-panic"),
        ("from_blob lifetime", "seg-buffer-freed-under-tensor"),
        ("illegal memory access custom kernel", "ima-custom-kernel"),
        ("oom-fragmentation", "oom-fragmentation"),
        ("xid 79", "hw-fell-off-bus"),
        ("unused parameters ddp", "ddp-unused-params"),
        ("too many open files", "dl-fd-exhausted"),
    ];
    for (words, expected) in cases {
        check(&catalog, words, expected);
    }
}

#[test]
fn nothing_is_found_for_nothing() {
    let catalog = Catalog::embedded();
    for words in ["", "  \n", "+++", "xyzzy", "xyzzy plugh segfault"] {
        assert!(catalog.search(words).is_empty(), "`{words}` found something");
    }
}
