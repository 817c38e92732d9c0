//! Whose core dump a file is, as the file itself says.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long the kernel is waited for, which makes the file first, and then writes whose it is; and how often it is looked
/// at.
const WRITING: Duration = Duration::from_millis(500);
const PAUSE: Duration = Duration::from_millis(50);

/// The process of a core dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    pub pid: u32,
    pub parent: u32,
    pub group: u32,
}

impl Owner {
    /// The same as [`Owner::of`], of a file that the kernel may have only begun.
    pub fn when_written(path: &Path) -> Option<Self> {
        let end = Instant::now() + WRITING;
        loop {
            let owner = Self::of(path);
            if owner.is_some() || !is_begun(path) || Instant::now() > end {
                return owner;
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Reads the `NT_PRPSINFO` note of a 64-bit little-endian ELF core dump; none for anything else. The layout is
    /// that of `Elf64_Ehdr`, `Elf64_Phdr` (elf.h) and `elf_prpsinfo` (linux/elfcore.h).
    fn of(path: &Path) -> Option<Self> {
        const CORE: u16 = 4;
        const NOTE: u32 = 4;
        const PRPSINFO: u32 = 3;
        const HEADERS: u16 = 16;
        let mut file = File::open(path).ok()?;
        let header = read_at(&mut file, 0, 64)?;
        if !header.starts_with(b"\x7fELF\x02\x01") || u16_at(&header, 16)? != CORE {
            return None;
        }
        let (table, size, count) = (u64_at(&header, 32)?, u16_at(&header, 54)?, u16_at(&header, 56)?);
        for index in 0..count.min(HEADERS) {
            let header = read_at(&mut file, table.checked_add(u64::from(index) * u64::from(size))?, 56)?;
            if u32_at(&header, 0)? != NOTE {
                continue;
            }
            let notes = read_at(
                &mut file,
                u64_at(&header, 8)?,
                u64_at(&header, 32)?.min(1 << 20) as usize,
            )?;
            let mut rest = notes.as_slice();
            while let (Some(name), Some(length), Some(kind)) = (u32_at(rest, 0), u32_at(rest, 4), u32_at(rest, 8)) {
                let start = 12 + (name as usize).next_multiple_of(4);
                if kind == PRPSINFO {
                    let info = rest.get(start..)?;
                    return Some(Self {
                        pid: u32_at(info, 24)?,
                        parent: u32_at(info, 28)?,
                        group: u32_at(info, 32)?,
                    });
                }
                rest = rest.get(start.checked_add((length as usize).next_multiple_of(4))?..)?;
            }
        }
        None
    }
}

/// Whether a file is empty, or begins as core dumps do.
fn is_begun(path: &Path) -> bool {
    let Ok(mut file) = File::open(path) else { return false };
    read_at(&mut file, 0, 1).is_none_or(|first| first == b"\x7f")
}

fn read_at(file: &mut File, offset: u64, length: usize) -> Option<Vec<u8>> {
    file.seek(SeekFrom::Start(offset)).ok()?;
    let mut bytes = vec![0; length];
    file.read_exact(&mut bytes).ok().map(|()| bytes)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// The headers of a core dump of this process, parent and group, with nothing of its memory.
    fn headers(pid: u32, parent: u32, group: u32) -> Vec<u8> {
        let mut file = vec![0; 64 + 56];
        let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, b"\x7fELF\x02\x01");
        put(16, &4_u16.to_le_bytes());
        put(32, &64_u64.to_le_bytes());
        put(54, &56_u16.to_le_bytes());
        put(56, &1_u16.to_le_bytes());
        put(64, &4_u32.to_le_bytes());
        put(72, &120_u64.to_le_bytes());
        put(96, &(12 + 8 + 136_u64).to_le_bytes());
        let mut info = [0; 136];
        for (at, number) in [(24, pid), (28, parent), (32, group)] {
            info[at..at + 4].copy_from_slice(&number.to_le_bytes());
        }
        file.extend([5_u32, 136, 3].iter().flat_map(|number| number.to_le_bytes()));
        file.extend(b"CORE\0\0\0\0");
        file.extend(info);
        file
    }

    #[test]
    fn a_core_that_the_kernel_has_only_begun_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("core");
        let mut file = File::create(&path).unwrap();
        let kernel = std::thread::spawn(move || {
            for part in headers(7, 3, 5).chunks(140) {
                std::thread::sleep(PAUSE);
                file.write_all(part).unwrap();
            }
        });
        assert_eq!(Owner::of(&path), None);
        let owner = Owner::when_written(&path);
        kernel.join().unwrap();
        assert_eq!(
            owner,
            Some(Owner {
                pid: 7,
                parent: 3,
                group: 5
            })
        );
    }

    #[test]
    fn a_file_that_is_no_core_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("core");
        std::fs::write(&path, "notes").unwrap();
        assert!(!is_begun(&path));
        assert_eq!(Owner::when_written(&path), None);
    }
}
