//! Files that a crash, a binary or a debug file names: nothing but regular files within reach is ever opened, and what
//! others do to a file while it is read ends nothing but its names.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, SystemTime};

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use whycrash_evidence::{Artifact, Limits};
use whycrash_symbols::{Sources, Symbols};

use crate::debug_files::{Build, WHOLE};

/// Far more than reading takes, and less than for ever.
const PATIENCE: Duration = Duration::from_secs(60);

fn symbols(folder: &Path, local_files: bool) -> Symbols {
    Symbols::new(Sources {
        folders: vec![folder.to_owned()],
        local_files,
        ..Sources::default()
    })
}

/// Names of the crashed thread's functions. Panics when they do not come: something was waited for.
fn names(symbols: &Arc<Symbols>, core: &Path) -> Vec<String> {
    let (sender, names) = mpsc::channel();
    let (symbols, core) = (Arc::clone(symbols), Artifact::new("core", core));
    std::thread::spawn(move || {
        let reading = symbols.read(&core, &Limits::default());
        let frames = reading.evidence.threads[0].frames.iter();
        let names: Vec<String> = frames.filter_map(|frame| frame.function.clone()).collect();
        sender.send(names).expect("somebody waits");
    });
    names.recv_timeout(PATIENCE).expect("the crash is read")
}

fn all_names() -> Vec<String> {
    WHOLE.iter().map(|(name, ..)| (*name).to_owned()).collect()
}

fn fifo(path: &Path) {
    mkfifo(path, Mode::from_bits_truncate(0o600)).expect("a FIFO");
}

/// A program whose debug information is in `apart.debug` beside it, by name and checksum.
fn separated() -> Build {
    let build = Build::new(&["-g", "-Wl,--build-id=none"]);
    build.run("objcopy", "binutils", &["--only-keep-debug", "program", "apart.debug"]);
    build.run("strip", "binutils", &["--strip-debug", "program"]);
    build.run("objcopy", "binutils", &["--add-gnu-debuglink=apart.debug", "program"]);
    build
}

#[test]
fn a_fifo_is_never_waited_for_wherever_a_name_leads_to_it() {
    let build = Build::new(&["-g"]);
    let address = build.address("program");
    for name in ["a.sym", "b.so", "program.dwp"] {
        fifo(&build.path(name));
    }
    // In the folder, beside the binary, and in place of a binary on this machine.
    let core = build.core("program", address, "/gone");
    assert_eq!(names(&Arc::new(symbols(build.folder.path(), true)), &core), all_names());
    let elsewhere = tempfile::tempdir().expect("a temporary folder");
    fifo(&elsewhere.path().join("program"));
    let core = build.core("program", address, &elsewhere.path().to_string_lossy());
    assert_eq!(names(&Arc::new(symbols(build.folder.path(), true)), &core), all_names());
    let empty = tempfile::tempdir().expect("a temporary folder");
    assert!(names(&Arc::new(symbols(empty.path(), true)), &core).is_empty());

    let build = separated();
    std::fs::remove_file(build.path("apart.debug")).expect("the debug file");
    fifo(&build.path("apart.debug"));
    let core = build.core(
        "program",
        build.address("program"),
        &build.folder.path().to_string_lossy(),
    );
    assert_eq!(
        names(&Arc::new(symbols(empty.path(), true)), &core).len(),
        1,
        "by the symbol table"
    );
}

#[test]
fn a_fifo_in_place_of_split_units_is_never_waited_for() {
    let build = Build::new(&["-gdwarf-4", "-gsplit-dwarf"]);
    for entry in std::fs::read_dir(build.folder.path()).expect("the folder").flatten() {
        if entry.path().extension().is_some_and(|extension| extension == "dwo") {
            std::fs::remove_file(entry.path()).expect("the file");
            fifo(&entry.path());
        }
    }
    let core = build.core("program", build.address("program"), "/gone");
    assert!(!names(&Arc::new(symbols(build.folder.path(), true)), &core).is_empty());
}

#[test]
fn devices_and_files_of_the_kernel_are_not_read() {
    let build = Build::new(&["-g"]);
    for (name, target) in [
        ("zero", "/dev/zero"),
        ("console", "/dev/tty"),
        ("memory", "/proc/kcore"),
        ("messages", "/proc/kmsg"),
        ("self", "/proc/self/mem"),
        ("notes", "/sys/kernel/notes"),
        ("loop", "loop"),
        ("up", ".."),
    ] {
        std::os::unix::fs::symlink(target, build.path(name)).expect("a link");
    }
    let core = build.core("program", build.address("program"), "/proc/self/cwd");
    assert_eq!(names(&Arc::new(symbols(build.folder.path(), true)), &core), all_names());
}

#[test]
fn a_file_of_nothing_but_size_is_refused_and_named() {
    let build = Build::new(&["-g"]);
    let core = build.core("program", build.address("program"), "/gone");
    let file = std::fs::OpenOptions::new().write(true).open(build.path("program"));
    file.expect("the program").set_len(1 << 40).expect("a sparse file");
    let reading = symbols(build.folder.path(), false).read(&Artifact::new("core", core), &Limits::default());
    let problem = reading
        .problems
        .iter()
        .find(|problem| problem.code == "limit-symbol-file");
    assert!(problem.is_some(), "{:?}", reading.problems);
    assert_eq!(reading.evidence.threads[0].frames[0].function, None);
}

