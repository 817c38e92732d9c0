//! Stacks of aarch64 programs. The program is written for the assembler of this machine, as words of code and rules in
//! DWARF's own numbers, and then called one of aarch64.

use std::process::Command;

use object::{Object as _, ObjectSymbol as _};
use whycrash_evidence::model::{Crash, Frame, Trust};

use crate::tiny_core::{EXECUTE, READ, TinyCore, WRITE, words};

/// `leaf` uses no stack; `signer` signs its return address and keeps a frame record; `first` has no caller.
const PROGRAM: &str = "
.text
.globl leaf
.type leaf, @function
leaf:
  .cfi_startproc simple
  .cfi_return_column 30
  .cfi_def_cfa 31, 0
  .long 0xb9400021 /* ldr w1, [x1] */
  .long 0xd65f03c0 /* ret */
  .cfi_endproc
.size leaf, .-leaf
.globl signer
.type signer, @function
signer:
  .cfi_startproc simple
  .cfi_return_column 30
  .cfi_def_cfa 31, 0
  .long 0xd503233f /* paciasp */
  .cfi_escape 0x2d
  .long 0xa9bf7bfd /* stp x29, x30, [sp, #-16]! */
  .cfi_def_cfa_offset 16
  .cfi_offset 29, -16
  .cfi_offset 30, -8
  .long 0x94000000 /* bl */
  .long 0xb900001f /* str wzr, [x0] */
  .cfi_endproc
.size signer, .-signer
.globl first
.type first, @function
first:
  .cfi_startproc simple
  .cfi_return_column 30
  .cfi_def_cfa 31, 0
  .cfi_undefined 30
  .long 0x94000000
  .long 0xd503201f
  .cfi_endproc
.size first, .-first
";
/// `mov x8, #139; svc #0`.
const TRAMPOLINE: [u8; 8] = [0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4];
const BASE: u64 = 0x5555_5555_4000;
const STACK: u64 = 0x7fff_0000_0000;
const VDSO: u64 = 0x7fff_8000_0000;
const SP: usize = 31;
const LR: usize = 30;
const EM_AARCH64: u8 = 183;

struct Program {
    folder: tempfile::TempDir,
}

impl Program {
    fn new() -> Self {
        let program = Self {
            folder: tempfile::tempdir().expect("a temporary folder"),
        };
        std::fs::write(program.folder.path().join("program.s"), PROGRAM).expect("room");
        let status = Command::new("gcc")
            .args([
                "-shared",
                "-nostdlib",
                "-Wl,--build-id=none",
                "program.s",
                "-o",
                "program",
            ])
            .current_dir(program.folder.path())
            .status()
            .unwrap_or_else(|error| panic!("can not run gcc ({error}): apt-get install gcc"));
        assert!(status.success());
        let path = program.folder.path().join("program");
        let mut bytes = std::fs::read(&path).expect("the program");
        bytes[18] = EM_AARCH64;
        std::fs::write(path, bytes).expect("room");
        program
    }

    fn address(&self, symbol: &str) -> u64 {
        let bytes = std::fs::read(self.folder.path().join("program")).expect("the program");
        let file = object::File::parse(&*bytes).expect("an ELF file");
        let found = file.symbols().find(|candidate| candidate.name() == Ok(symbol));
        BASE + found.expect("the symbol").address()
    }

    fn core(&self, pc: u64) -> TinyCore {
        let size = std::fs::metadata(self.folder.path().join("program")).expect("it").len();
        let size = size.next_multiple_of(4096);
        TinyCore::aarch64(pc).map(BASE, size, 0, READ | EXECUTE, "/gone/program", Vec::new())
    }

    fn read(&self, core: TinyCore) -> (Crash, Vec<Frame>) {
        let mut evidence = core.read(self.folder.path());
        (evidence.crash.expect("a crash"), evidence.threads.swap_remove(0).frames)
    }
}

fn stack(frames: &[Frame]) -> Vec<(&str, Trust)> {
    frames
        .iter()
        .map(|frame| (frame.function.as_deref().unwrap_or_default(), frame.trust))
        .collect()
}

const SIGNATURE: u64 = 0x002a_0000_0000_0000;

/// The stack of `leaf`, called by `signer`, called by `first`; the return address in memory is signed.
fn signed(program: &Program) -> TinyCore {
    program
        .core(program.address("leaf"))
        .register(SP, STACK)
        .register(LR, program.address("signer") + 12)
        .segment(
            STACK,
            4096,
            READ | WRITE,
            words(&[0, SIGNATURE | (program.address("first") + 4)]),
        )
}

const EXPECTED: [(&str, Trust); 3] = [("leaf", Trust::Context), ("signer", Trust::Cfi), ("first", Trust::Cfi)];

#[test]
fn signed_return_addresses_are_stripped() {
    let program = Program::new();
    let masks = words(&[0x007f_0000_0000_0000, 0x007f_0000_0000_0000]);
    let (_, frames) = program.read(signed(&program).note("LINUX", 0x406, &masks));
    assert_eq!(stack(&frames), EXPECTED);
    let (_, frames) = program.read(signed(&program));
    assert_eq!(
        stack(&frames),
        EXPECTED,
        "where the core does not say which bits are the signature"
    );
}

#[test]
fn a_signal_frame_is_stepped_over() {
    let program = Program::new();
    let context = STACK + 64 + 128 + 176 + 8;
    let mut memory = vec![0; 4096];
    let mut put = |address: u64, value: u64| {
        let at = (address - STACK) as usize;
        memory[at..at + 8].copy_from_slice(&value.to_le_bytes());
    };
    // The interrupted registers: in `leaf`, on the stack that `signer` left.
    let interrupted = STACK + 2048;
    put(context + 30 * 8, program.address("signer") + 12);
    put(context + 31 * 8, interrupted);
    put(context + 32 * 8, program.address("leaf"));
    put(interrupted + 8, program.address("first") + 4);
    let core = program
        .core(program.address("leaf"))
        .register(SP, STACK + 64)
        .register(LR, VDSO)
        .segment(STACK, 4096, READ | WRITE, memory)
        .segment(VDSO, 4096, READ | EXECUTE, TRAMPOLINE.to_vec());
    let (_, frames) = program.read(core);
    let expected = [
        ("leaf", Trust::Context),
        ("<signal handler called>", Trust::Cfi),
        ("leaf", Trust::Cfi),
        ("signer", Trust::Cfi),
        ("first", Trust::Cfi),
    ];
    assert_eq!(stack(&frames), expected);
    assert!(frames[2].signal);
}

#[test]
fn the_instruction_tells_the_access() {
    let program = Program::new();
    let mut signal = vec![0; 128];
    signal[0] = 11;
    signal[8] = 1;
    signal[16] = 8;
    for (pc, expected) in [
        (program.address("leaf"), Some("read")),
        (program.address("leaf") + 4, None),
        (program.address("signer") + 4, Some("write")),
        (program.address("signer") + 12, Some("write")),
    ] {
        let (crash, _) = program.read(program.core(pc).note("CORE", 0x5349_4749, &signal));
        assert_eq!(crash.address_kind.as_deref(), Some("null"));
        assert_eq!(crash.access.as_deref(), expected, "{:?}", crash.instruction);
    }
}
