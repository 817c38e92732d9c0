//! The binary of a crash, as its symbols: tables, unwinding rules, debug information. The last 32 bytes of the input
//! say where its threads are.
#![no_main]

use libfuzzer_sys::fuzz_target;
use whycrash_fuzz::symbolicate;
use whycrash_fuzz::tiny_core::{EXECUTE, READ, TinyCore, WRITE, words};

const BASE: u64 = 0x5555_5555_4000;
const STACK: u64 = 0x7fff_0000_0000;
const PAGE: u64 = 4096;
const AARCH64: u8 = 183;

fuzz_target!(|bytes: &[u8]| {
    let (program, places) = bytes.split_at(bytes.len().saturating_sub(32));
    if program.is_empty() {
        return;
    }
    let size = (program.len() as u64).next_multiple_of(PAGE);
    let told = places
        .chunks_exact(2)
        .map(|place| u64::from(u16::from_le_bytes([place[0], place[1]])));
    let even = (0..8).map(|part| size / 8 * part);
    let places: Vec<u64> = told.chain(even).map(|place| BASE + place % size).collect();
    let returns: Vec<u64> = places.iter().flat_map(|place| [*place, STACK + 128]).collect();
    let core = match program.get(18) {
        Some(&AARCH64) => TinyCore::aarch64(BASE)
            .register(31, STACK)
            .register(29, STACK + 64)
            .register(30, BASE + 64),
        _ => TinyCore::x86_64(BASE).register(7, STACK).register(6, STACK + 64),
    };
    let core = places.into_iter().fold(core, TinyCore::thread);
    let core = core
        .map(BASE, size, 0, READ | EXECUTE, "/bin/trainer", Vec::new())
        .segment(STACK, PAGE, READ | WRITE, words(&returns));
    symbolicate(&core.bytes(), &[("trainer", program)]);
});
