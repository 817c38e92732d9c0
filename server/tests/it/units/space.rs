use std::sync::Arc;

use whycrash_server::ingest::space::{Space, free_bytes};
use whycrash_server::store::StoreError;

#[test]
fn what_others_are_about_to_write_is_not_free() {
    let folder = tempfile::TempDir::new().unwrap();
    let space = Arc::new(Space::new(folder.path(), 0));
    // More than half: other programs may write to the disk meanwhile, but not that much.
    let most = free_bytes(folder.path()).unwrap() / 3 * 2;
    let first = space.claim(most).unwrap();
    assert!(matches!(space.claim(most), Err(StoreError::Full(_))));
    assert!(matches!(space.check(most), Err(StoreError::Full(_))));
    drop(first);
    drop(space.claim(most).unwrap());
    space.check(most).unwrap();
    let reserved = Space::new(folder.path(), u64::MAX);
    assert!(matches!(reserved.check(1), Err(StoreError::Full(_))));
}
