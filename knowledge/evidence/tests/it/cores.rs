//! ELF cores: layouts that real ones rarely have, damage, and what a hostile one may cost.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use whycrash_evidence::readers::Input;
use whycrash_evidence::readers::elf_core::{CoreDump, Machine};
use whycrash_evidence::{Artifact, Limits, Problem, read};

use crate::core_builder::{Core, EM_AARCH64, EM_X86_64, Load, signal, words};
use crate::support::{artifact, compressed};

fn open(bytes: &[u8], limits: &Limits) -> (CoreDump, Vec<Problem>) {
    let (artifact, _keep) = artifact("core", bytes);
    let input = Input::open(&artifact, limits).expect("opens");
    CoreDump::open(&input, limits).expect("a core")
}

fn codes(problems: &[Problem]) -> Vec<&str> {
    problems.iter().map(|problem| problem.code.as_str()).collect()
}

/// Opens a core with the default limits and says what was wrong.
fn problems(bytes: &[u8]) -> Vec<String> {
    let (_, problems) = open(bytes, &Limits::default());
    problems.into_iter().map(|problem| problem.code).collect()
}

#[test]
fn more_segments_than_the_header_can_count() {
    let mut core = Core::small(EM_X86_64);
    core.extended = true;
    for index in 0..70_000 {
        let mut hole = Load::new(0x1_0000_0000 + index * 0x2000, Vec::new());
        hole.memory_size = 0x1000;
        core.loads.push(hole);
    }
    let (core, problems) = open(&core.bytes(), &Limits::default());
    assert_eq!(codes(&problems), [""; 0]);
    assert_eq!(core.segments.len(), 70_002);
    assert_eq!(core.threads.len(), 1);
    let last = core
        .segment_at(0x1_0000_0000 + 69_999 * 0x2000)
        .expect("the last segment");
    assert_eq!(last.end - last.start, 0x1000);
}

#[test]
fn registers_of_aarch64() {
    let mut built = Core::small(EM_AARCH64);
    built.note("LINUX", 0x406, &words(&[0x007f_0000_0000_0000, 0x003f_0000_0000_0000]));
    let (core, problems) = open(&built.bytes(), &Limits::default());
    assert_eq!(codes(&problems), [""; 0]);
    assert_eq!(core.machine, Machine::Aarch64);
    let registers = core.threads[0].registers;
    assert_eq!(registers.pc, 0x40_0100);
    assert_eq!(registers.general[..31], std::array::from_fn::<u64, 31, _>(|x| x as u64));
    assert_eq!(registers.general[31], 0x7fff_0000, "the stack pointer follows x30");
    assert_eq!(core.stack_pointer(&registers), 0x7fff_0000);
    assert_eq!(core.code_mask, 0x003f_0000_0000_0000);
    assert_eq!(core.threads[0].id, 100);
}

#[test]
fn registers_of_x86_64() {
    let (core, _) = open(&Core::small(EM_X86_64).bytes(), &Limits::default());
    let thread = &core.threads[0];
    assert_eq!((thread.id, thread.signal, thread.thread_pointer), (100, 11, 0x7000));
    assert_eq!(thread.registers.pc, 0x40_0100);
    // rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15, by their places in the kernel's structure.
    let expected = [10, 12, 11, 5, 13, 14, 4, 0x7fff_0000, 9, 8, 7, 6, 3, 2, 1, 0];
    assert_eq!(thread.registers.general[..16], expected);
}

