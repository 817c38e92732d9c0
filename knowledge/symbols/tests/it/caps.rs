//! What symbols may cost: every cap is hit by something that is compiled or written here, and is named.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use object::{Object as _, ObjectSection as _, ObjectSymbol as _};
use whycrash_evidence::{Artifact, Limits, Reading};
use whycrash_symbols::{Sources, Symbols};

use crate::fixtures;
use crate::tiny_core::{EXECUTE, READ, THREAD_ID, TinyCore, WRITE, words};

const BASE: u64 = 0x5555_5555_4000;
const STACK: u64 = 0x7fff_0000_0000;

/// A library compiled from a source, without any of the system's.
struct Library {
    folder: tempfile::TempDir,
    path: PathBuf,
}

impl Library {
    fn new(file: &str, source: &str, options: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join(file), source).expect("room");
        let path = folder.path().join("libtrainer.so");
        let mut command = Command::new("gcc");
        command.args(["-shared", "-fPIC", "-nostdlib", file, "-o", "libtrainer.so"]);
        let output = command.args(options).current_dir(folder.path()).output();
        let output = output.unwrap_or_else(|error| panic!("can not run gcc ({error}): apt-get install gcc"));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Self { folder, path }
    }

    fn address(&self, name: &str) -> u64 {
        let bytes = std::fs::read(&self.path).expect("the library");
        let file = object::File::parse(&*bytes).expect("an ELF file");
        let mut symbols = file.symbols();
        symbols
            .find(|symbol| symbol.name() == Ok(name))
            .expect("the symbol")
            .address()
    }

    /// A process that stopped in the library, and has these words on its stack.
    fn core(&self, pc: u64, stack: &[u64]) -> TinyCore {
        let size = std::fs::metadata(&self.path).expect("the library").len();
        TinyCore::x86_64(BASE + pc)
            .register(7, STACK)
            .map(
                BASE,
                size.next_multiple_of(4096),
                0,
                READ | EXECUTE,
                "/gone/libtrainer.so",
                Vec::new(),
            )
            .segment(STACK, 4096, READ | WRITE, words(stack))
    }

    fn read(&self, core: TinyCore) -> Reading {
        read(self.folder.path(), &core.bytes(), &Limits::default())
    }
}

fn read(symbols: &Path, core: &[u8], limits: &Limits) -> Reading {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), core).expect("room");
    let sources = Sources {
        folders: vec![symbols.to_owned()],
        ..Sources::default()
    };
    let started = Instant::now();
    let reading = Symbols::new(sources).read(&Artifact::new("core", file.path()), limits);
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    reading
}

fn check(reading: &Reading, code: &str) {
    let problem = reading.problems.iter().find(|problem| problem.code == code);
    assert!(problem.is_some(), "{code}: {:?}", reading.problems);
}

/// A function of three bytes, and a line table, ranges and units as the test wants them.
fn assembly(abbreviations: &str, info: &str, more: &str) -> String {
    format!(
        r#"
        .text
        .globl f
        .type f, @function
    f:  nop; nop; ret
        .size f, . - f
        .section .debug_abbrev, "", @progbits
        {abbreviations}
        .byte 0
        .section .debug_info, "", @progbits
        {info}
        {more}
        "#
    )
}

/// A compilation unit with `f`, which has functions inlined into one another so deep.
fn inlined(depth: usize) -> String {
    let code = ".byte 0x11, 1, 0x12, 7";
    let abbreviations = format!(
        ".byte 1, 0x11, 1; {code}, 0, 0
        .byte 2, 0x2e, 1; {code}, 3, 8, 0, 0
        .byte 3, 0x1d, 1; {code}, 3, 8, 0, 0"
    );
    let info = format!(
        ".long 2f - 1f
    1:  .short 4; .long 0; .byte 8
        .byte 1; .quad f, 3
        .byte 2; .quad f, 3; .asciz \"outermost\"
        .rept {depth}
        .byte 3; .quad f, 3; .asciz \"inlined\"
        .endr
        .zero {depth} + 2
    2:"
    );
    assembly(&abbreviations, &info, "")
}

#[test]
fn functions_inlined_without_end() {
    for (depth, is_cut) in [(200, false), (300, true), (200_000, true)] {
        let library = Library::new("deep.s", &inlined(depth), &[]);
        let reading = library.read(library.core(library.address("f"), &[]));
        assert_eq!(
            reading.problems.iter().any(|problem| problem.code == "limit-inlining"),
            is_cut,
            "{depth}"
        );
        let frames = &reading.evidence.threads[0].frames;
        let outermost = frames.last().and_then(|frame| frame.function.as_deref());
        // What is not read leaves the symbol table.
        assert_eq!(
            (frames.len(), outermost),
            if is_cut {
                (1, Some("f"))
            } else {
                (depth + 1, Some("outermost"))
            }
        );
    }
}

