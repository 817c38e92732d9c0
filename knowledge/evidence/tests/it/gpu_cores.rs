//! GPU core dumps, built here table by table: no such dump may be copied from elsewhere.

use proptest::prelude::*;
use whycrash_evidence::model::{EventPayload, Evidence};
use whycrash_evidence::{ArtifactKind, Hex, Limits, Reading, read};

use crate::support::{artifact, compressed};

/// Machine and operating system bytes of a GPU's ELF files.
const EM_CUDA: u16 = 190;
const ET_CORE: u16 = 4;
const ET_EXEC: u16 = 2;

/// Builds an ELF file of sections alone.
struct Elf {
    kind: u16,
    sections: Vec<Section>,
}

struct Section {
    name: String,
    content: u32,
    address: u64,
    link: u32,
    info: u32,
    row_bytes: u64,
    data: Vec<u8>,
}

impl Elf {
    fn new(kind: u16) -> Self {
        Self {
            kind,
            sections: Vec::new(),
        }
    }

    /// Adds a section and gives its index in the file.
    fn add(&mut self, name: &str, content: u32, (link, info): (u32, u32), row_bytes: usize, data: Vec<u8>) -> u32 {
        let row_bytes = row_bytes as u64;
        self.sections.push(Section {
            name: name.to_owned(),
            content,
            address: 0,
            link,
            info,
            row_bytes,
            data,
        });
        self.sections.len() as u32
    }

    /// Adds a table of the dump; its type number is counted from the first of CUDA's.
    fn table(&mut self, name: &str, number: u32, parent: (u32, u32), rows: &[Vec<u8>]) -> u32 {
        let row_bytes = rows.first().map_or(0, Vec::len);
        self.add(
            &format!(".cudbg.{name}"),
            0x8000_0000 + number,
            parent,
            row_bytes,
            rows.concat(),
        )
    }