#[test]
fn every_way_to_the_bytes_gives_the_same() {
    let mut core = Core::small(EM_X86_64);
    core.loads.push(Load::new(0x10_0000, vec![0; 50_000]));
    core.loads
        .push(Load::new(0x20_0000, (0..40_000_u32).map(|byte| byte as u8).collect()));
    let bytes = core.bytes();
    let (plain, _) = open(&bytes, &Limits::default());
    let evidence = plain.evidence("core");
    let same = |(core, problems): (CoreDump, Vec<Problem>), how: &str| {
        assert_eq!(codes(&problems), [""; 0], "{how}");
        assert_eq!(core.evidence("core"), evidence, "{how}");
        for address in [0x40_0000, 0x10_0000, 0x20_0000 + 39_000, 0x7fff_0000] {
            assert_eq!(
                core.bytes(address, 256),
                plain.bytes(address, 256),
                "{how}: {address:#x}"
            );
        }
    };
    for (name, packed) in compressed(&bytes).into_iter().chain([("plain", bytes.clone())]) {
        same(open(&packed, &Limits::default()), name);
        // Files of several frames are as good as those of one.
        let twice: Vec<u8> = compressed(&bytes[..1000])
            .into_iter()
            .chain(compressed(&bytes[1000..]))
            .filter(|(other, _)| *other == name)
            .flat_map(|(_, part)| part)
            .collect();
        if !twice.is_empty() {
            same(open(&twice, &Limits::default()), &format!("{name} in two frames"));
        }
        for resident in [0, 4096, 20_000] {
            let limits = Limits {
                resident_bytes: resident,
                ..Limits::default()
            };
            same(open(&packed, &limits), &format!("{name} within {resident} bytes"));
        }
        same(piped(packed), &format!("{name} from a pipe"));
    }
}

/// Reads a core from a pipe that gives a few bytes at a time.
fn piped(bytes: Vec<u8>) -> (CoreDump, Vec<Problem>) {
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    let writing = std::thread::spawn(move || {
        for piece in bytes.chunks(701) {
            writer.write_all(piece).expect("written");
        }
    });
    let opened = CoreDump::from_stream(reader, &Limits::default()).expect("a core");
    writing.join().expect("all written");
    opened
}

#[test]
fn cut_anywhere() {
    for machine in [EM_X86_64, EM_AARCH64] {
        let bytes = Core::small(machine).bytes();
        let mut threads = 0;
        for length in 0..bytes.len() {
            let (cut, _keep) = artifact("core", &bytes[..length]);
            let reading = read(&cut, &Limits::default());
            assert!(!reading.problems.is_empty(), "cut to {length} of {} bytes", bytes.len());
            assert!(reading.evidence.threads.len() >= threads, "cut to {length} bytes");
            threads = reading.evidence.threads.len();
            let streamed = CoreDump::from_stream(&bytes[..length], &Limits::default());
            let streamed = streamed.map_or(0, |(core, _)| core.threads.len());
            assert_eq!(streamed, threads, "streamed, cut to {length} bytes");
        }
        assert_eq!(threads, 1);
    }
}

#[test]
fn compressed_and_cut() {
    let bytes = Core::small(EM_X86_64).bytes();
    for (name, packed) in compressed(&bytes) {
        for length in 4..packed.len() {
            let (cut, _keep) = artifact("core", &packed[..length]);
            assert!(
                !read(&cut, &Limits::default()).problems.is_empty(),
                "{name} cut to {length}"
            );
        }
    }
}

#[test]
fn what_does_not_fit_is_said() {
    let mut core = Core::small(EM_X86_64);
    core.loads.push(Load::new(0x20_0000, vec![7; 40 * 4096]));
    let packed = zstd::encode_all(core.bytes().as_slice(), 1).expect("zstd");
    let limits = Limits {
        resident_bytes: 10 * 4096,
        spilled_bytes: 8 * 4096,
        ..Limits::default()
    };
    let (core, found) = open(&packed, &limits);
    assert_eq!(codes(&found), ["limit-spilled-bytes", "truncated"]);
    assert_eq!(core.threads.len(), 1, "what comes first is kept");
    assert_eq!(core.bytes(0x20_0000, 4096), Some(vec![7; 4096]));
    assert_eq!(
        core.bytes(0x20_0000 + 30 * 4096, 8),
        None,
        "what was not kept is not zero"
    );

    let limits = Limits {
        decompressed_bytes: 20_000,
        ..Limits::default()
    };
    assert_eq!(
        codes(&open(&packed, &limits).1),
        ["limit-decompressed-bytes", "truncated"]
    );
}

