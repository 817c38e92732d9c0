//! Tests of how text becomes words.

use proptest::prelude::*;
use whycrash_words::{MAX_WORD_BYTES, Word, to_find, to_index};

fn lower(word: &Word<'_>) -> String {
    let mut text = "what was there before".to_owned();
    word.lower(&mut text);
    text
}

#[test]
fn text_becomes_words() {
    let cases: [(&str, &[&str]); 8] = [
        ("at::native::index_select", &["at", "native", "index", "select"]),
        (
            "torch.OutOfMemoryError:",
            &["torch", "outofmemoryerror", "out", "of", "memory", "error"],
        ),
        ("CUDAError", &["cudaerror", "cuda", "error"]),
        ("libtorch_cuda.so+0x1f", &["libtorch", "cuda", "so", "0x1f"]),
        ("Größe über 日本", &["größe", "über", "日本"]),
        ("ΣΊΣΥΦΟΣ", &["σίσυφος"]),
        ("--", &[]),
        ("", &[]),
    ];
    for (text, expected) in cases {
        let words: Vec<String> = to_index(text).map(|word| lower(&word)).collect();
        assert_eq!(words, expected, "{text}");
    }
    let positions: Vec<usize> = to_index("anOut b").map(|word| word.position).collect();
    assert_eq!(positions, [0, 0, 0, 1]);
    assert_eq!(to_find("OutOf b").count(), 2);
}

#[test]
fn a_word_without_end_is_kept_by_how_it_begins() {
    let text = format!("{} end", "x".repeat(500));
    let words: Vec<usize> = to_find(&text).map(|word| word.written.len()).collect();
    assert_eq!(words, [MAX_WORD_BYTES, 3]);
}

proptest! {
    #[test]
    fn every_word_stands_where_it_says(text in "[a-zA-Z0-9ßΣ日_. ]{0,300}|\\PC{0,100}") {
        for word in to_index(&text) {
            prop_assert_eq!(text.get(word.range.clone()), Some(word.written));
            prop_assert_eq!(lower(&word), word.written.to_lowercase());
            prop_assert!(!word.written.is_empty() && word.written.chars().all(char::is_alphanumeric));
        }
    }

    #[test]
    fn parts_make_up_their_run(text in "[a-zA-Z0-9ßΣ ]{0,300}") {
        let words: Vec<Word<'_>> = to_index(&text).collect();
        for run in to_find(&text) {
            let parts: String = words
                .iter()
                .filter(|word| word.position == run.position && **word != run)
                .map(|word| word.written)
                .collect();
            prop_assert!(parts.is_empty() || parts == run.written);
        }
    }
}
