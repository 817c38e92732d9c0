//! Minicores: of files, and of what the kernel hands over through its pipe.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;

use crate::crash::kernel_writes_files;
use crate::support::{Home, Server, accept, errors, names, python};

const PROGRAM: &str = r#"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char *held;
__attribute__((noinline)) static void *wait_for_work(void *unused) { sleep(1000); return unused; }
__attribute__((noinline)) static int read_sample(int *sample) { return *sample; }
int main(void) {
  pthread_t thread;
  held = malloc(48 << 20);
  memset(held, 7, 48 << 20);
  strcpy(held, "swordfish-on-the-heap");
  for (int i = 0; i < 8; i++) pthread_create(&thread, 0, wait_for_work, 0);
  usleep(100000);
  return read_sample(0);
}
"#;

/// A program of nine threads that a debugger holds where it crashed, with its core beside it in `core`.
struct Crashed {
    debugger: Child,
    pid: String,
    go_on: PathBuf,
}

impl Crashed {
    fn new(home: &Home) -> Self {
        let source = home.file("program.c", PROGRAM);
        let program = home.work().join("program");
        let mut compile = home.isolated("cc");
        compile.args(["-g", "-O1", "-pthread", "-o"]).args([&program, &source]);
        assert!(compile.status().expect("cc runs").success());
        let mut debugger = home.isolated("gdb");
        debugger.args([
            "-q",
            "-batch",
            "-nx",
            "-iex",
            "set debuginfod enabled off",
            "-ex",
            "run",
        ]);
        debugger.args(["-ex", "generate-core-file gcore", "-ex"]);
        debugger.arg("python open('pid.new', 'w').write(str(gdb.selected_inferior().pid))");
        debugger.args(["-ex", "shell mv pid.new pid; while [ ! -e go-on ]; do sleep 0.1; done"]);
        debugger.arg(&program).stdout(Stdio::null()).stderr(Stdio::null());
        let debugger = debugger.spawn().expect("can not run gdb: apt-get install gdb");
        let deadline = Instant::now() + Duration::from_secs(120);
        let pid = loop {
            match std::fs::read_to_string(home.work().join("pid")) {
                Ok(pid) => break pid,
                Err(_) => assert!(Instant::now() < deadline, "the program does not crash"),
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        let core = std::fs::read(home.work().join("gcore")).expect("a core");
        home.file("core", in_kernel_order(&core));
        let go_on = home.work().join("go-on");
        Self { debugger, pid, go_on }
    }
}

impl Drop for Crashed {
    fn drop(&mut self) {
        let _ = std::fs::write(&self.go_on, "");
        let _ = self.debugger.wait();
    }
}

/// The same core with its notes before its memory, as the kernel writes it: gdb writes them last.
fn in_kernel_order(core: &[u8]) -> Vec<u8> {
    let word = |at: usize| u64::from_le_bytes(core[at..at + 8].try_into().expect("eight bytes")) as usize;
    let (table, count) = (word(32), usize::from(u16::from_le_bytes([core[56], core[57]])));
    let is_note = |header: &usize| core[*header] == 4;
    let (notes, memory): (Vec<usize>, Vec<usize>) = (0..count).map(|index| table + index * 56).partition(is_note);
    let mut ordered = core[..64].to_vec();
    ordered[32..40].copy_from_slice(&64_u64.to_le_bytes());
    let headers = [notes, memory].concat();
    let mut at = 64 + headers.len() * 56;
    for header in &headers {
        let mut copy = core[*header..header + 56].to_vec();
        copy[8..16].copy_from_slice(&(at as u64).to_le_bytes());
        at += word(header + 32);
        ordered.extend(copy);
    }
    for header in &headers {
        let offset = word(header + 8);
        ordered.extend(&core[offset..offset + word(header + 32)]);
    }
    ordered
}

/// What is read of a core, wherever it lies.
fn evidence(home: &Home, core: &Path) -> Value {
    let folder = tempfile::tempdir_in(home.work()).expect("a folder");
    let path = folder.path().join("core");
    std::fs::copy(core, &path).expect("room");
    let path = path.to_string_lossy();
    let output = home
        .whycrash(&["inspect", "--format", "json", &path])
        .output()
        .expect("it runs");
    let mut document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    // Its id and size are those of the file.
    document["report"]["artifacts"].take();
    document["report"]["id"].take();
    document
}

fn problems(home: &Home, core: &Path) -> String {
    let path = core.to_string_lossy();
    let output = home
        .whycrash(&["inspect", "--format", "json", &path])
        .output()
        .expect("it runs");
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    document["report"]["artifacts"][0]["problems"].to_string()
}

/// The only core dump in a user's folder of a store.
fn stored(store: &Path) -> PathBuf {
    let user = rustix::process::geteuid().as_raw().to_string();
    let names = names(&store.join(&user));
    assert_eq!(names.len(), 1, "{names:?}");
    store.join(user).join(&names[0])
}

/// A process that is not there.
const NOBODY: &str = "4194305";

/// The handler, as the kernel starts it.
fn handler(home: &Home, store: &str, pid: &str, from: Stdio) -> Output {
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let mut command = home.whycrash(&["core-handler", "--store", store, pid]);
    command
        .args([user.to_string(), group.to_string()])
        .args(["1", "1700000000", "--", "a program"]);
    command.stdin(from).output().expect("it runs")
}

/// The beginning of a file, as a pipe.
fn pipe_of(home: &Home, file: &str, bytes: u64) -> Stdio {
    let mut head = Command::new("head");
    head.args(["-c", &bytes.to_string(), file])
        .current_dir(home.work())
        .stdout(Stdio::piped());
    head.spawn().expect("head runs").stdout.take().expect("a pipe").into()
}

#[test]
fn a_minicore_says_what_the_full_core_says() {
    let home = Home::new();
    let crashed = Crashed::new(&home);
    // All that is read of the pipe is the beginning: the rest is in the process.
    let live = handler(&home, "live", &crashed.pid, pipe_of(&home, "core", 256 << 10));
    assert!(live.status.success(), "{}", errors(&live));
    let file = std::fs::File::open(home.work().join("core")).expect("a core");
    let pipe = handler(&home, "pipe", NOBODY, file.into());
    assert!(pipe.status.success(), "{}", errors(&pipe));
    for arguments in [&["core", "-o", "small"][..], &["core", "--format", "json"]] {
        let mut command = home.whycrash(&["core", "shrink"]);
        let output = command.args(arguments).output().expect("it runs");
        assert!(output.status.success(), "{}", errors(&output));
    }
    let full = home.work().join("core");
    let expected = evidence(&home, &full);
    assert_eq!(expected["threads"].as_array().map(Vec::len), Some(9));
    assert_eq!(expected["threads"][0]["frames"][0]["function"], "read_sample");
    let (live, pipe) = (stored(&home.work().join("live")), stored(&home.work().join("pipe")));
    assert!(
        live.ends_with(format!("core.a_program.{}.1700000000", crashed.pid)),
        "{live:?}"
    );
    let full_size = full.metadata().expect("a file").len();
    for small in [live, pipe, home.work().join("small"), home.work().join("core.minicore")] {
        assert_eq!(evidence(&home, &small), expected, "{}", small.display());
        assert_eq!(problems(&home, &small), "[]");
        let size = small.metadata().expect("a file").len();
        assert!(size < 1 << 20 && size * 40 < full_size, "{size} bytes for {full_size}");
        let bytes = std::fs::read(&small).expect("a file");
        assert!(!bytes.windows(9).any(|window| window == b"swordfish"));
        assert_eq!(small.metadata().expect("a file").permissions().mode() & 0o077, 0);
    }
}

#[test]
fn a_torn_pipe_leaves_what_came_and_says_so_or_nothing() {
    let home = Home::new();
    drop(Crashed::new(&home));
    let size = home.work().join("core").metadata().expect("a core").len();
    let output = handler(&home, "half", NOBODY, pipe_of(&home, "core", size / 2));
    assert!(output.status.success(), "{}", errors(&output));
    let half = stored(&home.work().join("half"));
    assert!(problems(&home, &half).contains("minicore-cut"));
    let user = rustix::process::geteuid().as_raw().to_string();
    for (store, bytes) in [("none", 0), ("magic", 100), ("headers", 600)] {
        let output = handler(&home, store, NOBODY, pipe_of(&home, "core", bytes));
        assert_eq!(output.status.code(), Some(1), "{bytes}");
        assert!(errors(&output).contains("core"), "{}", errors(&output));
        assert_eq!(names(&home.work().join(store).join(&user)), Vec::<String>::new());
    }
    home.file("log", "no core at all\n".repeat(1000));
    let output = handler(&home, "log-store", NOBODY, pipe_of(&home, "log", 15_000));
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_full_disk_leaves_nothing_half() {
    let home = Home::new();
    drop(Crashed::new(&home));
    let user = rustix::process::geteuid().as_raw().to_string();
    // A limit on the size of files stands for the disk: what is written fails in the same place.
    let script = format!(
        "trap '' XFSZ; ulimit -f 64; exec \"$0\" core-handler --store full {NOBODY} $(id -u) $(id -g) 1 1 -- a < core"
    );
    let mut command = Command::new("bash");
    let output = command
        .args(["-c", &script, env!("CARGO_BIN_EXE_whycrash")])
        .current_dir(home.work())
        .output();
    let output = output.expect("bash runs");
    assert_eq!(output.status.code(), Some(1), "{}", errors(&output));
    assert!(
        errors(&output).contains("can not keep a core dump"),
        "{}",
        errors(&output)
    );
    assert_eq!(names(&home.work().join("full").join(user)), Vec::<String>::new());
}

#[test]
fn old_cores_and_what_killed_handlers_left_go() {
    let home = Home::new();
    drop(Crashed::new(&home));
    let user = rustix::process::geteuid().as_raw().to_string();
    let day = Duration::from_secs(24 * 60 * 60);
    for (name, age) in [
        ("core.old.1.1", day * 15),
        ("core.new.2.2", day * 13),
        (".core.killed.3.3", day / 24),
        (".core.begun.4.4", Duration::ZERO),
        ("notes.txt", day),
    ] {
        let path = home.file(&format!("store/{user}/{name}"), "something");
        let file = std::fs::File::options().write(true).open(path).expect("a file");
        file.set_modified(SystemTime::now() - age).expect("a time");
    }
    let output = handler(
        &home,
        "store",
        NOBODY,
        std::fs::File::open(home.work().join("core")).expect("a core").into(),
    );
    assert!(output.status.success(), "{}", errors(&output));
    let kept = names(&home.work().join("store").join(user));
    let expected = [
        ".core.begun.4.4",
        "core.a_program.4194305.1700000000",
        "core.new.2.2",
        "notes.txt",
    ];
    assert_eq!(kept, expected);
}

#[test]
fn a_core_belongs_to_the_user_whose_process_died() {
    let home = Home::new();
    drop(Crashed::new(&home));
    let (own, group) = (rustix::process::geteuid(), rustix::process::getegid());
    // What a process leaves may be read by who ran it, and by nobody else. Who is not root can keep their own alone.
    let (user, group, modes) = match own.is_root() {
        true => (54_321, 54_322, vec![("1", 54_321), ("2", 0)]),
        false => (own.as_raw(), group.as_raw(), vec![("1", own.as_raw())]),
    };
    for (mode, owner) in modes {
        let store = format!("store-{mode}");
        let (user, group) = (user.to_string(), group.to_string());
        let mut command = home.whycrash(&["core-handler", "--store", &store, NOBODY, &user, &group, mode, "7"]);
        let core = std::fs::File::open(home.work().join("core")).expect("a core");
        let output = command.args(["--", "-rf"]).stdin(core).output().expect("it runs");
        assert!(output.status.success(), "{}", errors(&output));
        let folder = home.work().join(&store).join(owner.to_string());
        assert_eq!(names(&folder), ["core.-rf.4194305.7"]);
        let about =
            [folder.clone(), folder.join("core.-rf.4194305.7")].map(|path| path.metadata().expect("it is there"));
        for about in about {
            assert_eq!((about.uid(), about.permissions().mode() & 0o077), (owner, 0));
        }
    }
}

#[test]
fn a_large_core_is_uploaded_as_a_minicore() {
    let home = Home::new();
    let server = Server::start(accept);
    let job = "import ctypes; held = bytearray(b'x' * (40 << 20)); ctypes.string_at(0)";
    let mut command = home.whycrash(&["run", "--output", "report", "--server", &server.address, "--"]);
    command.args(python(job)).output().expect("it runs");
    let core = home.work().join("report/core");
    if !core.is_file() {
        assert!(!kernel_writes_files(), "the report has no core");
        return;
    }
    assert!(core.metadata().expect("a core").len() > 40 << 20);
    let request = server
        .requests()
        .into_iter()
        .find(|request| request.line.starts_with("POST"))
        .expect("a report");
    let report: Value = serde_json::from_slice(&request.body).expect("JSON");
    let sent = report["artifacts"]
        .as_array()
        .expect("artifacts")
        .iter()
        .find(|artifact| artifact["name"] == "core");
    let bytes = sent.expect("the core is sent")["bytes"].as_u64().expect("a size");
    assert!(bytes < 4 << 20, "{bytes}");
    let minicore = home.work().join("report/.core.minicore");
    assert_eq!(evidence(&home, &minicore), evidence(&home, &core));
}