    fn bytes(mut self) -> Vec<u8> {
        let mut names = vec![0];
        self.add(".shstrtab", 3, (0, 0), 0, Vec::new());
        let offsets: Vec<u32> = self
            .sections
            .iter()
            .map(|section| {
                let offset = names.len() as u32;
                names.extend(section.name.bytes().chain([0]));
                offset
            })
            .collect();
        self.sections.last_mut().unwrap().data = names;
        let mut file = vec![0; 64];
        let mut headers = vec![0; 64];
        for (section, name) in self.sections.iter().zip(offsets) {
            file.resize(file.len().next_multiple_of(8), 0);
            headers.extend(words(&[name, section.content]));
            headers.extend(longs(&[
                0,
                section.address,
                file.len() as u64,
                section.data.len() as u64,
            ]));
            headers.extend(words(&[section.link, section.info]));
            headers.extend(longs(&[8, section.row_bytes]));
            file.extend(&section.data);
        }
        file.resize(file.len().next_multiple_of(8), 0);
        let mut header = b"\x7fELF\x02\x01\x01\x33".to_vec();
        header.resize(16, 0);
        header.extend(self.kind.to_le_bytes());
        header.extend(EM_CUDA.to_le_bytes());
        header.extend(words(&[1]));
        header.extend(longs(&[0, 0, file.len() as u64]));
        header.extend(words(&[0]));
        let count = self.sections.len() as u16;
        for half in [64u16, 0, 0, 64, count + 1, count] {
            header.extend(half.to_le_bytes());
        }
        file[..64].copy_from_slice(&header);
        file.extend(headers);
        file
    }
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn longs(longs: &[u64]) -> Vec<u8> {
    longs.iter().flat_map(|long| long.to_le_bytes()).collect()
}

fn row(longs_first: &[u64], words_then: &[u32], appended: usize) -> Vec<u8> {
    let mut row = longs(longs_first);
    row.extend(words(words_then));
    row.extend(vec![0xee; appended]);
    row
}

const KERNEL_AT: u64 = 0x7f10_0000_1000;
const OTHER_AT: u64 = 0x7f10_0000_2000;

/// A cubin with two kernels, loaded at their addresses.
fn cubin() -> Vec<u8> {
    let mut elf = Elf::new(ET_EXEC);
    let strings = b"\0_Z9scatter_iPfPKii\0_Z4idlev\0".to_vec();
    let kernel = elf.add(".text._Z9scatter_iPfPKii", 1, (0, 0), 0, vec![0; 0x400]);
    let other = elf.add(".text._Z4idlev", 1, (0, 0), 0, vec![0; 0x100]);
    elf.sections[0].address = KERNEL_AT;
    elf.sections[1].address = OTHER_AT;
    let strtab = elf.add(".strtab", 3, (0, 0), 0, strings);
    let mut symbols = vec![0; 24];
    // One symbol counts from its section, the other holds the whole address: both are seen.
    for (name, section, value, size) in [(1u32, kernel, 0u64, 0x400u64), (20, other, OTHER_AT, 0x100)] {
        symbols.extend(name.to_le_bytes());
        symbols.extend([0x12, 0x10]);
        symbols.extend((section as u16).to_le_bytes());
        symbols.extend(longs(&[value, size]));
    }
    elf.add(".symtab", 2, (strtab, 1), 24, symbols);
    elf.bytes()
}

/// How a driver's version lays a dump out.
#[derive(Clone, Copy)]
struct Version {
    /// Bytes appended to rows.
    appended: usize,
    /// Multiprocessors tell their exception (r555).
    multiprocessor_exception: bool,
    /// Sections are linked, or only named.
    linked: bool,
    /// Threads are listed with their exception.
    threads: bool,
}

const R400: Version = Version {
    appended: 0,
    multiprocessor_exception: false,
    linked: true,
    threads: true,
};
const R575: Version = Version {
    appended: 16,
    multiprocessor_exception: true,
    linked: true,
    threads: true,
};

/// One device with two warps: one stopped with an illegal address, one idles.
fn dump(version: Version) -> Vec<u8> {
    build(version).bytes()
}

/// The same dump before it is written.
fn build(version: Version) -> Elf {
    let Version {
        appended,
        multiprocessor_exception,
        linked,
        threads,
    } = version;
    let pc = KERNEL_AT + 0x1b0;
    let mut elf = Elf::new(ET_CORE);
    let link = |section: u32, row: u32| if linked { (section, row) } else { (0, 0) };
    elf.add(".strtab", 3, (0, 0), 0, b"\0NVIDIA H100\0GH100\0sm_90\0".to_vec());
    let mut meta = row(&[0], &[575, 57, 12, 9, 0, 0], 0);
    meta.resize(32, 0);
    elf.table("meta", 22, (0, 0), &[meta]);
    let device = row(&[1, 13, 19], &[3, 0, 0, 132, 64, 32, 255, 7, 9, 0, 16, 0], appended);
    let devices = elf.table("devtbl", 9, (0, 0), &[device]);
    let grid = row(
        &[77, 1, 0, KERNEL_AT, 5, 0, 0],
        &[0, 0, 0, 32, 40, 2, 1, 256, 1, 1, 0, 4711],
        appended,
    );
    let idle = row(
        &[78, 1, 0, OTHER_AT, 5, 0, 0],
        &[0, 0, 0, 32, 1, 1, 1, 32, 1, 1, 0, 4711],
        appended,
    );
    elf.table("gridtbl.dev0", 12, link(devices, 0), &[grid, idle]);
    let multiprocessor = |number: u32, exception: u32| {
        let mut row = words(&[number, 0]);
        if multiprocessor_exception {
            row.extend(words(&[exception, u32::from(exception != 0)]));
            row.extend(longs(&[if exception == 0 { 0 } else { pc }]));
            row.resize(row.len() + 16, 0);
        }
        row
    };
    let multiprocessors = elf.table(
        "smtbl.dev0",
        11,
        link(devices, 0),
        &[multiprocessor(4, 0), multiprocessor(124, 14)],
    );
    let idle_block = elf.table(
        "ctatbl.dev0.sm0",
        13,
        link(multiprocessors, 0),
        &[row(&[78], &[0, 0, 0, 0], appended)],
    );
    let blocks = elf.table(
        "ctatbl.dev0.sm1",
        13,
        link(multiprocessors, 1),
        &[row(&[77], &[17, 1, 0, 0], appended)],
    );
    let valid = u32::from(!multiprocessor_exception);
    let idle_warp = row(&[0], &[0, u32::MAX, u32::MAX, 0, 0, 0], appended);
    let warp = row(&[pc], &[5, u32::MAX, 0b1000, 1, valid, 0], appended);
    elf.table("wptbl.dev0.sm0.cta0", 14, link(idle_block, 0), &[idle_warp]);
    let warps = elf.table("wptbl.dev0.sm1.cta0", 14, link(blocks, 0), &[warp]);
    if threads {
        let thread = |lane: u32, exception: u32| {
            row(
                &[KERNEL_AT + 0x1a0, 0],
                &[lane, 160 + lane, 0, 0, exception, 0, 0, 0],
                appended,
            )
        };
        let rows: Vec<Vec<u8>> = (0..4)
            .map(|lane| thread(lane, if lane == 3 { 14 } else { 0 }))
            .collect();
        let lanes = elf.table("lntbl.dev0.sm1.cta0.wp0", 15, link(warps, 0), &rows);
        elf.table(
            "bt.dev0.sm1.cta0.wp0.ln3",
            8,
            link(lanes, 3),
            &[row(&[0, OTHER_AT + 8], &[0, 0], 0)],
        );
    }
    elf.table("relfimg.dev0.ctx0.0", 7, (0, 0), &[cubin()]);
    elf
}

/// A sound dump, for tests of what damage does.
pub fn sample() -> Vec<u8> {
    dump(R575)
}

fn reading(bytes: &[u8]) -> Reading {
    let (artifact, _keep) = artifact("core.cuda.node.4711", bytes);
    read(&artifact, &Limits::default())
}

#[test]
fn every_version_names_the_fault() {
    let unlinked = Version { linked: false, ..R575 };
    let no_threads = Version { threads: false, ..R575 };
    for (name, version) in [
        ("r400", R400),
        ("r575", R575),
        ("unlinked", unlinked),
        ("no threads", no_threads),
    ] {
        let reading = reading(&dump(version));
        assert_eq!(
            (reading.kind, reading.problems),
            (Some(ArtifactKind::GpuCore), vec![]),
            "{name}"
        );
        let [core] = reading.evidence.gpu_cores.as_slice() else {
            panic!("{name}")
        };
        assert_eq!(core.device, 3);
        assert_eq!(core.exception.as_deref(), Some("WARP_ILLEGAL_ADDRESS"), "{name}");
        assert_eq!(
            core.kernel.as_deref(),
            Some("scatter_i(float*, int const*, int)"),
            "{name}"
        );
        assert_eq!(
            (core.offset, core.pc),
            (Some(Hex(0x1b0)), Some(Hex(KERNEL_AT + 0x1b0))),
            "{name}"
        );
        assert_eq!(
            (core.block, core.grid_size, core.block_size),
            (Some([17, 1, 0]), Some([40, 2, 1]), Some([256, 1, 1]))
        );
        assert_eq!(core.thread, version.threads.then_some([163, 0, 0]), "{name}");
        assert_eq!(core.faults.len(), 1, "{name}");
        assert_eq!((core.faults[0].sm, core.faults[0].warp), (124, 5));
        assert_eq!(
            core.warps
                .iter()
                .map(|group| (group.count, group.faulted))
                .fold((0, 0), |(a, b), (c, d)| (a + c, b + d)),
            (2, 1)
        );
    }
}

#[test]
fn a_whole_dump_is_read() {
    let evidence = reading(&dump(R575)).evidence;
    insta::assert_json_snapshot!(evidence);
    assert!(matches!(&evidence.timeline[0].payload, EventPayload::GpuException(exception) if exception.code == 14));
}

#[test]
fn compression_makes_no_difference() {
    let plain = reading(&dump(R575)).evidence;
    for (name, packed) in compressed(&dump(R575)) {
        assert_eq!(reading(&packed).evidence, plain, "{name}");
    }
}

#[test]
fn what_is_cut_off_is_named() {
    let bytes = dump(R575);
    for length in [20, 64, bytes.len() / 2, bytes.len() - 1] {
        let reading = reading(&bytes[..length]);
        let codes: Vec<&str> = reading.problems.iter().map(|problem| problem.code.as_str()).collect();
        assert_eq!(codes, ["truncated", "no-device"], "{length} of {} bytes", bytes.len());
        assert_eq!(reading.evidence, Evidence::default());
    }
}

/// A table that claims more than the file has is left out; the rest is read.
#[test]
fn lengths_are_not_trusted() {
    let bytes = dump(R400);
    let headers = u64::from_le_bytes(bytes[40..48].try_into().unwrap()) as usize;
    let count = usize::from(u16::from_le_bytes(bytes[60..62].try_into().unwrap()));
    for section in 1..count {
        for (member, value) in [
            (24, u64::MAX),
            (32, u64::MAX),
            (32, 1 << 40),
            (56, 0),
            (56, u64::MAX),
            (40, u64::MAX),
        ] {
            let mut damaged = bytes.clone();
            let at = headers + section * 64 + member;
            damaged[at..at + 8].copy_from_slice(&value.to_le_bytes());
            reading(&damaged);
        }
    }
}

/// A cubin of one function with this name, which so many symbols have.
fn cubin_named(name: &[u8], symbols: usize) -> Vec<u8> {
    let mut elf = Elf::new(ET_EXEC);
    let kernel = elf.add(".text.f", 1, (0, 0), 0, vec![0; 0x400]);
    let strtab = elf.add(".strtab", 3, (0, 0), 0, [b"\0", name, b"\0"].concat());
    let mut table = vec![0; 24];
    for symbol in 0..symbols as u64 {
        table.extend(words(&[1, 0x1012 | kernel << 16]));
        table.extend(longs(&[KERNEL_AT + symbol, 1]));
    }
    elf.add(".symtab", 2, (strtab, 1), 24, table);
    elf.bytes()
}

#[test]
fn caps_are_named() {
    let devices = || {
        let mut elf = build(R575);
        let device = elf.sections.iter_mut().find(|section| section.name == ".cudbg.devtbl");
        let device = device.expect("the table of devices");
        device.data = device.data.repeat(65);
        elf.bytes()
    };
    let with_image = |image: Vec<u8>| {
        let mut elf = build(R575);
        elf.table("relfimg.dev0.ctx0.1", 7, (0, 0), &[image]);
        elf.bytes()
    };
    let default = Limits::default();
    let few_warps = Limits {
        threads: 1,
        ..Limits::default()
    };
    let few_bytes = Limits {
        resident_bytes: 2000,
        ..Limits::default()
    };
    for (code, bytes, limits) in [
        ("limit-devices", devices(), &default),
        ("limit-threads", sample(), &few_warps),
        ("limit-gpu-core", sample(), &few_bytes),
        (
            "limit-gpu-functions",
            with_image(cubin_named(&b"n".repeat(40_000), 1)),
            &default,
        ),
        (
            "limit-gpu-functions",
            with_image(cubin_named(&b"n".repeat(30_000), 2400)),
            &default,
        ),
        (
            "limit-gpu-functions",
            with_image(cubin_named(b"n", (1 << 20) + 1)),
            &default,
        ),
    ] {
        let (artifact, _keep) = artifact("core.cuda", &bytes);
        let problems = read(&artifact, limits).problems;
        assert!(
            problems.iter().any(|problem| problem.code == code),
            "{code}: {problems:?}"
        );
    }
}

/// More sections than any dump has: their headers alone, which are all the same and of no kind that is read.
#[test]
fn sections_without_end() {
    let count = (1_u64 << 20) + 1;
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut header = Elf::new(ET_CORE).bytes();
    header[40..48].copy_from_slice(&64_u64.to_le_bytes());
    header[60..64].copy_from_slice(&[0, 0, 1, 0]);
    header.truncate(64);
    // With a count of 0 the first section's size is the count; the second has the names.
    header.extend(longs(&[0, 0, 0, 0, count, 0, 0, 0]));
    header.extend(longs(&[3 << 32, 0, 0, 0, 1, 0, 0, 0]));
    std::fs::write(file.path(), &header).unwrap();
    file.as_file().set_len(64 + count * 64).unwrap();
    let reading = read(
        &whycrash_evidence::Artifact::new("core.cuda", file.path()),
        &Limits::default(),
    );
    assert_eq!(reading.problems[0].code, "limit-gpu-core");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn damage_is_survived(damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40)) {
        let mut bytes = dump(R575);
        for (at, byte) in damage {
            // The first bytes are what tells a GPU's core from other files.
            let place = 20 + at.index(bytes.len() - 20);
            bytes[place] = byte;
        }
        reading(&bytes);
    }
}
