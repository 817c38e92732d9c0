//! A folder of data with one file for each name: what was published to this server.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Bytes of a name. File systems take 255, of which extensions and what a name is put after need some.
const NAME_BYTES: usize = 200;
/// What files are called at their beginning while they are written.
const UNFINISHED: &str = ".unfinished-";

/// The folder.
#[derive(Clone, Debug)]
pub struct Shelf {
    folder: PathBuf,
    /// What files are called at their ends; a name has one file.
    extensions: &'static [&'static str],
}

/// What stands under a name: its extension and its bytes.
pub type Standing = (String, Vec<u8>);

impl Shelf {
    /// The folder, which is made where it is not there, for files with these extensions.
    pub fn open(folder: PathBuf, extensions: &'static [&'static str]) -> io::Result<Self> {
        fs::create_dir_all(&folder)?;
        clear_unfinished(&folder)?;
        let shelf = Self { folder, extensions };
        shelf.clear_replaced()?;
        Ok(shelf)
    }

    /// Removes what another file of its name took the place of, when an earlier process was killed in between.
    fn clear_replaced(&self) -> io::Result<()> {
        for name in self.names()? {
            let mut files = Vec::new();
            for extension in self.extensions {
                let path = self.path(&name, extension);
                if let Ok(about) = fs::metadata(&path) {
                    files.push((about.modified()?, path));
                }
            }
            files.sort();
            // The last one that was written stays.
            files.pop();
            files.iter().try_for_each(|(_, path)| remove_file(path).map(drop))?;
        }
        Ok(())
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What stands under this name.
    pub fn get(&self, name: &str) -> io::Result<Option<Standing>> {
        for extension in self.extensions.iter().filter(|_| is_name(name)) {
            match fs::read(self.path(name, extension)) {
                Ok(bytes) => return Ok(Some(((*extension).to_owned(), bytes))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Whether something does.
    pub fn has(&self, name: &str) -> bool {
        let mut extensions = self.extensions.iter().filter(|_| is_name(name));
        extensions.any(|extension| self.path(name, extension).exists())
    }

    /// Puts a file under this name, durably, in the place of the one there.
    pub fn put(&self, name: &str, extension: &str, bytes: &[u8]) -> io::Result<()> {
        write(&self.folder, &format!("{name}.{extension}"), bytes)?;
        for other in self.extensions.iter().filter(|other| **other != extension) {
            remove_file(&self.path(name, other))?;
        }
        self.sync()
    }

    /// Removes what stands under this name; whether there was something. Names that nothing can have lead nowhere.
    pub fn remove(&self, name: &str) -> io::Result<bool> {
        let mut removed = false;
        for extension in self.extensions.iter().filter(|_| is_name(name)) {
            removed |= remove_file(&self.path(name, extension))?;
        }
        self.sync()?;
        Ok(removed)
    }

    /// Has what stands under this name stand on another shelf, in one step; whether there was something.
    pub fn hand_over(&self, name: &str, to: &Self) -> io::Result<bool> {
        let mut extensions = self.extensions.iter().filter(|_| is_name(name));
        let Some(extension) = extensions.find(|extension| self.path(name, extension).exists()) else {
            return Ok(false);
        };
        // Nothing does there, unless somebody put it there by hand.
        to.remove(name)?;
        fs::rename(self.path(name, extension), to.path(name, extension))?;
        to.sync()?;
        self.sync()?;
        Ok(true)
    }

    /// Makes this stand under the name: what did before, or nothing.
    pub fn put_back(&self, name: &str, standing: Option<&Standing>) -> io::Result<()> {
        match standing {
            Some((extension, bytes)) => self.put(name, extension, bytes),
            None => self.remove(name).map(drop),
        }
    }

    /// Names under which something stands.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let files: Vec<_> = fs::read_dir(&self.folder)?.collect::<io::Result<_>>()?;
        let name = |file: &fs::DirEntry| {
            let path = file.path();
            let extension = path.extension()?.to_str()?;
            let is_ours = self.extensions.contains(&extension);
            is_ours.then(|| path.file_stem()?.to_str().map(str::to_owned)).flatten()
        };
        Ok(files.iter().filter_map(name).collect())
    }

    fn path(&self, name: &str, extension: &str) -> PathBuf {
        self.folder.join(format!("{name}.{extension}"))
    }

    fn sync(&self) -> io::Result<()> {
        File::open(&self.folder)?.sync_all()
    }
}

/// Whether something can stand under this name.
pub fn is_name(name: &str) -> bool {
    (1..=NAME_BYTES).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Writes a file, durably and as a whole.
pub fn write(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(folder.join(name))?;
    File::open(folder)?.sync_all()
}

/// Removes what was being written when an earlier process was killed.
pub fn clear_unfinished(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Whether there was such a file.
fn remove_file(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
