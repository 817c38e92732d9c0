//! What a program that aborted had to say, out of memory made by hand.

use std::process::Command;

use object::{Object as _, ObjectSymbol as _};
use whycrash_evidence::model::Crash;

use crate::tiny_core::{EXECUTE, READ, TinyCore, WRITE, words};

const BASE: u64 = 0x7f00_0000_0000;
const STACK: u64 = 0x7fff_0000_0000;
const HEAP: u64 = 0x5555_0000_0000;

/// A library with the symbols that matter, the address of each, and the folder it is in.
struct Library {
    folder: tempfile::TempDir,
    name: &'static str,
}

impl Library {
    fn new(name: &'static str, source: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join("source.cpp"), source).expect("room");
        let status = Command::new("g++")
            .args(["-O1", "-shared", "-fPIC", "source.cpp", "-o", name])
            .current_dir(folder.path())
            .status()
            .unwrap_or_else(|error| panic!("can not run g++ ({error}): apt-get install g++"));
        assert!(status.success());
        Self { folder, name }
    }

    fn address(&self, symbol: &str) -> u64 {
        let bytes = std::fs::read(self.folder.path().join(self.name)).expect("the library");
        let file = object::File::parse(&*bytes).expect("an ELF file");
        let found = file.symbols().find(|candidate| candidate.name() == Ok(symbol));
        BASE + found.expect("the symbol").address()
    }

    /// A core of a process that raised `SIGABRT` in the library.
    fn core(&self, pc: u64) -> TinyCore {
        let size = std::fs::metadata(self.folder.path().join(self.name))
            .expect("the library")
            .len();
        let mut signal = vec![0; 128];
        signal[0] = 6;
        signal[8..12].copy_from_slice(&(-6_i32).to_le_bytes());
        TinyCore::x86_64(pc)
            .register(7, STACK)
            .note("CORE", 0x5349_4749, &signal)
            .map(
                BASE,
                size.next_multiple_of(4096),
                0,
                READ | EXECUTE,
                &format!("/gone/{}", self.name),
                Vec::new(),
            )
    }

    fn crash(&self, core: TinyCore) -> Crash {
        core.read(self.folder.path()).crash.expect("a crash")
    }
}

#[test]
fn the_c_library_keeps_its_message() {
    let library = Library::new("libc.so.6", "extern \"C\" { char *__abort_msg = 0; void give_up() {} }");
    let mut message = 4096_u32.to_le_bytes().to_vec();
    message.extend(b"free(): double free detected in tcache 2\n\0");
    // The variable alone is in the core, as the page the program wrote to.
    let core = library
        .core(library.address("give_up"))
        .segment(library.address("__abort_msg"), 8, READ | WRITE, words(&[HEAP]))
        .segment(HEAP, 4096, READ | WRITE, message);
    let crash = library.crash(core);
    assert_eq!(
        crash.message.as_deref(),
        Some("free(): double free detected in tcache 2")
    );
    assert_eq!(crash.message_source.as_deref(), Some("__abort_msg of libc.so.6"));
}

/// Types: `trainer::LossError`, which derives from `std::runtime_error`, which derives from `std::exception`.
const TYPES: u64 = HEAP + 0x100;
const NAMES: u64 = HEAP + 0x400;
/// The unwinder's header of the exception.
const HEADER: u64 = HEAP + 0x200;

fn exception() -> Vec<u8> {
    let mut heap = vec![0; 0x1000];
    let mut put = |address: u64, bytes: &[u8]| {
        let at = (address - HEAP) as usize;
        heap[at..at + bytes.len()].copy_from_slice(bytes);
    };
    let names = ["N7trainer9LossErrorE", "St13runtime_error", "St9exception"];
    for (index, name) in names.into_iter().enumerate() {
        let (kind, text) = (TYPES + index as u64 * 24, NAMES + index as u64 * 64);
        put(text, name.as_bytes());
        put(kind, &words(&[0, text, if index < 2 { kind + 24 } else { 0 }]));
    }
    put(HEADER - 80, &words(&[TYPES]));
    put(HEADER, &words(&[u64::from_be_bytes(*b"GNUCC++\0")]));
    put(HEADER + 32, &words(&[0, HEAP + 0x800]));
    put(HEAP + 0x800, b"loss is NaN at step 42\0");
    heap
}

#[test]
fn an_exception_that_nobody_caught_is_found() {
    let library = Library::new("libstdc++.so.6", "namespace std { void terminate() {} }");
    let core = library
        .core(library.address("_ZSt9terminatev"))
        .segment(STACK, 4096, READ | WRITE, words(&[1, 0, HEAP + 16, HEADER, 0]))
        .segment(HEAP, 4096, READ | WRITE, exception());
    let crash = library.crash(core);
    assert_eq!(
        crash.message.as_deref(),
        Some("trainer::LossError: loss is NaN at step 42")
    );
    assert_eq!(crash.message_source.as_deref(), Some("exception in memory"));
}

#[test]
fn an_exception_that_was_handled_is_not() {
    let library = Library::new("libstdc++.so.6", "namespace std { void go_on() {} }");
    let core = library
        .core(library.address("_ZSt5go_onv"))
        .segment(STACK, 4096, READ | WRITE, words(&[HEADER]))
        .segment(HEAP, 4096, READ | WRITE, exception());
    assert_eq!(library.crash(core).message, None);
}
