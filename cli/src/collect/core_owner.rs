//! Whose core dump a file is, as the file itself says.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long the kernel is waited for, which makes the file first, and then writes what is in it; and how often it is
/// looked at.
const WRITING: Duration = Duration::from_millis(500);
const PAUSE: Duration = Duration::from_millis(50);

/// The process of a core dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    pub pid: u32,
    pub parent: u32,
}

impl Owner {
    /// As the `NT_PRPSINFO` note says (`elf_prpsinfo` of linux/elfcore.h), also of a file that the kernel may have only
    /// begun; none for anything but a core dump.
    pub fn of(path: &Path) -> Option<Self> {
        const PRPSINFO: u32 = 3;
        when_written(path, || {
            let info = Core::open(path)?.note(PRPSINFO)?;
            Some(Self {
                pid: u32_at(&info, 24)?,
                parent: u32_at(&info, 28)?,
            })
        })
    }
}

/// Whether a process was started with a variable (`NAME=value`), as its core dump has it: the environment stands before
/// the name of the program, at the top of the stack (execve(2), `AT_EXECFN` of getauxval(3)). False where the core does
/// not have that memory.
pub fn was_started_with(variable: &str, core: &Path) -> bool {
    const AUXV: u32 = 6;
    const EXECFN: u64 = 31;
    /// An environment is no longer: three quarters of `_STK_LIM`.
    const ENVIRONMENT: u64 = 6 << 20;
    let environment = when_written(core, || {
        let mut core = Core::open(core)?;
        let auxv = core.note(AUXV)?;
        let mut pairs = auxv.chunks_exact(16);
        let end = u64_at(pairs.find(|pair| u64_at(pair, 0) == Some(EXECFN))?, 8)?;
        let Some(stack) = core.segments.iter().find(|segment| segment.has(end)).copied() else {
            return Some(Vec::new());
        };
        let length = (end - stack.address).min(ENVIRONMENT);
        let offset = stack.offset.checked_add(end - stack.address - length)?;
        read_at(&mut core.file, offset, length as usize)
    });
    let environment = environment.unwrap_or_default();
    environment
        .split(|byte| *byte == 0)
        .any(|entry| entry == variable.as_bytes())
}

/// Asks a core dump, again for a while where the kernel may still write what is asked for.
fn when_written<T>(path: &Path, ask: impl Fn() -> Option<T>) -> Option<T> {
    let end = Instant::now() + WRITING;
    loop {
        let answer = ask();
        if answer.is_some() || !is_begun(path) || Instant::now() > end {
            return answer;
        }
        std::thread::sleep(PAUSE);
    }
}

/// A 64-bit little-endian ELF core dump: `Elf64_Ehdr` and `Elf64_Phdr` of elf.h.
#[derive(Debug)]
struct Core {
    file: File,
    segments: Vec<Segment>,
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    kind: u32,
    offset: u64,
    address: u64,
    size: u64,
}

impl Core {
    fn open(path: &Path) -> Option<Self> {
        const CORE: u16 = 4;
        const HEADER: usize = 56;
        let mut file = File::open(path).ok()?;
        let header = read_at(&mut file, 0, 64)?;
        let is_core = header.starts_with(b"\x7fELF\x02\x01") && u16_at(&header, 16)? == CORE;
        if !is_core || usize::from(u16_at(&header, 54)?) != HEADER {
            return None;
        }
        let count = usize::from(u16_at(&header, 56)?);
        let table = read_at(&mut file, u64_at(&header, 32)?, count * HEADER)?;
        let segments = table.chunks_exact(HEADER).map(Segment::read).collect::<Option<_>>()?;
        Some(Self { file, segments })
    }