#[test]
fn units_that_share_one_table() {
    // Every unit claims the function, and has the same 30 000 rows of lines, or ranges.
    let units = |attribute: &str| {
        format!(
            ".rept 3000
            .long 2f - 1f
        1:  .short 4; .long 0; .byte 8
            .byte 1; {attribute}
        2:
            .endr"
        )
    };
    let lines = r#".section .debug_line, "", @progbits
        .long 2f - 1f
    1:  .short 2; .long 4f - 3f
    3:  .byte 1, 1, 0xfb, 14, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1
        .byte 0
        .asciz "a.c"
        .byte 0, 0, 0, 0
    4:  .byte 0, 9, 2; .quad f + 0x1000
        .fill 30000, 1, 0x20
        .byte 0, 1, 1
    2:"#;
    let ranges = r#".section .debug_ranges, "", @progbits
        .rept 30000
        .quad f + 0x1000, f + 0x2000
        .endr
        .quad 0, 0"#;
    for (name, abbreviation, attribute, more) in [
        ("lines", "0x11, 1, 0x12, 7, 0x10, 0x17", ".quad f, 3; .long 0", lines),
        ("ranges", "0x55, 0x17", ".long 0", ranges),
    ] {
        let abbreviations = format!(".byte 1, 0x11, 0, {abbreviation}, 0, 0");
        let source = assembly(&abbreviations, &units(attribute), more);
        let library = Library::new("units.s", &source, &[]);
        let reading = library.read(library.core(library.address("f"), &[]));
        assert!(
            reading.problems.iter().any(|problem| problem.code == "limit-units"),
            "{name}: {:?}",
            reading.problems
        );
        assert_eq!(
            reading.evidence.threads[0].frames[0].function.as_deref(),
            Some("f"),
            "{name}"
        );
    }
}

#[test]
fn a_section_that_unpacks_to_much_more() {
    let source = assembly(".byte 0", ".zero 40000000", "");
    let library = Library::new("zeros.s", &source, &["-gz=zlib"]);
    assert!(std::fs::metadata(&library.path).expect("the library").len() < 1 << 20);
    check(&library.read(library.core(library.address("f"), &[])), "limit-section");
}

#[test]
fn an_expression_that_never_ends() {
    // DW_CFA_def_cfa_expression of three bytes: DW_OP_skip, back to itself.
    let source = "
        .text
        .globl f
        .type f, @function
    f:  .cfi_startproc
        .cfi_escape 0x0f, 3, 0x2f, 0xfd, 0xff
        nop; ret
        .cfi_endproc
        .size f, . - f";
    let library = Library::new("loop.s", source, &[]);
    let f = library.address("f");
    let reading = library.read(library.core(f, &[]).thread(BASE + f).thread(BASE + f + 1));
    // Once, however many threads are there.
    let codes: Vec<_> = reading.problems.iter().map(|problem| problem.code.as_str()).collect();
    assert_eq!((codes, reading.evidence.threads.len()), (vec!["limit-expression"], 3));
}

/// The search table may say that an entry is before the section that it is in, or that there are more than memory
/// holds.
#[test]
fn a_search_table_that_lies() {
    let source = "long g(void); __attribute__((noipa)) long f(long x) { return x; } long g(void) { return f(2) + 1; }";
    let library = Library::new("table.c", source, &["-O0"]);
    let bytes = std::fs::read(&library.path).expect("the library");
    let file = object::File::parse(&*bytes).expect("an ELF file");
    let section = file.section_by_name(".eh_frame_hdr").expect("a search table");
    let at = section.file_range().expect("its place").0 as usize;
    let frames = |bytes: &[u8]| {
        std::fs::write(&library.path, bytes).expect("room");
        let core = library.core(library.address("f"), &[BASE + library.address("g") + 13, 0, 0]);
        library.read(core).evidence.threads.remove(0).frames.len()
    };
    let sound = frames(&bytes);
    for (offset, damage) in [
        (4, [0xff_u8, 0xff, 0xff, 0x7f].as_slice()),
        (2, &[4]),
        (2, &[0x0c]),
        (8, &[0xff; 4]),
    ] {
        let mut damaged = bytes.clone();
        damaged[at + offset..at + offset + damage.len()].copy_from_slice(damage);
        // The section itself is still the truth.
        assert_eq!(frames(&damaged), sound, "{damage:?} at {offset}");
    }
}

