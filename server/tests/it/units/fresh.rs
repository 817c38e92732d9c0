use whycrash_server::pipeline::fresh::{BYTES, Fresh};
use whycrash_server::search::IndexDocument;

/// Of so many bytes of text.
fn document(id: char, bytes: usize) -> Box<IndexDocument> {
    Box::new(IndexDocument {
        id: id.to_string().repeat(32).parse().unwrap(),
        time: 0,
        title: Vec::new(),
        text: vec!["x".repeat(bytes)],
        fields: std::collections::BTreeMap::new(),
        summary: whycrash_server::store::Summary::default(),
    })
}

#[test]
fn an_entry_is_of_one_version_and_is_taken_once() {
    let fresh = Fresh::default();
    let a = document('a', 1);
    fresh.put(1, a.clone());
    fresh.put(2, a.clone());
    assert_eq!(fresh.take(&a.id, 1), None, "another version is true by now");
    fresh.put(2, a.clone());
    assert_eq!(fresh.take(&a.id, 2), Some(a.clone()));
    assert_eq!(fresh.take(&a.id, 2), None);
}

#[test]
fn no_more_is_kept_than_there_is_room_for() {
    let fresh = Fresh::default();
    let (large, small) = (document('a', BYTES + 1), document('b', 1));
    fresh.put(1, large.clone());
    fresh.put(1, small.clone());
    assert_eq!(fresh.take(&small.id, 1), None);
    assert_eq!(fresh.take(&large.id, 1), Some(large));
    fresh.put(1, small.clone());
    assert_eq!(fresh.take(&small.id, 1), Some(small));
}
