use whycrash_server::search::words::{MAX_WORD_BYTES, to_find, to_index};

#[test]
fn text_becomes_words() {
    let cases: [(&str, &[&str]); 6] = [
        ("at::native::index_select", &["at", "native", "index", "select"]),
        (
            "torch.OutOfMemoryError:",
            &["torch", "outofmemoryerror", "out", "of", "memory", "error"],
        ),
        ("CUDAError", &["cudaerror", "cuda", "error"]),
        ("libtorch_cuda.so+0x1f", &["libtorch", "cuda", "so", "0x1f"]),
        ("Größe über 日本", &["größe", "über", "日本"]),
        ("--", &[]),
    ];
    for (text, expected) in cases {
        let words: Vec<String> = to_index(text).into_iter().map(|word| word.text).collect();
        assert_eq!(words, expected, "{text}");
    }
    let positions: Vec<usize> = to_index("anOut b").into_iter().map(|word| word.position).collect();
    assert_eq!(positions, [0, 0, 0, 1]);
    assert_eq!(to_find("OutOf b").len(), 2);
    let long = to_find(&"x".repeat(500));
    assert_eq!((long.len(), long[0].text.len()), (1, MAX_WORD_BYTES));
}