#[test]
fn program_headers_that_contradict_themselves() {
    // More bytes in the file than in memory: those beyond are of another segment.
    let mut core = Core::small(EM_X86_64);
    let mut odd = Load::new(0x30_0000, vec![1; 512]);
    odd.memory_size = 256;
    core.loads.push(odd);
    let (opened, _) = open(&core.bytes(), &Limits::default());
    assert_eq!(opened.bytes(0x30_0000, 256), Some(vec![1; 256]));
    assert_eq!(opened.bytes(0x30_0000, 257), None);

    // Overlapping segments: each address has one answer, and every read ends.
    let mut core = Core::small(EM_X86_64);
    for start in [0x50_0000, 0x50_0800, 0x50_0000, 0x50_0fff] {
        core.loads.push(Load::new(start, vec![2; 0x1000]));
    }
    let (opened, _) = open(&core.bytes(), &Limits::default());
    assert_eq!(opened.word(0x50_0800), Some(0x0202_0202_0202_0202));
    assert_eq!(opened.read(0x50_0000, &mut [0; 0x4000]), 0x1fff);

    // The end of the address space, sizes that reach beyond it, and data that is not in the file.
    let mut core = Core::small(EM_X86_64);
    for (address, size) in [
        (u64::MAX - 7, 64),
        (u64::MAX, u64::MAX),
        (0, u64::MAX),
        (0x60_0000, 1 << 62),
    ] {
        let mut wild = Load::new(address, vec![3; 16]);
        (wild.file_size, wild.memory_size) = (Some(size), size);
        core.loads.push(wild);
    }
    let (opened, found) = open(&core.bytes(), &Limits::default());
    assert_eq!(codes(&found), ["truncated"]);
    opened.word(u64::MAX - 7);
    assert_eq!(opened.bytes(0x60_0000, usize::MAX), None);
    assert_eq!(opened.bytes(0x60_0000, 1 << 40), None);

    // A header size that no ELF file has would make the table of a few headers gigabytes long.
    let mut core = Core::small(EM_X86_64);
    core.program_header_size = u16::MAX;
    let (opened, found) = open(&core.bytes(), &Limits::default());
    assert_eq!(codes(&found), ["damaged-header"]);
    assert_eq!(opened.threads.len(), 1);
}

#[test]
fn notes_with_absurd_sizes() {
    for (name_size, size) in [(5, u32::MAX), (u32::MAX, 8), (u32::MAX, u32::MAX), (5, 0), (0, 0)] {
        let mut core = Core::small(EM_X86_64);
        for word in [name_size, size, 1] {
            core.notes.extend(word.to_le_bytes());
        }
        core.notes.extend(b"CORE\0\0\0\0");
        let (opened, _) = open(&core.bytes(), &Limits::default());
        assert_eq!(opened.threads.len(), 1, "what came before is kept");
    }
    // A list of files that says it is longer than it is.
    let mut core = Core::new(EM_X86_64);
    core.thread(1, 2, 3);
    core.note(
        "CORE",
        0x4649_4c45,
        &words(&[u64::MAX, u64::MAX, 0x1000, 0x2000, u64::MAX]),
    );
    let (opened, _) = open(&core.bytes(), &Limits::default());
    assert!(opened.mappings.len() <= 1);

    // A signal note cut short, and a thread's.
    let mut core = Core::new(EM_X86_64);
    core.note("CORE", 0x5349_4749, &signal(11, 1, 0)[..12]);
    core.note("CORE", 1, &[0; 200]);
    let (opened, found) = open(&core.bytes(), &Limits::default());
    assert_eq!(codes(&found), ["no-threads"]);
    assert_eq!(opened.signal, None);
}

