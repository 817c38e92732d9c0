//! Minicores beside the full cores that they were made of.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde_json::Value;
use whycrash_evidence::readers::Input;
use whycrash_evidence::readers::elf_core::{CoreDump, Minicore};
use whycrash_evidence::{Artifact, Limits, Reading};
use whycrash_symbols::{Sources, Symbols};

use crate::fixtures;
use crate::tiny_core::{READ, TinyCore, WRITE, words};

const LIMIT: u64 = 64 << 20;

/// Makes a minicore of a core in the same folder.
fn shrink(core: &Path, symbols: &Symbols, limit: u64) -> (PathBuf, Minicore) {
    let limits = Limits::default();
    let input = Input::open(&Artifact::new("core", core), &limits).expect("a file");
    let (mut dump, _) = CoreDump::open(&input, &limits).expect("a core");
    symbols.note_needs(&mut dump, limit, &limits);
    let path = core.with_extension("minicore");
    let mut bytes = Vec::new();
    let made = dump.write_minicore(&mut bytes).expect("the memory of the core");
    assert_eq!(made.bytes, bytes.len() as u64);
    std::fs::write(&path, bytes).expect("room");
    (path, made)
}

fn read(core: &Path, symbols: &Symbols) -> Reading {
    symbols.read(&Artifact::new("core", core), &Limits::default())
}

/// What was read. Of binaries that no stack leads through, a minicore need not have the symbols that were in memory.
fn evidence(reading: &Reading) -> Value {
    let mut evidence = reading.evidence.clone();
    let frames = evidence.threads.iter().flat_map(|thread| &thread.frames);
    let on_stacks: HashSet<String> = frames.filter_map(|frame| frame.module.clone()).collect();
    let others = evidence
        .modules
        .iter_mut()
        .filter(|module| !on_stacks.contains(&module.path));
    for module in others {
        module.symbols = module.symbols.take().filter(|from| from != "core");
    }
    serde_json::to_value(&evidence).expect("JSON")
}

/// Checks that a minicore says what the full core says, whoever reads it.
#[track_caller]
fn check(core: &Path, symbols: &Symbols) -> (PathBuf, Minicore) {
    let (minicore, made) = shrink(core, symbols, LIMIT);
    let (full, small) = (read(core, symbols), read(&minicore, symbols));
    assert!(!full.evidence.threads.is_empty() && !full.evidence.modules.is_empty());
    assert_eq!(evidence(&small), evidence(&full), "{}", core.display());
    assert_eq!(small.problems, full.problems, "{}", core.display());
    (minicore, made)
}

fn local() -> Symbols {
    Symbols::new(Sources {
        local_files: true,
        ..Sources::default()
    })
}

#[test]
fn every_crash_is_read_from_its_minicore_as_from_the_full_core() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let symbols = Symbols::new(Sources {
        folders: vec![fixtures::programs().to_owned()],
        ..Sources::default()
    });
    let mut cases = 0;
    for entry in std::fs::read_dir(fixtures::folder()).expect("the fixtures").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(case) = name.strip_suffix(".core.zst") else {
            continue;
        };
        let core = folder.path().join(format!("{case}.core.zst"));
        std::fs::copy(entry.path(), &core).expect("room");
        let (minicore, made) = check(&core, &symbols);
        let deep = case == "cpp_stackoverflow";
        assert!(deep || made.bytes < 2 << 20, "{case}: {made:?}");
        assert!(!made.is_cut);
        // Nothing is lost when a minicore is made smaller once more.
        let (again, _) = shrink(&minicore, &symbols, LIMIT);
        assert_eq!(
            evidence(&read(&again, &symbols)),
            evidence(&read(&core, &symbols)),
            "{case}"
        );
        cases += 1;
    }
    assert!(cases > 15, "{cases}");
}

const PYTHON: &str = r"
import ctypes, threading, time
def wait_for_batches(name):
    time.sleep(1000)
def collate(depth):
    if depth:
        return collate(depth - 1)
    ctypes.string_at(8)
for name in ('loader-1', 'loader-2', 'loader-3'):
    threading.Thread(target=wait_for_batches, args=(name,), daemon=True).start()
ballast = bytearray(b'ballast ' * (8 << 20))
secret = ''.join(['hunter', '2' * 30])
others = [secret + str(n) for n in range(1000)]
collate(20)
";

/// A core of a Python program with threads, with what the program had in its environment and in its memory.
fn python_core(folder: &Path) -> PathBuf {
    std::fs::write(folder.join("program.py"), PYTHON).expect("room");
    let python = fixtures::run(
        folder,
        "python3",
        "python3",
        &["-c", "import sys; print(sys.executable)"],
    );
    let mut arguments = vec!["-q", "-batch", "-nx", "-iex", "set debuginfod enabled off"];
    for command in [
        "set environment API_TOKEN=swordfish-in-the-environment",
        "run program.py",
    ] {
        arguments.extend(["-ex", command]);
    }
    arguments.extend(["-ex", "generate-core-file core", python.trim()]);
    fixtures::run(folder, "gdb", "gdb", &arguments);
    folder.join("core")
}

