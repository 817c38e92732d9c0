//! What a file is good for as symbols, and where the symbol folders keep it.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use debugid::DebugId;
use object::{Object as _, ObjectKind};

use crate::files::build_id::{debug_id, is_build_id};
use crate::files::object_file::ObjectFile;
use crate::files::regular::{self, MAX_FILE, RegularFile};
use crate::files::shared::Shared;

/// Longest first line of a Breakpad symbol file that is read, in bytes.
const MAX_MODULE_LINE: u64 = 4096;

/// A file that names addresses or tells how to unwind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolIdentity {
    /// What kind of file it is.
    pub kind: SymbolKind,
    /// GNU build id in lower-case hex; of a Breakpad file the debug id in Breakpad's form.
    pub id: String,
    /// Path below [`crate::Sources::store`] or a folder of [`crate::Sources::folders`]: `.build-id/ab/cd….debug` as
    /// debuggers have it, or `.debug-id/AB/CD…0.sym`. Neither depends on a name, so that there is one file for an id.
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
    #[error("it has no build id of 8 to 64 bytes; link it with -Wl,--build-id")]
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
        let file = regular::find_regular(path, MAX_FILE)?;
        let mut head = Vec::new();
        file.open()?.take(MAX_MODULE_LINE).read_to_end(&mut head)?;
        match &*head {
            [b'M', b'O', b'D', b'U', b'L', b'E', b' ', ..] => Self::breakpad(&head),
            [0x7f, b'E', b'L', b'F', ..] => Self::elf(&file),
            _ => Err(NotSymbols::Other),
        }
    }

    /// Where a folder keeps the Breakpad symbol file with this debug id.
    pub(crate) fn breakpad_place(id: DebugId) -> PathBuf {
        let id = id.breakpad().to_string();
        let (first, rest) = id.split_at_checked(2).unwrap_or_default();
        Path::new(".debug-id").join(first).join(format!("{rest}.sym"))
    }

    /// Where a folder keeps the ELF file with this build id.
    pub fn elf_place(build_id: &str, kind: SymbolKind) -> Option<PathBuf> {
        if kind == SymbolKind::Breakpad || !is_build_id(build_id) {
            return None;
        }
        let (first, rest) = build_id.split_at_checked(2)?;
        let suffix = if kind == SymbolKind::DebugInfo { ".debug" } else { "" };
        Some(Path::new(".build-id").join(first).join(format!("{rest}{suffix}")))
    }

    /// Where a folder keeps the file of this kind with this build id or debug id; nothing for what is no such id.
    pub fn place_of(id: &str, kind: SymbolKind) -> Option<PathBuf> {
        match kind {
            SymbolKind::Breakpad => debug_id(id).map(Self::breakpad_place),
            SymbolKind::Executable | SymbolKind::DebugInfo => Self::elf_place(id, kind),
        }
    }

    fn elf(file: &RegularFile) -> Result<Self, NotSymbols> {
        let bytes = Shared::map(file)?;
        let kind = object::File::parse(&*bytes).map_err(|_| NotSymbols::Other)?.kind();
        if kind == ObjectKind::Core {
            return Err(NotSymbols::Core);
        }
        let file = ObjectFile::parse(file.path(), &bytes).ok_or(NotSymbols::Other)?;
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
    fn breakpad(head: &[u8]) -> Result<Self, NotSymbols> {
        let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let line = std::str::from_utf8(line).map_err(|_| NotSymbols::Other)?;
        let mut words = line.trim_end().splitn(5, ' ').skip(3);
        let (Some(id), Some(name)) = (words.next(), words.next()) else {
            return Err(NotSymbols::Other);
        };
        // The name is part of a path in the folders of other tools.
        let is_name = !matches!(name, "" | "." | "..") && name.len() <= 200 && !name.contains(['/', '\\', '\0']);
        let id = debug_id(id).filter(|_| is_name).ok_or(NotSymbols::Other)?;
        Ok(Self {
            kind: SymbolKind::Breakpad,
            id: id.breakpad().to_string(),
            place: Self::breakpad_place(id),
            has_debug_info: false,
        })
    }
}