#[test]
fn caps_are_named() {
    let mut core = Core::new(EM_X86_64);
    for id in 0..50 {
        core.thread(id, 1, 2);
    }
    let limits = Limits {
        threads: 20,
        ..Limits::default()
    };
    let (opened, found) = open(&core.bytes(), &limits);
    assert_eq!((opened.threads.len(), codes(&found)), (20, vec!["limit-threads"]));

    // Too many segments: the number alone is enough.
    let mut core = Core::small(EM_X86_64);
    core.extended = true;
    let mut bytes = core.bytes();
    let section = 64 + 3 * 56;
    bytes[section + 44..section + 48].copy_from_slice(&(1_u32 << 21).to_le_bytes());
    assert!(problems(&bytes).contains(&"limit-segments".to_owned()));

    // A list of mapped files longer than any kernel writes.
    let mut core = Core::small(EM_X86_64);
    core.note("CORE", 0x4649_4c45, &vec![0; 17 << 20]);
    assert_eq!(problems(&core.bytes()), ["limit-notes"]);

    // More notes than any process has.
    let mut core = Core::small(EM_X86_64);
    for _ in 0..(1 << 20) {
        core.note("X", 7, &[]);
    }
    assert_eq!(problems(&core.bytes()), ["limit-notes"]);

    // More binaries than any process maps.
    let mut core = Core::new(EM_X86_64);
    core.thread(1, 2, 3);
    let paths: Vec<String> = (0..16_500).map(|index| format!("/lib/{index}.so")).collect();
    let files: Vec<_> = paths
        .iter()
        .zip(0..)
        .map(|(path, index)| (0x1000 * index, 0x1000 * (index + 1), 0, path.as_str()))
        .collect();
    core.files(&files);
    let mut code = Load::new(0, vec![1; 16]);
    (code.flags, code.memory_size) = (5, 0x1000 * 20_000);
    core.loads.push(code);
    let (opened, found) = open(&core.bytes(), &Limits::default());
    assert_eq!((opened.modules.len(), codes(&found)), (16_384, vec!["limit-modules"]));
}

#[test]
fn what_is_named_again_and_again_costs_once() {
    // A hundred thousand segments of notes, all of them the same 4 MiB.
    let mut core = Core::small(EM_X86_64);
    core.note("CORE", 0x4649_4c45, &vec![0; 4 << 20]);
    let mut bytes = core.bytes();
    let notes = bytes[64..64 + 56].to_vec();
    let table = bytes.len() as u64;
    let count = 100_000_u32;
    for _ in 0..count {
        bytes.extend(&notes);
    }
    let sections = bytes.len() as u64;
    let mut section = vec![0; 64];
    section[44..48].copy_from_slice(&count.to_le_bytes());
    bytes.extend(section);
    bytes[32..40].copy_from_slice(&table.to_le_bytes());
    bytes[40..48].copy_from_slice(&sections.to_le_bytes());
    bytes[56..58].copy_from_slice(&u16::MAX.to_le_bytes());
    let started = Instant::now();
    assert!(problems(&bytes).contains(&"limit-notes".to_owned()));
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
}

const HOLE: u64 = 10 << 30;
/// The hole is compressed once in this size, and repeated.
const PIECE: u64 = 64 << 20;

/// Ten gigabytes of nothing between the headers and the stack, a few kilobytes compressed.
#[test]
fn a_sparse_core_of_ten_gigabytes() {
    if std::env::var_os("WHYCRASH_MEASURE").is_none() {
        return measured_apart("cores::a_sparse_core_of_ten_gigabytes", 160 << 10);
    }
    let mut core = Core::small(EM_X86_64);
    let mut hole = Load::new(0x1000_0000_0000, Vec::new());
    (hole.file_size, hole.memory_size) = (Some(HOLE), HOLE);
    core.loads.insert(0, hole);
    let bytes = core.bytes();
    // The hole comes right after the notes; what follows it in the file is the rest of the loads.
    let rest = core.loads.iter().map(|load| load.data.len()).sum::<usize>();
    let (mut front, back) = (bytes[..bytes.len() - rest].to_vec(), &bytes[bytes.len() - rest..]);
    for load in 2..4 {
        let at = 64 + load * 56 + 8;
        let offset = u64::from_le_bytes(front[at..at + 8].try_into().expect("eight bytes")) + HOLE;
        front[at..at + 8].copy_from_slice(&offset.to_le_bytes());
    }
    let zeros = zstd::encode_all(std::io::repeat(0).take(PIECE), 1).expect("zstd");
    let mut packed = zstd::encode_all(front.as_slice(), 1).expect("zstd");
    for _ in 0..HOLE / PIECE {
        packed.extend(&zeros);
    }
    packed.extend(zstd::encode_all(back, 1).expect("zstd"));
    let (opened, found) = open(&packed, &Limits::default());
    assert_eq!(codes(&found), [""; 0]);
    assert_eq!(opened.threads.len(), 1);
    assert_eq!(opened.word(0x1000_0000_0000 + HOLE - 8), Some(0));
    assert_eq!(opened.bytes(0x7fff_0000, 4), Some(vec![0, 1, 2, 3]));
}