#[test]
fn tail_calls_without_end() {
    // Each function jumps to the next; the program stopped at the first instruction of the last.
    let functions: String = (0..100)
        .rev()
        .map(|number| {
            format!(
                "HIDDEN int f{number}(int x) {{ return f{}(x * 3 + {number}); }}\n",
                number + 1
            )
        })
        .collect();
    let source = format!(
        "#define HIDDEN __attribute__((noipa, visibility(\"hidden\")))
        HIDDEN int f100(int x) {{ return x * 7; }}
        {functions}
        HIDDEN int start(int x) {{ return f0(x) + 1; }}"
    );
    let library = Library::new("tail.c", &source, &["-O2", "-g", "-fcf-protection=none"]);
    let start = library.address("start");
    let bytes = std::fs::read(&library.path).expect("the library");
    let code = bytes.get(start as usize..).expect("code at its address");
    let call = code.iter().position(|byte| *byte == 0xe8).expect("a call") as u64;
    let core = library.core(library.address("f100"), &[BASE + start + call + 5, 0, 0, 0]);
    let reading = library.read(core);
    check(&reading, "limit-tail-calls");
    let functions: Vec<_> = reading.evidence.threads[0]
        .frames
        .iter()
        .filter_map(|frame| frame.function.as_deref())
        .collect();
    assert_eq!(functions, ["f100", "start"]);
}

/// Where that memory has the interpreter's lock, and its only thread's state.
const LOCK: u64 = 1792;
const STATE: u64 = 512;

/// The memory of a `CPython` 3.12 from `_PyRuntime` on, whose only frame says to be called by itself, and whose only
/// thread has the lock.
fn interpreter(base: u64) -> Vec<u8> {
    let mut memory = vec![0; 2048];
    let mut put = |at: u64, value: u64| {
        memory[at as usize..at as usize + 8].copy_from_slice(&value.to_le_bytes());
    };
    // The pointer to the lock lies where the thread's state has nothing that is read.
    let (state, thread, inner, frame, code, name) = (256, STATE, 768, 1024, 1280, 1536);
    for (at, value) in [
        (40, base + state),
        (state + 72, base + thread),
        (state + 384, base + LOCK),
        (LOCK + 8, base + thread),
        (LOCK + 16, 1),
        (thread + 144, u64::from(THREAD_ID)),
        (thread + 56, base + inner),
        (inner, base + frame),
        (frame, base + code),
        (frame + 8, base + frame),
        (code + 112, base + name),
        (code + 120, base + name),
        (name + 16, 4),
        (name + 32, (1 | 8 | 16) << 2),
        (name + 40, u64::from_le_bytes(*b"step\0\0\0\0")),
    ] {
        put(at, value);
    }
    memory
}

/// What is read of a core that has this much memory from `_PyRuntime` on, after it was changed.
fn python(bytes: usize, change: impl FnOnce(u64, &mut Vec<u8>)) -> Reading {
    let library = Library::new(
        "runtime.c",
        "int f(void) { return 1; } long _PyRuntime[512] = {1};",
        &[],
    );
    let python = library.folder.path().join("libpython3.12.so.1.0");
    std::fs::rename(&library.path, &python).expect("the same folder");
    let library = Library {
        path: python,
        ..library
    };
    let runtime = BASE + library.address("_PyRuntime");
    let size = std::fs::metadata(&library.path).expect("the library").len();
    let mut memory = interpreter(runtime);
    change(runtime, &mut memory);
    memory.truncate(bytes);
    // Anonymous memory where the library's variables are.
    let core = TinyCore::x86_64(BASE + library.address("f"))
        .map(
            BASE,
            0x2000,
            0,
            READ | EXECUTE,
            "/gone/libpython3.12.so.1.0",
            Vec::new(),
        )
        .segment(runtime, 2048, READ | WRITE, memory);
    assert!(size > 0x2000 && runtime >= BASE + 0x2000, "{runtime:#x}");
    library.read(core)
}

#[test]
fn python_frames_in_a_circle() {
    let reading = python(2048, |_, _| {});
    check(&reading, "limit-python");
    let thread = &reading.evidence.threads[0];
    assert_eq!(thread.frames.len(), Limits::default().frames);
    assert!(thread.frames_omitted.is_some_and(|omitted| omitted > 90_000));
}

#[test]
fn who_has_the_lock_of_python_is_said_where_its_memory_says_so() {
    fn put(memory: &mut [u8], at: u64, value: u64) {
        memory[at as usize..at as usize + 8].copy_from_slice(&value.to_le_bytes());
    }
    let holds = |bytes: usize, change: fn(u64, &mut Vec<u8>)| python(bytes, change).evidence.threads[0].holds_gil;
    assert!(holds(2048, |_, _| {}));
    assert!(!holds(2048, |_, memory| put(memory, LOCK + 16, 0)), "nobody has it");
    assert!(
        !holds(2048, |_, memory| put(memory, LOCK + 16, u64::from(u32::MAX))),
        "there is none yet"
    );
    assert!(
        !holds(2048, |base, memory| put(memory, LOCK + 8, base + STATE + 8)),
        "what is no thread has it"
    );
    assert!(
        !holds(2048, |_, memory| put(memory, 256 + 384, u64::MAX - 4)),
        "it is nowhere"
    );
    assert!(!holds(LOCK as usize + 12, |_, _| {}), "its memory was cut off");
}

