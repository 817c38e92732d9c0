//! The memory of a Python interpreter. The first byte of the input tells its version, the rest is what is in memory
//! from `_PyRuntime` on.
#![no_main]

use libfuzzer_sys::fuzz_target;
use whycrash_fuzz::symbolicate;
use whycrash_fuzz::tiny_core::{EXECUTE, READ, TinyCore, WRITE, words};

const BASE: u64 = 0x7f00_0000_0000;
/// Where seeds expect the memory.
const RUNTIME: u64 = 0x1_0000;
const SIZE: u64 = 1 << 20;

fuzz_target!(|bytes: &[u8]| {
    let Some((version, memory)) = bytes.split_first() else {
        return;
    };
    let name = format!("libpython3.{}.so.1.0", 9 + version % 6);
    let memory = memory.get(..SIZE as usize).unwrap_or(memory).to_vec();
    let core = TinyCore::x86_64(BASE + 0x200)
        .register(7, BASE + RUNTIME)
        .map(BASE, 4096, 0, READ | EXECUTE, &format!("/lib/{name}"), Vec::new())
        .segment(BASE + RUNTIME, SIZE, READ | WRITE, memory);
    symbolicate(&core.bytes(), &[(&name, &library())]);
});

/// A library with code, and one symbol: `_PyRuntime`.
fn library() -> Vec<u8> {
    const NAMES: &[u8] = b"\0_PyRuntime\0.text\0.dynsym\0.dynstr\0";
    const CODE: usize = 512;
    let (symbols_at, names_at) = (64 + 56 + CODE as u64, 64 + 56 + CODE as u64 + 48);
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0\x01\0\0\0".to_vec();
    let sections_at = names_at + NAMES.len() as u64;
    file.extend(words(&[0, 64, sections_at]));
    file.extend([0, 0, 0, 0, 64, 0, 56, 0, 1, 0, 64, 0, 4, 0, 3, 0]);
    file.extend(words(&[1 | 5 << 32, 0, 0, 0, 4096, 4096, 4096]));
    file.extend([0x90; CODE]);
    file.extend([0; 24]);
    // The symbol: its name, an object of section 1, its address and size.
    file.extend(words(&[1 | 0x11 << 32 | 1 << 48, RUNTIME, SIZE]));
    file.extend(NAMES);
    let mut section = |name: u64, kind: u64, flags: u64, at: u64, size: u64, link: u64, entry: u64| {
        file.extend(words(&[name | kind << 32, flags, at, at, size, link, 1, entry]));
    };
    section(0, 0, 0, 0, 0, 0, 0);
    section(12, 1, 6, 120, CODE as u64, 0, 0);
    section(18, 11, 2, symbols_at, 48, 3, 24);
    section(26, 3, 2, names_at, NAMES.len() as u64, 0, 0);
    file
}
