//! What a file is good for as symbols, and where the symbol folders keep it.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use object::{Object as _, ObjectKind};

use crate::object_file::ObjectFile;
use crate::shared::Shared;

/// Longest first line of a Breakpad symbol file that is read, in bytes.
const MAX_MODULE_LINE: u64 = 4096;

/// A file that names addresses or tells how to unwind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolIdentity {
    /// What kind of file it is.
    pub kind: SymbolKind,
    /// GNU build id in lower-case hex; of a Breakpad file the debug id as it writes it.
    pub id: String,
    /// Path below a folder of [`crate::Sources::folders`]: `.build-id/ab/cd….debug` as debuggers have it, or
    /// `libfoo.so/0123…0/libfoo.so.sym` as Breakpad has it.
    pub place: PathBuf,
    /// True for an ELF file with sections of debug information, separate from its binary or not: what `debuginfo` means
    /// to debuginfod's clients (debuginfod(8)).
    pub has_debug_info: bool,
}

/// Kinds of symbol files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    /// An ELF file with machine code, and maybe debug information.
    Executable,
    /// An ELF file with debug information or symbols alone.
    DebugInfo,
    /// A text file in Breakpad's format.
    Breakpad,
}

/// Why a file can not be kept as symbols.
#[derive(Debug, thiserror::Error)]
pub enum NotSymbols {
    /// The file can not be read.
    #[error("it can not be read: {0}")]
    Unreadable(#[from] io::Error),
    /// It is neither an ELF file for a machine of ours nor a Breakpad symbol file.
    #[error("it is neither a 64-bit little-endian ELF file nor a Breakpad symbol file")]
    Other,
    /// It is a core dump.
    #[error("it is a core dump, which belongs into a report")]
    Core,
    /// Nothing would ever find it.
    #[error("it has no build id; link it with -Wl,--build-id")]
    NoBuildId,
}

impl SymbolKind {
    /// As interfaces name it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Executable => "executable",
            Self::DebugInfo => "debuginfo",
            Self::Breakpad => "breakpad",
        }
    }
}

impl SymbolIdentity {
    /// Looks into a file.
    pub fn of(path: &Path) -> Result<Self, NotSymbols> {
        let mut head = [0; 7];
        let file = File::open(path)?;
        let length = (&file).take(head.len() as u64).read(&mut head)?;
        match head.get(..length).unwrap_or_default() {
            b"MODULE " => Self::breakpad(path),
            [0x7f, b'E', b'L', b'F', ..] => Self::elf(path),
            _ => Err(NotSymbols::Other),
        }
    }

    /// Where a folder keeps the ELF file with this build id.
    pub fn elf_place(build_id: &str, kind: SymbolKind) -> Option<PathBuf> {
        let is_hex = build_id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let (first, rest) = build_id.split_at_checked(2)?;
        let suffix = if kind == SymbolKind::DebugInfo { ".debug" } else { "" };
        (is_hex && (4..=128).contains(&build_id.len()))
            .then(|| Path::new(".build-id").join(first).join(format!("{rest}{suffix}")))
    }

    fn elf(path: &Path) -> Result<Self, NotSymbols> {
        let bytes = Shared::map(path)?;
        let kind = object::File::parse(&*bytes).map_err(|_| NotSymbols::Other)?.kind();
        if kind == ObjectKind::Core {
            return Err(NotSymbols::Core);
        }
        let file = ObjectFile::parse(path, &bytes).ok_or(NotSymbols::Other)?;
        let kind = if file.has_code() {
            SymbolKind::Executable
        } else {
            SymbolKind::DebugInfo
        };
        let has_debug_info = file.has_debug_sections();
        let id = file.build_id.ok_or(NotSymbols::NoBuildId)?;
        let place = Self::elf_place(&id, kind).ok_or(NotSymbols::NoBuildId)?;
        Ok(Self {
            kind,
            id,
            place,
            has_debug_info,
        })
    }

    /// `MODULE operating-system architecture debug-id name`: Breakpad's `docs/symbol_files.md`.
    fn breakpad(path: &Path) -> Result<Self, NotSymbols> {
        let mut line = String::new();
        BufReader::new(File::open(path)?)
            .take(MAX_MODULE_LINE)
            .read_line(&mut line)
            .map_err(|_| NotSymbols::Other)?;
        let mut words = line.trim_end().splitn(5, ' ').skip(3);
        let (Some(id), Some(name)) = (words.next(), words.next()) else {
            return Err(NotSymbols::Other);
        };
        // Both become parts of a path.
        let is_id = (33..=40).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_name = !matches!(name, "" | "." | "..") && name.len() <= 200 && !name.contains(['/', '\\', '\0']);
        if !is_id || !is_name {
            return Err(NotSymbols::Other);
        }
        Ok(Self {
            kind: SymbolKind::Breakpad,
            id: id.to_owned(),
            place: Path::new(name).join(id).join(format!("{name}.sym")),
            has_debug_info: false,
        })
    }
}
