//! Source lines of GPU core dumps, built here table by table: the line tables are as ptxas writes them.

use whycrash_evidence::model::GpuCore;
use whycrash_evidence::{Artifact, Limits, Reading};
use whycrash_symbols::{Sources, Symbols};

const EM_CUDA: u16 = 190;
const ET_CORE: u16 = 4;
const ET_EXEC: u16 = 2;
const KERNEL_AT: u64 = 0x7f10_0000_1000;
const FAULT: u64 = KERNEL_AT + 0x90;
const RELOCATED_IMAGE: u32 = 0x8000_0007;
const IMAGE: u32 = 0x8000_0006;

#[derive(Default)]
struct Section {
    name: String,
    kind: u32,
    address: u64,
    link: u32,
    info: u32,
    entry: u64,
    data: Vec<u8>,
}

/// An ELF file of sections alone.
fn elf(kind: u16, mut sections: Vec<Section>) -> Vec<u8> {
    let mut names = vec![0];
    sections.push(Section {
        name: ".shstrtab".to_owned(),
        kind: 3,
        ..Section::default()
    });
    let offsets: Vec<u32> = sections
        .iter()
        .map(|section| {
            let offset = names.len() as u32;
            names.extend(section.name.bytes().chain([0]));
            offset
        })
        .collect();
    if let Some(last) = sections.last_mut() {
        last.data = names;
    }
    let mut file = vec![0; 64];
    let mut headers = vec![0; 64];
    for (section, name) in sections.iter().zip(offsets) {
        headers.extend(words(&[name, section.kind]));
        headers.extend(longs(&[
            0,
            section.address,
            file.len() as u64,
            section.data.len() as u64,
        ]));
        headers.extend(words(&[section.link, section.info]));
        headers.extend(longs(&[1, section.entry]));
        file.extend(&section.data);
    }
    let mut header = b"\x7fELF\x02\x01\x01\x33".to_vec();
    header.resize(16, 0);
    for half in [kind, EM_CUDA] {
        header.extend(half.to_le_bytes());
    }
    header.extend(words(&[1]));
    header.extend(longs(&[0, 0, file.len() as u64]));
    header.extend(words(&[0]));
    let count = sections.len() as u16;
    for half in [64, 0, 0, 64, count + 1, count] {
        header.extend(half.to_le_bytes());
    }
    file[..64].copy_from_slice(&header);
    file.extend(headers);
    file
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn longs(longs: &[u64]) -> Vec<u8> {
    longs.iter().flat_map(|long| long.to_le_bytes()).collect()
}

/// The table of `/src/scatter.cu`: line 30 of one function; lines 10, 13 (at 0x90) and 14 of the other. Gives where the
/// two start addresses are to be written, too.
fn line_table(starts: [u64; 2]) -> (Vec<u8>, [u64; 2]) {
    let mut header = vec![1, 1, 0xfb, 14, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1];
    header.extend(b"/src\0\0scatter.cu\0\x01\0\0\0");
    let mut table = 2_u16.to_le_bytes().to_vec();
    table.extend(words(&[header.len() as u32]));
    table.extend(header);
    let mut slots = [0; 2];
    let programs: [&[u8]; 2] = [
        // Advance the line by 29, emit a row, advance the address by 0x100.
        &[3, 29, 1, 2, 0x80, 2],
        // Line 10; at 0x90 line 13; at 0xb0 line 14; to 0x180.
        &[3, 9, 1, 3, 3, 2, 0x90, 1, 1, 3, 1, 2, 0x20, 1, 2, 0xd0, 1],
    ];
    for ((slot, start), program) in slots.iter_mut().zip(starts).zip(programs) {
        table.extend([0, 9, 2]);
        // Behind the length of the table.
        *slot = table.len() as u64 + 4;
        table.extend(start.to_le_bytes());
        table.extend(program);
        table.extend([0, 1, 1]);
    }
    let mut whole = words(&[table.len() as u32]);
    whole.extend(table);
    (whole, slots)
}

/// How a cubin has its line table.
#[derive(Clone, Copy, PartialEq)]
enum Table {
    /// Not at all.
    Absent,
    /// With the addresses on the device.
    Placed,
    /// With relocations for them.
    ByRelocation,
}

/// A cubin with the kernels `idle` and `scatter`, at their addresses when it is placed.
fn cubin(is_placed: bool, table: Table) -> Vec<u8> {
    let text = |name: &str, address: u64, size: usize| Section {
        name: format!(".text.{name}"),
        kind: 1,
        address: if is_placed { address } else { 0 },
        data: vec![0; size],
        ..Section::default()
    };
    let idle_at = KERNEL_AT + 0x1000;
    let mut sections = vec![
        text("_Z4idlev", idle_at, 0x100),
        text("_Z7scatterPfPKi", KERNEL_AT, 0x180),
    ];
    sections.push(Section {
        name: ".strtab".to_owned(),
        kind: 3,
        data: b"\0_Z4idlev\0_Z7scatterPfPKi\0".to_vec(),
        ..Section::default()
    });
    let mut symbols = vec![0; 24];
    for (name, section, size) in [(1_u32, 1_u16, 0x100_u64), (10, 2, 0x180)] {
        symbols.extend(name.to_le_bytes());
        symbols.extend([0x12, 0x10]);
        symbols.extend(section.to_le_bytes());
        symbols.extend(longs(&[0, size]));
    }
    sections.push(Section {
        name: ".symtab".to_owned(),
        kind: 2,
        link: 3,
        info: 1,
        entry: 24,
        data: symbols,
        ..Section::default()
    });
    let starts = if table == Table::Placed {
        [idle_at, KERNEL_AT]
    } else {
        [0, 0]
    };
    let (lines, slots) = line_table(starts);
    if table != Table::Absent {
        sections.push(Section {
            name: ".debug_line".to_owned(),
            kind: 1,
            data: lines,
            ..Section::default()
        });
    }
    if table == Table::ByRelocation {
        let relocations = (1_u64..)
            .zip(slots)
            .flat_map(|(symbol, slot)| longs(&[slot, symbol << 32 | 2, 0]));
        sections.push(Section {
            name: ".rela.debug_line".to_owned(),
            kind: 4,
            link: 4,
            info: 5,
            entry: 24,
            data: relocations.collect(),
            ..Section::default()
        });
    }
    elf(ET_EXEC, sections)
}

/// A dump with one warp that stopped at [`FAULT`], and these images.
fn core(images: Vec<(u32, Vec<u8>)>) -> GpuCore {
    let mut reading = read(images);
    assert_eq!(reading.problems, []);
    let core = reading.evidence.gpu_cores.remove(0);
    let frame = &reading.evidence.threads[0].frames[0];
    assert_eq!((&frame.file, frame.line), (&core.file, core.line));
    core
}

/// What is read of that dump.
fn read(images: Vec<(u32, Vec<u8>)>) -> Reading {
    let table = |name: &str, number: u32, row: Vec<u8>| Section {
        name: format!(".cudbg.{name}"),
        kind: 0x8000_0000 + number,
        entry: row.len() as u64,
        data: row,
        ..Section::default()
    };
    let row = |first: &[u64], then: &[u32], size: usize| {
        let mut row = longs(first);
        row.extend(words(then));
        row.resize(size, 0);
        row
    };
    let mut sections = vec![
        table("devtbl", 9, row(&[0, 0, 0], &[0], 72)),
        table(
            "gridtbl.dev0",
            12,
            row(
                &[77, 1, 0, KERNEL_AT, 5, 0, 0],
                &[0, 0, 0, 32, 40, 1, 1, 256, 1, 1, 0, 1],
                104,
            ),
        ),
        table("smtbl.dev0", 11, row(&[], &[4, 0], 8)),
        table("ctatbl.dev0.sm0", 13, row(&[77], &[1, 0, 0, 0], 24)),
        table("wptbl.dev0.sm0.cta0", 14, row(&[FAULT], &[5, u32::MAX, 1, 1, 1, 0], 32)),
    ];
    for (kind, data) in images {
        sections.push(Section {
            name: ".cudbg.image".to_owned(),
            kind,
            data,
            ..Section::default()
        });
    }
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), elf(ET_CORE, sections)).expect("room");
    let symbols = Symbols::new(Sources::default());
    symbols.read(&Artifact::new("core.cuda", file.path()), &Limits::default())
}