/// Runs one test in a process of its own and holds it to `kib` of memory.
fn measured_apart(test: &str, kib: u64) {
    let mut child = std::process::Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", test])
        .env("WHYCRASH_MEASURE", "1")
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("started");
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let ended = loop {
        // The peak of a process is gone with it: the last look before its end counts.
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let seen = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        peak = peak.max(seen.unwrap_or(0));
        if let Some(ended) = child.try_wait().expect("waited for") {
            break ended;
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    assert!(ended.success());
    assert!((1..kib).contains(&peak), "{peak} KiB at most, {kib} allowed");
}

/// Where the test below reads a core from.
const CORE_PATH: &str = "WHYCRASH_TEST_CORE";

/// The temporary folder is one for a whole process, so another one runs what has none.
#[test]
fn a_full_disk_is_said() {
    let mut core = Core::small(EM_X86_64);
    core.loads.push(Load::new(0x20_0000, vec![7; 40 * 4096]));
    let packed = zstd::encode_all(core.bytes().as_slice(), 1).expect("zstd");
    let (artifact, _keep) = artifact("core", &packed);
    let output = std::process::Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "cores::reads_without_a_temporary_folder", "--ignored"])
        .env("TMPDIR", "/nonexistent/folder")
        .env(CORE_PATH, &artifact.path)
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
#[ignore = "run by the test above, in a process whose temporary folder does not exist"]
fn reads_without_a_temporary_folder() {
    let path = std::env::var_os(CORE_PATH).expect("the core");
    let limits = Limits {
        resident_bytes: 10 * 4096,
        ..Limits::default()
    };
    let reading = read(&Artifact::new("core", path), &limits);
    let codes: Vec<&str> = reading.problems.iter().map(|problem| problem.code.as_str()).collect();
    assert_eq!(codes, ["no-room", "truncated"]);
    assert_eq!(reading.evidence.threads.len(), 1, "what comes first is kept");
}

/// A core that lists no files; the dynamic linker's list names a library again and again, by a path of 4095 bytes.
#[test]
fn names_of_libraries_are_bounded() {
    const AT: u64 = 0x40_0000;
    const LIST: u64 = 0x50_0000;
    let program_header = |kind: u64, address: u64| words(&[kind | 4 << 32, 0, address, address, 256, 256, 8]);
    let mut core = Core::new(EM_X86_64);
    core.thread(1, AT, LIST);
    core.note("CORE", 6, &words(&[3, AT, 0, 0]));
    let mut own = [program_header(6, AT), program_header(2, AT + 512)].concat();
    own.resize(512, 0);
    own.extend(words(&[21, AT + 1024]));
    own.resize(1024, 0);
    own.extend(words(&[1, LIST]));
    core.loads.push(Load::new(AT, own));
    let libraries = 1100;
    let name_at = LIST + libraries * 32;
    let mut list: Vec<u8> = (1..=libraries)
        .flat_map(|library| words(&[library << 20, name_at, 0, LIST + library % libraries * 32]))
        .collect();
    list.extend([b'n'; 4095]);
    list.push(0);
    core.loads.push(Load::new(LIST, list));
    assert_eq!(problems(&core.bytes()), ["limit-modules"]);
}