    /// The first note of a kind.
    fn note(&mut self, wanted: u32) -> Option<Vec<u8>> {
        const NOTE: u32 = 4;
        /// Of a process of very many threads, what is asked for is in the notes of the first.
        const NOTES: u64 = 1 << 20;
        let place = self.segments.iter().find(|segment| segment.kind == NOTE)?;
        let notes = read_at(&mut self.file, place.offset, place.size.min(NOTES) as usize)?;
        let mut rest = notes.as_slice();
        while let (Some(name), Some(length), Some(kind)) = (u32_at(rest, 0), u32_at(rest, 4), u32_at(rest, 8)) {
            let start = 12 + (name as usize).next_multiple_of(4);
            if kind == wanted {
                return rest.get(start..start.checked_add(length as usize)?).map(<[u8]>::to_vec);
            }
            rest = rest.get(start.checked_add((length as usize).next_multiple_of(4))?..)?;
        }
        None
    }
}

impl Segment {
    fn read(header: &[u8]) -> Option<Self> {
        Some(Self {
            kind: u32_at(header, 0)?,
            offset: u64_at(header, 8)?,
            address: u64_at(header, 16)?,
            size: u64_at(header, 32)?,
        })
    }

    /// Whether it is of memory, and the file has this address.
    fn has(&self, address: u64) -> bool {
        const LOAD: u32 = 1;
        let into = address.checked_sub(self.address);
        self.kind == LOAD && into.is_some_and(|into| into < self.size)
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

    /// A core dump of this process and parent, of whose memory it has the end of a stack.
    fn core(pid: u32, parent: u32, stack: &[u8]) -> Vec<u8> {
        const TOP: u64 = 0x7fff_0000;
        let headers = 64 + 2 * 56_u64;
        let mut info = [0; 136];
        info[24..28].copy_from_slice(&pid.to_le_bytes());
        info[28..32].copy_from_slice(&parent.to_le_bytes());
        let auxv = [31, TOP + stack.len() as u64 - 1, 0, 0].map(u64::to_le_bytes).concat();
        let mut notes = Vec::new();
        for (kind, bytes) in [(3_u32, info.as_slice()), (6, &auxv)] {
            notes.extend(
                [5, bytes.len() as u32, kind]
                    .iter()
                    .flat_map(|number| number.to_le_bytes()),
            );
            notes.extend(b"CORE\0\0\0\0");
            notes.extend(bytes);
        }
        let mut file = vec![0; headers as usize];
        let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, b"\x7fELF\x02\x01");
        put(16, &4_u16.to_le_bytes());
        put(32, &64_u64.to_le_bytes());
        put(54, &56_u16.to_le_bytes());
        put(56, &2_u16.to_le_bytes());
        let segments = [
            (4_u32, headers, 0, notes.len()),
            (1, headers + notes.len() as u64, TOP, stack.len()),
        ];
        for (at, (kind, offset, address, size)) in [64, 120].into_iter().zip(segments) {
            put(at, &kind.to_le_bytes());
            put(at + 8, &offset.to_le_bytes());
            put(at + 16, &address.to_le_bytes());
            put(at + 32, &(size as u64).to_le_bytes());
        }
        [file, notes, stack.to_vec()].concat()
    }

    #[test]
    fn a_core_that_the_kernel_has_only_begun_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("core");
        let mut file = File::create(&path).unwrap();
        let kernel = std::thread::spawn(move || {
            for part in core(7, 3, b"program\0A=1\0RUN=7\0./program").chunks(90) {
                std::thread::sleep(PAUSE);
                file.write_all(part).unwrap();
            }
        });
        let owner = Owner::of(&path);
        let [ours, others] = ["RUN=7", "RUN=8"].map(|variable| was_started_with(variable, &path));
        kernel.join().unwrap();
        assert_eq!(owner, Some(Owner { pid: 7, parent: 3 }));
        assert!(ours && !others);
    }

    #[test]
    fn a_core_without_its_stack_says_nothing_of_its_environment() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("core");
        std::fs::write(&path, core(7, 3, b"")).unwrap();
        assert!(!was_started_with("RUN=7", &path));
        assert_eq!(Owner::of(&path), Some(Owner { pid: 7, parent: 3 }));
    }

    #[test]
    fn a_file_that_is_no_core_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("core");
        std::fs::write(&path, "notes").unwrap();
        assert!(!is_begun(&path));
        assert_eq!(Owner::of(&path), None);
    }
}
