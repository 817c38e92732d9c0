//! Who waits for whose lock, out of cores.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use whycrash_evidence::model::{AwaitedKind, Evidence, Thread, ThreadId};
use whycrash_evidence::readers::Input;
use whycrash_evidence::readers::elf_core::CoreDump;
use whycrash_evidence::waits::circle;
use whycrash_evidence::{Artifact, Limits};
use whycrash_symbols::{Sources, Symbols};

use crate::fixtures;

fn symbols(folder: &Path) -> Symbols {
    Symbols::new(Sources {
        folders: vec![folder.to_owned()],
        local_files: true,
        ..Sources::default()
    })
}

fn read(core: &Path, symbols: &Symbols) -> Evidence {
    symbols.read(&Artifact::new("core", core), &Limits::default()).evidence
}

/// What each thread waits for, with who has it.
fn awaited(evidence: &Evidence) -> Vec<(&ThreadId, AwaitedKind, Option<&ThreadId>)> {
    let threads = evidence.threads.iter();
    let mut all: Vec<_> = threads
        .filter_map(|thread| {
            let awaited = thread.activity.as_ref()?.awaits.as_ref()?;
            Some((&thread.id, awaited.kind, awaited.holder.as_ref()))
        })
        .collect();
    all.sort_by_key(|(id, _, _)| (*id).clone());
    all
}

#[test]
fn mutexes_name_the_threads_that_have_them() {
    let case = whycrash_corpus::folder().join("hang-lock-order-watchdog");
    let evidence = read(&case.join("core.zst"), &symbols(&case.join("bin")));
    let found = awaited(&evidence);
    let mutexes: Vec<_> = found
        .iter()
        .filter(|(_, kind, _)| *kind == AwaitedKind::Mutex)
        .collect();
    assert_eq!(mutexes.len(), 2, "{found:?}");
    assert_eq!(
        (mutexes[0].0, mutexes[0].2),
        (mutexes[1].2.expect("a holder"), Some(mutexes[1].0))
    );
    let threads: Vec<&Thread> = evidence.threads.iter().collect();
    assert_eq!(circle(&threads).len(), 2);
}

const DEADLOCK: &str = "
import threading
lock_a, lock_b = threading.Lock(), threading.RLock()
both = threading.Barrier(2)
def first():
    with lock_a:
        both.wait()
        with lock_b:
            pass
def second():
    with lock_b:
        both.wait()
        with lock_a:
            pass
threads = [threading.Thread(target=first, name='loader'), threading.Thread(target=second, name='writer')]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
";

#[test]
fn locks_of_python_are_read_from_a_core_and_from_its_minicore() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let ask = ["-c", "import sys; print(sys.executable)"];
    let python = fixtures::run(folder.path(), "python3", "python3", &ask);
    let mut program = Command::new(python.trim())
        .args(["-c", DEADLOCK])
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let pid = program.id().to_string();
    let symbols = symbols(folder.path());
    let core = folder.path().join("core");
    let write = [
        "-q",
        "-batch",
        "-nx",
        "-iex",
        "set debuginfod enabled off",
        "-p",
        &pid,
        "-ex",
        "generate-core-file core",
    ];
    let deadline = Instant::now() + Duration::from_secs(120);
    // It may have only just started.
    let evidence = loop {
        fixtures::run(folder.path(), "gdb", "gdb", &write);
        let evidence = read(&core, &symbols);
        let threads: Vec<&Thread> = evidence.threads.iter().collect();
        if circle(&threads).len() == 2 {
            break evidence;
        }
        assert!(Instant::now() < deadline, "{:?}", awaited(&evidence));
    };
    program.kill().expect("it runs");
    program.wait().expect("it ends");
    let kinds: Vec<AwaitedKind> = awaited(&evidence).into_iter().map(|(_, kind, _)| kind).collect();
    assert_eq!(kinds, [AwaitedKind::Thread, AwaitedKind::Rlock, AwaitedKind::Lock]);
    let mut names: Vec<&str> = evidence
        .threads
        .iter()
        .filter_map(|thread| thread.name.as_deref())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["MainThread", "loader", "writer"]);

    let limits = Limits::default();
    let input = Input::open(&Artifact::new("core", &core), &limits).expect("a file");
    let (mut dump, _) = CoreDump::open(&input, &limits).expect("a core");
    symbols.note_needs(&mut dump, 64 << 20, &limits);
    let mut small = Vec::new();
    dump.write_minicore(&mut small).expect("the memory of the core");
    let minicore = folder.path().join("minicore");
    std::fs::write(&minicore, small).expect("room");
    assert_eq!(read(&minicore, &symbols).threads, evidence.threads);
}
