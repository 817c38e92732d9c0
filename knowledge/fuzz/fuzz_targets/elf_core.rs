//! ELF cores, in place and as a stream.
#![no_main]

use libfuzzer_sys::fuzz_target;
use whycrash_evidence::readers::Input;
use whycrash_evidence::readers::elf_core::{self, Auxiliary, CoreDump};
use whycrash_fuzz::{bounded, check, limits, with_artifact};

fuzz_target!(|bytes: &[u8]| {
    let limits = limits();
    if let Ok((core, _)) = bounded(32 << 20, || CoreDump::from_stream(bytes, &limits)) {
        look_around(&core);
    }
    with_artifact("core", bytes, |artifact| {
        let input = Input::open(artifact, &limits).expect("a regular file opens");
        let (reading, core) = bounded(32 << 20, || elf_core::read_with_dump(&input, &limits));
        check(reading, bytes.len(), &limits);
        core.iter().for_each(look_around);
    });
});

/// What an unwinder asks of a core.
fn look_around(core: &CoreDump) {
    let starts = core
        .segments
        .iter()
        .flat_map(|segment| [segment.start, segment.end.wrapping_sub(8)]);
    let registers = core.threads.iter().flat_map(|thread| thread.registers.general);
    for address in starts.chain(registers).chain([0, u64::MAX]).take(300) {
        core.word(address);
        bounded(1 << 20, || core.bytes(address, 4096));
        let segment = core.segment_at(address);
        assert!(segment.is_none_or(|segment| segment.start <= address && address < segment.end));
        assert!(
            core.module_at(address)
                .is_none_or(|module| module.start <= address && address < module.end)
        );
        assert!(core.mapping_at(address).is_none_or(|mapping| mapping.start <= address));
    }
    bounded(16 << 20, || {
        core.bytes(core.segments.first().map_or(0, |segment| segment.start), usize::MAX)
    });
    core.auxiliary(Auxiliary::Entry);
}
