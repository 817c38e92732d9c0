//! Where all tests keep the plugins that they compile: the compiler of a build for tests is slow, and compiles each once.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::server::binary;

/// What `XDG_CACHE_HOME` is for the command line: beside the compiler, in a folder of its own for each compiler. What an
/// earlier one made, or refused, proves nothing about this one.
pub static CACHE: LazyLock<PathBuf> = LazyLock::new(|| {
    let compiler = binary("compile-plugin");
    let about = fs::metadata(&compiler).expect("it was built");
    let folders = compiler.with_file_name("compiled-plugins");
    let own = folders.join(format!("{}-{}", about.mtime(), about.mtime_nsec()));
    let earlier = fs::read_dir(&folders).into_iter().flatten().flatten();
    for folder in earlier.map(|folder| folder.path()).filter(|folder| *folder != own) {
        let _ = fs::remove_dir_all(folder);
    }
    own
});

/// The cache of a diagnoser in it.
pub fn plugins() -> PathBuf {
    CACHE.join("whycrash/plugins")
}

/// Lets a server that will keep its data in this folder use it.
///
/// # Errors
/// When a folder can not be made.
pub fn share(data: &Path) -> io::Result<()> {
    fs::create_dir_all(plugins())?;
    fs::create_dir_all(data)?;
    symlink(plugins(), data.join("cache"))
}