#[test]
fn lines_without_end_are_cut() {
    let (mut table, _) = line_table([KERNEL_AT + 0x1000, KERNEL_AT]);
    // A sequence with a row for every byte.
    table.extend([0, 9, 2].iter().chain(&KERNEL_AT.to_le_bytes()));
    table.resize(table.len() + (4 << 20) + 1, 0x20);
    let length = table.len() as u32 - 4;
    table[..4].copy_from_slice(&length.to_le_bytes());
    let sections = vec![Section {
        name: ".debug_line".to_owned(),
        kind: 1,
        data: table,
        ..Section::default()
    }];
    let reading = read(vec![(RELOCATED_IMAGE, elf(ET_EXEC, sections))]);
    assert_eq!(reading.problems[0].code, "limit-gpu-lines");
}

#[test]
fn the_faulting_line_is_named() {
    for (name, images) in [
        ("placed", vec![(RELOCATED_IMAGE, cubin(true, Table::Placed))]),
        (
            "by relocation",
            vec![(RELOCATED_IMAGE, cubin(true, Table::ByRelocation))],
        ),
        (
            "in the image before relocation",
            vec![
                (RELOCATED_IMAGE, cubin(true, Table::Absent)),
                (IMAGE, cubin(false, Table::ByRelocation)),
            ],
        ),
    ] {
        let core = core(images);
        assert_eq!(core.kernel.as_deref(), Some("scatter(float*, int const*)"), "{name}");
        assert_eq!(
            (core.file.as_deref(), core.line),
            (Some("/src/scatter.cu"), Some(13)),
            "{name}"
        );
    }
}

#[test]
fn without_a_line_table_nothing_is_named() {
    let core = core(vec![(RELOCATED_IMAGE, cubin(true, Table::Absent))]);
    assert_eq!((core.offset.map(|offset| offset.0), core.line), (Some(0x90), None));
}
