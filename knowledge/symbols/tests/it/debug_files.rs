//! Debug information that is not simply in the binary: separate files, split units, packages, shared and compressed
//! sections. The programs are compiled here.

use std::path::{Path, PathBuf};

use object::{Object as _, ObjectSegment as _, ObjectSymbol as _};
use whycrash_evidence::model::Trust;
use whycrash_evidence::{Artifact, Limits};
use whycrash_symbols::{Sources, Symbols};

use crate::fixtures;
use crate::tiny_core::{EXECUTE, READ, TinyCore, WRITE};

const SOURCE: &str = r"
namespace shard {
static inline __attribute__((always_inline)) int fetch(const int *from) { return *from + 1; }
struct Reader {
  int read(const int *from);
  int spare[4];
};
__attribute__((noinline)) int Reader::read(const int *from) { return fetch(from) * 3; }
}
int main(int count, char **) { shard::Reader reader; return reader.read(count > 5 ? &count : 0); }
";
/// The function that the program is at.
const READ_SYMBOL: &str = "_ZN5shard6Reader4readEPKi";
const BASE: u64 = 0x5555_5555_4000;

/// What the source says is at the function's first access.
pub const WHOLE: [(&str, Option<u32>, bool); 2] =
    [("shard::fetch", Some(3), true), ("shard::Reader::read", Some(8), false)];
/// What is left of it when only the symbol table is known.
const BY_SYMBOL: [(&str, Option<u32>, bool); 1] = [("shard::Reader::read(int const*)", None, false)];

/// A folder with a program in it.
pub struct Build {
    pub folder: tempfile::TempDir,
}

impl Build {
    pub fn new(options: &[&str]) -> Self {
        let build = Self {
            folder: tempfile::tempdir().expect("a temporary folder"),
        };
        build.compile("program", options);
        build
    }