#[test]
fn a_symbol_file_beyond_all_others() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("n_plain_O2.sym");
    std::fs::write(
        &path,
        "MODULE Linux x86_64 5A865AB22664BC5E2A9FB3019E57AB350 n_plain_O2\n",
    )
    .expect("room");
    let file = std::fs::OpenOptions::new().write(true).open(&path).expect("the file");
    file.set_len((4 << 30) + 1).expect("a file with a hole");
    let dump = Path::new(env!("CARGO_MANIFEST_DIR")).join("../evidence/tests/fixtures/minidumps/cpp_null_worker.dmp");
    let dump = std::fs::read(dump).expect("the dump");
    check(&read(folder.path(), &dump, &Limits::default()), "limit-symbol-file");
}

#[test]
fn a_binary_in_memory_with_headers_without_end() {
    let mut header = vec![0; 4096];
    header[..20].copy_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0");
    header[32] = 64;
    header[56..58].copy_from_slice(&300_u16.to_le_bytes());
    let folder = tempfile::tempdir().expect("a temporary folder");
    let core = TinyCore::x86_64(BASE).map(BASE, 4096, 0, READ | EXECUTE, "/gone/libtrainer.so", header);
    check(
        &read(folder.path(), &core.bytes(), &Limits::default()),
        "limit-memory-image",
    );
}

#[test]
fn work_is_bounded() {
    let core = std::fs::read(fixtures::core("cpp_null_worker").path).expect("the core");
    let frames = |work: u64| {
        let limits = Limits {
            symbol_work: work,
            ..Limits::default()
        };
        let reading = read(fixtures::programs(), &core, &limits);
        let is_cut = reading
            .problems
            .iter()
            .any(|problem| problem.code == "limit-symbol-work");
        let threads = reading.evidence.threads.iter();
        (threads.map(|thread| thread.frames.len()).sum::<usize>(), is_cut)
    };
    let (all, is_cut) = frames(Limits::default().symbol_work);
    assert!(!is_cut);
    let (some, is_cut) = frames(300_000);
    assert!(is_cut && 0 < some && some < all, "{some} of {all}");
}

/// A minidump of one thread, whose stack is nothing but frames of 64 bytes that lead to one another.
fn minidump(stack_bytes: usize) -> Vec<u8> {
    const HEADER: usize = 32;
    const SYSTEM: usize = HEADER + 2 * 12;
    const THREADS: usize = SYSTEM + 56;
    const CONTEXT: usize = THREADS + 4 + 48;
    const MEMORY: usize = CONTEXT + 1232;
    let mut dump = vec![0; MEMORY];
    let mut put = |at: usize, bytes: &[u8]| dump[at..at + bytes.len()].copy_from_slice(bytes);
    let halves = |words: &[u32]| -> Vec<u8> { words.iter().flat_map(|word| word.to_le_bytes()).collect() };
    put(0, b"MDMP");
    put(4, &halves(&[0xa793, 2, HEADER as u32]));
    put(HEADER, &halves(&[7, 56, SYSTEM as u32, 3, 52, THREADS as u32]));
    // An amd64 processor, Linux.
    put(SYSTEM, &[9, 0]);
    put(SYSTEM + 20, &halves(&[0x8201]));
    put(THREADS, &halves(&[1, 7]));
    put(THREADS + 4 + 24, &words(&[STACK]));
    put(
        THREADS + 4 + 32,
        &halves(&[stack_bytes as u32, MEMORY as u32, 1232, CONTEXT as u32]),
    );
    put(CONTEXT + 0x30, &halves(&[0x0010_000b]));
    put(CONTEXT + 0x98, &words(&[STACK, STACK + 16]));
    put(CONTEXT + 0xf8, &words(&[BASE]));
    for frame in 0..stack_bytes as u64 / 64 {
        let next = STACK + (frame + 1) * 64 + 16;
        dump.extend(words(&[0, 0, next, BASE + 0x100, 0, 0, 0, 0]));
    }
    dump
}

#[test]
fn a_minidump_of_a_stack_without_end() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (bytes, is_cut) in [(1 << 20, false), (4 << 20, true)] {
        let reading = read(folder.path(), &minidump(bytes), &Limits::default());
        let codes: Vec<_> = reading.problems.iter().map(|problem| problem.code.as_str()).collect();
        assert_eq!(codes.contains(&"limit-stack"), is_cut, "{bytes}: {codes:?}");
        assert!(reading.evidence.threads[0].frames_omitted.is_some(), "{bytes}");
    }
}