/// Two stripped programs whose debug files share a third, which is moved to a folder of its own; its link says so.
fn shared_elsewhere(elsewhere: &Path) -> (Build, u64) {
    let build = Build::new(&["-g"]);
    build.compile("other", &["-g"]);
    let address = build.address("program");
    for name in ["program", "other"] {
        let debug = format!("{name}.debug");
        build.run("objcopy", "binutils", &["--only-keep-debug", name, &debug]);
        build.run("strip", "binutils", &["--strip-all", name]);
    }
    let shared = elsewhere.join("common.shared").to_string_lossy().into_owned();
    build.run("dwz", "dwz", &["-m", &shared, "program.debug", "other.debug"]);
    (build, address)
}

/// Makes a file look as if it had last been read, and changed, long ago, so that the next look is written down.
fn never_read(path: &Path) {
    let file = std::fs::OpenOptions::new().write(true).open(path).expect("the file");
    let times = std::fs::FileTimes::new()
        .set_accessed(SystemTime::UNIX_EPOCH)
        .set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1));
    file.set_times(times).expect("times");
}

#[test]
fn without_local_files_no_link_leads_out_of_the_folders() {
    let elsewhere = tempfile::tempdir().expect("a temporary folder");
    let (build, address) = shared_elsewhere(elsewhere.path());
    let shared = elsewhere.path().join("common.shared");
    let core = build.core("program", address, &build.folder.path().to_string_lossy());
    let read = |local_files| {
        never_read(&shared);
        let names = names(&Arc::new(symbols(build.folder.path(), local_files)), &core);
        (names, std::fs::metadata(&shared).expect("the file").atime())
    };
    let (found, accessed) = read(false);
    assert_ne!(found, all_names());
    assert_eq!(accessed, 0, "nobody opened it");
    assert_eq!(read(true).0, all_names());

    // Nor does the path of split units, of a debug link, or of the binary itself.
    let split = Build::new(&["-gdwarf-4", "-gsplit-dwarf"]);
    let copied = tempfile::tempdir().expect("a temporary folder");
    std::fs::copy(split.path("program"), copied.path().join("program")).expect("a copy");
    let core = split.core(
        "program",
        split.address("program"),
        &split.folder.path().to_string_lossy(),
    );
    let units = |local_files| names(&Arc::new(symbols(copied.path(), local_files)), &core);
    assert_ne!(units(false), all_names());
    assert_eq!(units(true), all_names());
    let empty = tempfile::tempdir().expect("a temporary folder");
    assert!(names(&Arc::new(symbols(empty.path(), false)), &core).is_empty());

    // A link in the folder is followed within the folder.
    std::os::unix::fs::symlink(split.path("program"), empty.path().join("program")).expect("a link");
    assert!(names(&Arc::new(symbols(empty.path(), false)), &core).is_empty());
}

#[test]
fn a_file_that_was_replaced_is_read_anew() {
    let build = Build::new(&["-g"]);
    let core = build.core("program", build.address("program"), "/gone");
    let folder = tempfile::tempdir().expect("a temporary folder");
    build.run("strip", "binutils", &["--strip-all", "-o", "stripped", "program"]);
    let place = folder.path().join("program");
    std::fs::copy(build.path("stripped"), &place).expect("a copy");
    let symbols = Arc::new(symbols(folder.path(), false));
    assert!(names(&symbols, &core).is_empty());
    // As installers do it, and then as a careless copy does.
    let beside = folder.path().join(".program");
    std::fs::copy(build.path("program"), &beside).expect("a copy");
    std::fs::rename(&beside, &place).expect("a rename");
    assert_eq!(names(&symbols, &core), all_names());
    std::fs::copy(build.path("stripped"), &place).expect("a copy");
    assert!(names(&symbols, &core).is_empty());
}

#[test]
fn shared_debug_information_that_comes_later_is_used() {
    let elsewhere = tempfile::tempdir().expect("a temporary folder");
    let (build, address) = shared_elsewhere(elsewhere.path());
    let core = build.core("program", address, "/gone");
    let symbols = Arc::new(symbols(build.folder.path(), false));
    assert_ne!(names(&symbols, &core), all_names());
    std::fs::rename(elsewhere.path().join("common.shared"), build.path("common.shared")).expect("a rename");
    assert_eq!(names(&symbols, &core), all_names());
}

#[test]
fn a_file_that_is_rewritten_while_it_is_read_costs_only_its_names() {
    let build = Build::new(&["-g"]);
    let core = build.core("program", build.address("program"), "/gone");
    let bytes = std::fs::read(build.path("program")).expect("the program");
    let symbols = Arc::new(symbols(build.folder.path(), false));
    assert_eq!(names(&symbols, &core), all_names());
    let (path, done) = (build.path("program"), Arc::new(AtomicBool::new(false)));
    let is_done = Arc::clone(&done);
    // Shortened and written again, over and over, as a build does in place.
    let writer = std::thread::spawn(move || {
        while !is_done.load(Ordering::Relaxed) {
            std::fs::write(&path, &bytes[..bytes.len() / 3]).expect("room");
            std::fs::write(&path, &bytes).expect("room");
        }
    });
    for _ in 0..200 {
        names(&symbols, &core);
    }
    done.store(true, Ordering::Relaxed);
    writer.join().expect("the writer ends");
    assert_eq!(names(&symbols, &core), all_names(), "the file is whole again");
}