    pub fn compile(&self, name: &str, options: &[&str]) {
        std::fs::write(self.path("program.cpp"), SOURCE).expect("room");
        let mut arguments = vec!["-O2", "program.cpp", "-o", name];
        arguments.extend(options);
        self.run("g++", "g++", &arguments);
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn remove(&self, name: &str) {
        std::fs::remove_file(self.path(name)).expect("the file");
    }

    /// Runs a tool in the folder; `package` is what brings it.
    pub fn run(&self, tool: &str, package: &str, arguments: &[&str]) {
        fixtures::run(self.folder.path(), tool, package, arguments);
    }

    /// The functions that a process of the program is in whose next instruction is the first of `Reader::read`.
    fn functions(&self) -> Vec<(String, Option<u32>, bool)> {
        self.functions_of("program", self.address("program"))
    }

    /// Address of the function in a program that still has its symbols.
    pub fn address(&self, name: &str) -> u64 {
        let bytes = std::fs::read(self.path(name)).expect("the program");
        let file = object::File::parse(&*bytes).expect("an ELF file");
        let symbol = file.symbols().find(|symbol| symbol.name() == Ok(READ_SYMBOL));
        symbol.expect("the symbol").address()
    }

    fn functions_of(&self, name: &str, address: u64) -> Vec<(String, Option<u32>, bool)> {
        read(&self.core(name, address, "/gone"), self.folder.path())
    }

    /// The core of a process of the program, which was started from `folder`.
    pub fn core(&self, name: &str, address: u64, folder: &str) -> PathBuf {
        let core = self.path("core");
        let size = std::fs::metadata(self.path(name)).expect("the program").len();
        let bytes = TinyCore::x86_64(BASE + address)
            .map(
                BASE,
                size.next_multiple_of(4096),
                0,
                READ | EXECUTE,
                &format!("{folder}/{name}"),
                Vec::new(),
            )
            .bytes();
        std::fs::write(&core, bytes).expect("room");
        core
    }
}

fn read(core: &Path, folder: &Path) -> Vec<(String, Option<u32>, bool)> {
    let sources = Sources {
        folders: vec![folder.to_owned()],
        ..Sources::default()
    };
    let reading = Symbols::new(sources).read(&Artifact::new("core", core), &Limits::default());
    let frames = &reading.evidence.threads[0].frames;
    frames
        .iter()
        .map(|frame| (frame.function.clone().unwrap_or_default(), frame.line, frame.inline))
        .collect()
}

#[track_caller]
fn check(found: &[(String, Option<u32>, bool)], expected: &[(&str, Option<u32>, bool)]) {
    let found: Vec<_> = found
        .iter()
        .map(|(name, line, inline)| (&**name, *line, *inline))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn compressed_sections_are_read() {
    for options in [["-g", "-gz=none"], ["-g", "-gz=zlib"], ["-gdwarf-4", "-gz=zlib-gnu"]] {
        check(&Build::new(&options).functions(), &WHOLE);
    }
    let build = Build::new(&["-g"]);
    build.run("objcopy", "binutils", &["--compress-debug-sections=zstd", "program"]);
    check(&build.functions(), &WHOLE);
}

/// A stripped program with a separate debug file, tied by name and checksum alone.
fn separated() -> Build {
    let build = Build::new(&["-g", "-Wl,--build-id=none"]);
    build.run("objcopy", "binutils", &["--only-keep-debug", "program", "apart.debug"]);
    build.run("strip", "binutils", &["--strip-debug", "program"]);
    build.run("objcopy", "binutils", &["--add-gnu-debuglink=apart.debug", "program"]);
    build
}

#[test]
fn a_debug_link_is_followed() {
    check(&separated().functions(), &WHOLE);
}

#[test]
fn a_debug_file_with_another_checksum_is_never_used() {
    let build = separated();
    let path = build.path("apart.debug");
    let mut bytes = std::fs::read(&path).expect("the debug file");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(path, bytes).expect("room");
    check(&build.functions(), &BY_SYMBOL);
}

#[test]
fn split_units_are_read_from_their_files() {
    for version in ["-gdwarf-4", "-gdwarf-5"] {
        let build = Build::new(&[version, "-gsplit-dwarf"]);
        check(&build.functions(), &WHOLE);
    }
}

#[test]
fn split_units_are_read_from_a_package() {
    let build = Build::new(&["-gdwarf-4", "-gsplit-dwarf"]);
    build.run("dwp", "binutils", &["-e", "program", "-o", "program.dwp"]);
    for entry in std::fs::read_dir(build.folder.path()).expect("the folder").flatten() {
        if entry.path().extension().is_some_and(|extension| extension == "dwo") {
            std::fs::remove_file(entry.path()).expect("the file");
        }
    }
    check(&build.functions(), &WHOLE);
    build.remove("program.dwp");
    assert_ne!(
        build.functions().len(),
        WHOLE.len(),
        "there is nowhere else to read from"
    );
}

#[test]
fn units_that_refer_to_others_are_read() {
    // Link-time optimization writes the code into one unit, and what it was made of into another.
    for version in ["-gdwarf-4", "-gdwarf-5"] {
        let build = Build::new(&[version, "-flto", "-fno-ipa-sra", "-fno-ipa-cp"]);
        check(&build.functions(), &WHOLE);
    }
}

#[test]
fn shared_debug_information_is_followed() {
    let build = Build::new(&["-g"]);
    build.compile("other", &["-g"]);
    let address = build.address("program");
    for name in ["program", "other"] {
        let debug = format!("{name}.debug");
        build.run("objcopy", "binutils", &["--only-keep-debug", name, &debug]);
        build.run("strip", "binutils", &["--strip-all", name]);
    }
    build.run("dwz", "dwz", &["-m", "common.shared", "program.debug", "other.debug"]);
    check(&build.functions_of("program", address), &WHOLE);
    build.remove("common.shared");
    let lost = build.functions_of("program", address);
    assert_ne!(lost, build_names(&WHOLE), "the names were in the shared file");
}

fn build_names(frames: &[(&str, Option<u32>, bool)]) -> Vec<(String, Option<u32>, bool)> {
    frames
        .iter()
        .map(|(name, line, inline)| ((*name).to_owned(), *line, *inline))
        .collect()
}

/// The segments of a program as they are in memory.
fn with_pages(mut core: TinyCore, path: &Path, is_listed: bool) -> TinyCore {
    let bytes = std::fs::read(path).expect("the program");
    let file = object::File::parse(&*bytes).expect("an ELF file");
    for segment in file.segments() {
        let start = BASE + segment.address() / 4096 * 4096;
        let offset = segment.file_range().0 / 4096 * 4096;
        let end = (segment.file_range().0 + segment.file_range().1) as usize;
        let bytes = bytes[offset as usize..end].to_vec();
        let size = (bytes.len() as u64).next_multiple_of(4096);
        core = if is_listed {
            core.map(start, size, offset, READ | EXECUTE, "/gone/program", bytes)
        } else {
            core.segment(start, size, READ | EXECUTE, bytes)
        };
    }
    core
}

/// Function, trust and module of the frames of a core that holds all of a program, which `main` called `read` in.
fn read_alone(is_listed: bool) -> (Vec<(String, Trust)>, String, Option<String>) {
    let build = Build::new(&["-rdynamic"]);
    let address = build.address("program");
    let bytes = std::fs::read(build.path("program")).expect("the program");
    let file = object::File::parse(&*bytes).expect("an ELF file");
    let main = file.symbols().find(|symbol| symbol.name() == Ok("main")).expect("main");
    // At its first instruction a function has its return address on top of the stack.
    let stack = 0x7fff_0000_0000;
    let return_address = BASE + main.address() + 1;
    let core = TinyCore::x86_64(BASE + address).register(7, stack).segment(
        stack,
        4096,
        READ | WRITE,
        return_address.to_le_bytes().to_vec(),
    );
    let core_path = build.path("core");
    std::fs::write(&core_path, with_pages(core, &build.path("program"), is_listed).bytes()).expect("room");
    let reading = Symbols::new(Sources::default()).read(&Artifact::new("core", &core_path), &Limits::default());
    let evidence = reading.evidence;
    let frames = evidence.threads[0].frames.iter();
    let frames = frames.map(|frame| (frame.function.clone().unwrap_or_default(), frame.trust));
    let module = &evidence.modules[0];
    (frames.collect(), module.path.clone(), module.symbols.clone())
}

fn expected_alone() -> Vec<(String, Trust)> {
    vec![
        ("shard::Reader::read(int const*)".to_owned(), Trust::Context),
        ("main".to_owned(), Trust::Cfi),
    ]
}

#[test]
fn file_pages_in_the_core_are_enough() {
    let (frames, path, symbols) = read_alone(true);
    assert_eq!(frames, expected_alone());
    assert_eq!((path.as_str(), symbols.as_deref()), ("/gone/program", Some("core")));
}

#[test]
fn binaries_that_no_note_lists_are_found_in_memory() {
    let (frames, path, symbols) = read_alone(false);
    assert_eq!(frames, expected_alone());
    assert_eq!(
        (path.as_str(), symbols.as_deref()),
        ("[binary at 0x555555554000]", Some("core"))
    );
}