#[test]
fn the_stacks_of_python_threads_are_in_a_minicore() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let core = python_core(folder.path());
    let (minicore, made) = check(&core, &local());
    let full = read(&core, &local()).evidence;
    let functions = |thread: &whycrash_evidence::model::Thread| -> Vec<String> {
        thread
            .frames
            .iter()
            .filter_map(|frame| frame.function.clone())
            .collect()
    };
    assert!(
        functions(&full.threads[0])
            .iter()
            .filter(|name| *name == "collate")
            .count()
            >= 20
    );
    let waiting = full
        .threads
        .iter()
        .filter(|thread| functions(thread).contains(&"wait_for_batches".to_owned()));
    assert_eq!(waiting.count(), 3);
    assert!(made.full > 60 << 20 && made.bytes < 4 << 20, "{made:?}");
    let holds = |path: &Path, text: &[u8]| {
        let bytes = std::fs::read(path).expect("a file");
        memchr::memmem::find(&bytes, text).is_some()
    };
    for secret in [&b"swordfish-in-the-environment"[..], b"hunter2222222"] {
        assert!(holds(&core, secret));
        assert!(!holds(&minicore, secret), "{}", String::from_utf8_lossy(secret));
    }
}

#[test]
fn debuggers_open_a_minicore() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let core = python_core(folder.path());
    let (minicore, _) = shrink(&core, &local(), LIMIT);
    let stacks = |core: &Path| {
        let python = fixtures::run(
            folder.path(),
            "python3",
            "python3",
            &["-c", "import sys; print(sys.executable)"],
        );
        let core = format!("core-file {}", core.display());
        let arguments = [
            "-q",
            "-batch",
            "-nx",
            "-iex",
            "set debuginfod enabled off",
            "-ex",
            "set print frame-arguments none",
        ];
        let commands = [
            "-ex",
            &core,
            "-ex",
            "info sharedlibrary",
            "-ex",
            "thread apply all bt 12",
            python.trim(),
        ];
        let text = fixtures::run(folder.path(), "gdb", "gdb", &[&arguments[..], &commands[..]].concat());
        // Libraries and frames; how threads are called is left to the thread library, which reads its own memory.
        let told = text
            .lines()
            .filter(|line| line.starts_with("0x") || line.starts_with('#'));
        told.map(str::to_owned).collect::<Vec<_>>()
    };
    let (small, full) = (stacks(&minicore), stacks(&core));
    assert!(
        small.iter().filter(|line| line.starts_with("#0")).count() > 4,
        "{small:?}"
    );
    assert_eq!(small, full);
}

#[test]
fn what_is_beyond_the_limit_is_said_by_the_minicore_itself() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let core = folder.path().join("core");
    std::fs::copy(fixtures::core("cpp_null_worker").path, &core).expect("room");
    let symbols = local();
    let (minicore, made) = shrink(&core, &symbols, 64 << 10);
    assert!(made.is_cut && made.bytes < 256 << 10, "{made:?}");
    let problems = read(&minicore, &symbols).problems;
    assert!(
        problems.iter().any(|problem| problem.code == "minicore-cut"),
        "{problems:?}"
    );
    let (again, made) = shrink(&minicore, &symbols, LIMIT);
    assert!(made.is_cut, "it has no more than it was made of");
    assert!(
        read(&again, &symbols)
            .problems
            .iter()
            .any(|problem| problem.code == "minicore-cut")
    );
}

#[test]
fn memory_that_was_not_read_is_not_taken_for_zero() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let core = folder.path().join("core");
    let stack = words(&[7; 1024]);
    let (start, pages) = (0x7000_0000, 16);
    let tiny = TinyCore::x86_64(0x1000)
        .register(7, start + 0x1000)
        .segment(start, 0x2000, READ | WRITE, stack)
        .segment(
            0x9000_0000,
            pages * 0x1000,
            READ | WRITE,
            vec![9; pages as usize * 0x1000],
        )
        .segment(0xa000_0000, 0x3000, READ, vec![]);
    std::fs::write(&core, tiny.bytes()).expect("room");
    let limits = Limits::default();
    let open = |path: &Path| {
        let input = Input::open(&Artifact::new("core", path), &limits).expect("a file");
        CoreDump::open(&input, &limits).expect("a core").0
    };
    let mut full = open(&core);
    full.note_reads(LIMIT);
    assert_eq!(full.word(0x9000_5010), Some(0x0909_0909_0909_0909));
    full.keep(start + 0x0ff8, 16);
    let mut bytes = Vec::new();
    full.write_minicore(&mut bytes).expect("the memory is there");
    let path = folder.path().join("minicore");
    std::fs::write(&path, bytes).expect("room");
    let small = open(&path);
    assert_eq!(small.word(0x9000_5010), Some(0x0909_0909_0909_0909));
    assert_eq!(
        small.word(0x9000_5040),
        None,
        "of a page that is there, but not of the process"
    );
    assert_eq!(small.word(0x9000_4000), None);
    assert_eq!(small.word(start + 0x1000), Some(7));
    // What the full core knows without reading, the small one knows too.
    let ranges = |core: &CoreDump| {
        let range =
            |segment: &whycrash_evidence::readers::elf_core::Segment| (segment.start, segment.end, segment.writable);
        core.segments.iter().map(range).collect::<Vec<_>>()
    };
    assert_eq!(ranges(&small), ranges(&full));
}
