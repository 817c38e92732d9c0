//! The hash that an artifact is known by.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use rustix::fs::SeekFrom as SeekTo;
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

/// Bytes that are read and hashed at a time.
const STEP: usize = 1 << 20;

/// SHA-256 of a file's bytes, lower-case hex. Cores are mostly holes, which are zeros that need no reading.
///
/// # Errors
/// When the file can not be read.
pub fn of_file(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut at = 0;
    while let Some((start, end)) = next_data(&file, at)? {
        hash_zeros(&mut hash, start - at);
        file.seek(SeekFrom::Start(start))?;
        hash_data(&mut hash, (&file).take(end - start))?;
        at = end;
    }
    hash_zeros(&mut hash, file.metadata()?.len().saturating_sub(at));
    Ok(hex::encode(hash.finalize()))
}

/// Where the next bytes that are stored start and end; nothing when only a hole is left. A file system that knows no
/// holes has everything stored (lseek(2)).
fn next_data(file: &File, at: u64) -> io::Result<Option<(u64, u64)>> {
    match rustix::fs::seek(file, SeekTo::Data(at)) {
        Ok(start) => Ok(Some((start, rustix::fs::seek(file, SeekTo::Hole(start))?))),
        Err(Errno::NXIO) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn hash_data(hash: &mut Sha256, mut data: impl io::Read) -> io::Result<()> {
    let mut bytes = vec![0; STEP];
    loop {
        match data.read(&mut bytes) {
            Ok(0) => return Ok(()),
            Ok(length) => hash.update(bytes.get(..length).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn hash_zeros(hash: &mut Sha256, mut count: u64) {
    static ZEROS: [u8; 64 << 10] = [0; 64 << 10];
    while count > 0 {
        let length = ZEROS.len().min(usize::try_from(count).unwrap_or(usize::MAX));
        hash.update(ZEROS.get(..length).unwrap_or_default());
        count -= length as u64;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn holes_count_as_zeros() {
        for parts in [
            vec![(0, 10)],
            vec![(300_000, 5), (4_000_000, 70_000)],
            vec![(0, 4096), (8192, 1)],
            Vec::new(),
        ] {
            let length = 5_000_000;
            let mut expected = vec![0; length];
            let mut file = tempfile::NamedTempFile::new().expect("a file");
            file.as_file().set_len(length as u64).expect("room");
            for (start, count) in parts {
                let bytes = vec![7; count];
                expected[start..start + count].copy_from_slice(&bytes);
                file.seek(SeekFrom::Start(start as u64)).expect("seeks");
                file.write_all(&bytes).expect("writes");
            }
            assert_eq!(
                of_file(file.path()).expect("hashes"),
                hex::encode(Sha256::digest(&expected))
            );
        }
    }

    #[test]
    fn an_empty_file_has_the_hash_of_nothing() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        assert_eq!(of_file(file.path()).expect("hashes"), hex::encode(Sha256::digest(b"")));
    }
}
