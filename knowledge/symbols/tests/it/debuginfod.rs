//! Files from a debuginfod server: a real one, on a port of this machine.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use object::Object as _;
use whycrash_evidence::model::Trust;
use whycrash_evidence::{Artifact, Limits, Reading};
use whycrash_symbols::{Debuginfod, DebuginfodLimits, Fetch, Fetched, Sources, Symbols};

use crate::crashes::Crash;
use crate::fixtures::{core, programs};
use crate::minidumps::dump;

/// Build id of `n_plain_stripped` and of its separate debug file.
const BUILD_ID: &str = "b25a865a64265ebc2a9fb3019e57ab3574972ff1";

/// Answers with these bodies by path, 404 for any other path, and writes down what was asked.
struct Server {
    address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(bodies: HashMap<String, Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("its address"));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let _ = answer(stream, &bodies, &log);
            }
        });
        Self { address, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("the log").clone()
    }
}

fn answer(stream: TcpStream, bodies: &HashMap<String, Vec<u8>>, log: &Mutex<Vec<String>>) -> io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let request = lines.next().unwrap_or_else(|| Ok(String::new()))?;
    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
    while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
    log.lock().expect("the log").push(path.clone());
    let mut stream = stream;
    match bodies.get(&path) {
        Some(body) => {
            write!(stream, "HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n", body.len())?;
            stream.write_all(body)
        }
        None => write!(stream, "HTTP/1.0 404 Not Found\r\n\r\n"),
    }
}

/// As little HTTP as it takes.
#[derive(Debug)]
struct PlainHttp;

impl Fetch for PlainHttp {
    fn fetch(&self, url: &str, time: Duration, to: &mut dyn Write) -> io::Result<Fetched> {
        let (host, path) = url["http://".len()..].split_once('/').expect("a path");
        let mut stream = TcpStream::connect(host)?;
        stream.set_read_timeout(Some(time))?;
        write!(stream, "GET /{path} HTTP/1.0\r\n\r\n")?;
        let mut reader = BufReader::new(stream);
        let mut status = String::new();
        reader.read_line(&mut status)?;
        if status.contains(" 404 ") {
            return Ok(Fetched::Missing);
        }
        let mut line = String::new();
        while reader.read_line(&mut line)? > 2 {
            line.clear();
        }
        io::copy(&mut reader.take(1 << 30), &mut { to })?;
        Ok(Fetched::Body)
    }
}

fn read(servers: &str, cache: &Path, limits: DebuginfodLimits) -> Reading {
    read_artifact(&core("cpp_null_worker_stripped"), servers, cache, limits)
}

fn read_artifact(artifact: &Artifact, servers: &str, cache: &Path, limits: DebuginfodLimits) -> Reading {
    Symbols::new(sources(servers, cache, limits)).read(artifact, &Limits::default())
}

fn sources(servers: &str, cache: &Path, limits: DebuginfodLimits) -> Sources {
    Sources {
        debuginfod: Debuginfod::new(servers, cache.to_owned(), Arc::new(PlainHttp), limits),
        ..Sources::default()
    }
}

fn functions(reading: &Reading) -> Vec<&str> {
    let frames = reading.evidence.threads[0].frames.iter();
    frames.take(3).filter_map(|frame| frame.function.as_deref()).collect()
}

/// A server with these programs under the build id.
fn server(files: &[(&str, &str)]) -> Server {
    let answer = |(kind, name): &(&str, &str)| {
        let body = std::fs::read(programs().join(name)).expect("a program");
        (format!("/buildid/{BUILD_ID}/{kind}"), body)
    };
    Server::start(files.iter().map(answer).collect())
}

fn whole_server() -> Server {
    server(&[
        ("executable", "n_plain_stripped"),
        ("debuginfo", "n_plain_stripped.debug"),
    ])
}

const EXPECTED: [&str; 3] = [
    "trainer::load_elem",
    "trainer::SumReducer<float>::reduce",
    "trainer::do_crash",
];

#[test]
fn what_is_not_here_is_fetched_once() {
    let server = whole_server();
    let cache = tempfile::tempdir().expect("a temporary folder");
    let reading = read(&server.address, cache.path(), DebuginfodLimits::default());
    assert_eq!(functions(&reading), EXPECTED);
    let source = reading
        .evidence
        .modules
        .iter()
        .find(|module| module.build_id.as_deref() == Some(BUILD_ID));
    assert_eq!(source.and_then(|module| module.symbols.as_deref()), Some("debug-file"));

    let asked = server.asked();
    assert!(asked.len() > 2, "libraries are asked for too: {asked:?}");
    let again = read(&server.address, cache.path(), DebuginfodLimits::default());
    assert_eq!(functions(&again), EXPECTED);
    assert_eq!(
        server.asked(),
        asked,
        "what is there, and what nobody has, is remembered"
    );
}

/// What was asked about the program itself.
fn asked_of_program(server: &Server) -> Vec<String> {
    let of_program = |path: &String| Some(path.strip_prefix(&format!("/buildid/{BUILD_ID}/"))?.to_owned());
    server.asked().iter().filter_map(of_program).collect()
}

#[test]
fn a_binary_with_its_own_debug_information_is_fetched_once_whatever_it_is_served_as() {
    // The program that was not stripped has the same build id.
    let program = "n_plain_O2";
    let cases: [(&[(&str, &str)], &[&str]); 3] = [
        (&[("executable", program), ("debuginfo", program)], &["executable"]),
        (&[("executable", program)], &["executable"]),
        (&[("debuginfo", program)], &["executable", "debuginfo"]),
    ];
    for (files, expected) in cases {
        let server = server(files);
        let cache = tempfile::tempdir().expect("a temporary folder");
        let reading = read(&server.address, cache.path(), DebuginfodLimits::default());
        assert_eq!(functions(&reading), EXPECTED, "{files:?}");
        let of_program = reading.evidence.threads[0].frames.iter();
        let of_program = of_program.filter(|frame| frame.build_id.as_deref() == Some(BUILD_ID));
        for frame in of_program {
            assert!(
                frame.function.is_some() && frame.trust != Trust::Scan,
                "{files:?}: {frame:?}"
            );
        }
        assert_eq!(asked_of_program(&server), expected, "{files:?}");
    }
}

#[test]
fn a_binary_that_the_core_has_the_first_page_of_is_fetched() {
    let crash = Crash::new(&["-g"]);
    let bytes = std::fs::read(crash.path("program")).expect("the program");
    let build_id = object::File::parse(&*bytes).expect("an ELF file").build_id();
    let build_id = build_id.expect("notes").expect("a build id").iter();
    let build_id: String = build_id.map(|byte| format!("{byte:02x}")).collect();
    let alone = crash.read(Sources::default());
    assert_eq!(
        alone.evidence.modules[0].symbols.as_deref(),
        Some("core"),
        "exported symbols are on that page"
    );

    for kind in ["executable", "debuginfo"] {
        let server = Server::start(HashMap::from([(format!("/buildid/{build_id}/{kind}"), bytes.clone())]));
        let cache = tempfile::tempdir().expect("a temporary folder");
        let reading = crash.read(sources(&server.address, cache.path(), DebuginfodLimits::default()));
        assert_eq!(crash.places(&reading), crash.gdb, "{kind}");
    }
}

#[test]
fn minidumps_are_named_from_servers_too() {
    let server = server(&[("executable", "n_plain_O2")]);
    let cache = tempfile::tempdir().expect("a temporary folder");
    let dump = dump("cpp_null_worker.dmp");
    let artifact = Artifact::new("dump", dump);
    let reading = read_artifact(&artifact, &server.address, cache.path(), DebuginfodLimits::default());
    assert_eq!(functions(&reading), EXPECTED);
    let crash = reading.evidence.crash.expect("a crash");
    assert_eq!(
        crash.access.as_deref(),
        Some("read"),
        "the instruction is in the binary"
    );
    assert_eq!(asked_of_program(&server), ["executable"]);
}

#[test]
fn a_server_before_may_be_down() {
    let server = whole_server();
    let cache = tempfile::tempdir().expect("a temporary folder");
    let closed = TcpListener::bind("127.0.0.1:0").expect("a port");
    let down = format!("http://{}", closed.local_addr().expect("its address"));
    drop(closed);
    let servers = format!("{down} {}", server.address);
    let reading = read(&servers, cache.path(), DebuginfodLimits::default());
    assert_eq!(functions(&reading), EXPECTED);
}

#[test]
fn another_build_is_refused() {
    let other = std::fs::read(programs().join("n_plain_O2_fp")).expect("a program");
    let server = Server::start(HashMap::from([(format!("/buildid/{BUILD_ID}/executable"), other)]));
    let cache = tempfile::tempdir().expect("a temporary folder");
    let reading = read(&server.address, cache.path(), DebuginfodLimits::default());
    assert_eq!(functions(&reading), [""; 0]);
}

#[test]
fn limits_hold() {
    let server = whole_server();
    let cache = tempfile::tempdir().expect("a temporary folder");
    let limits = DebuginfodLimits {
        file_bytes: 1000,
        ..DebuginfodLimits::default()
    };
    assert_eq!(functions(&read(&server.address, cache.path(), limits)), [""; 0]);
    let before = server.asked().len();
    let nothing = [
        DebuginfodLimits {
            report_time: Duration::ZERO,
            ..DebuginfodLimits::default()
        },
        DebuginfodLimits {
            report_requests: 0,
            ..DebuginfodLimits::default()
        },
        DebuginfodLimits {
            report_bytes: 0,
            ..DebuginfodLimits::default()
        },
    ];
    for limits in nothing {
        let cache = tempfile::tempdir().expect("a temporary folder");
        let reading = read(&server.address, cache.path(), limits);
        assert_eq!(functions(&reading), [""; 0]);
        assert!(is_spent(&reading), "{:?}", reading.problems);
    }
    assert_eq!(server.asked().len(), before, "no time, no question");
}

fn is_spent(reading: &Reading) -> bool {
    reading
        .problems
        .iter()
        .any(|problem| problem.code == "limit-debuginfod")
}

#[test]
fn the_artifacts_of_a_report_share_what_may_be_asked() {
    let server = whole_server();
    let cache = tempfile::tempdir().expect("a temporary folder");
    let limits = DebuginfodLimits {
        report_requests: 1,
        ..DebuginfodLimits::default()
    };
    let symbols = Symbols::new(sources(&server.address, cache.path(), limits));
    let artifact = core("cpp_null_worker_stripped");
    let report = symbols.report();
    for _ in 0..2 {
        assert!(is_spent(&report.read(&artifact, &Limits::default())));
    }
    assert_eq!(server.asked().len(), 1, "{:?}", server.asked());
    symbols.report().read(&artifact, &Limits::default());
    assert_eq!(server.asked().len(), 2, "another report may ask again");
}

#[test]
fn a_report_that_has_no_more_bytes_does_not_make_a_file_missing_for_others() {
    let server = whole_server();
    let cache = tempfile::tempdir().expect("a temporary folder");
    let few = DebuginfodLimits {
        report_bytes: 1000,
        ..DebuginfodLimits::default()
    };
    let reading = read(&server.address, cache.path(), few);
    assert_eq!(functions(&reading), [""; 0]);
    assert!(is_spent(&reading), "{:?}", reading.problems);
    let reading = read(&server.address, cache.path(), DebuginfodLimits::default());
    assert_eq!(functions(&reading), EXPECTED);
}

#[test]
fn a_kept_file_is_never_shortened() {
    let server = whole_server();
    let cache = tempfile::tempdir().expect("a temporary folder");
    let place = cache.path().join(BUILD_ID).join("executable");
    std::fs::create_dir_all(place.parent().expect("a folder")).expect("a folder");
    std::fs::copy(programs().join("n_plain_O2_fp"), &place).expect("a copy");
    // Another reading may have it mapped at this moment.
    let other = std::fs::File::open(&place).expect("the file");
    let bytes = other.metadata().expect("its size").len();
    read(&server.address, cache.path(), DebuginfodLimits::default());
    assert_eq!(
        std::fs::metadata(&place).expect("a note").len(),
        0,
        "it was another build"
    );
    assert_eq!(other.metadata().expect("its size").len(), bytes);
}

#[test]
fn notes_and_files_make_room() {
    let server = whole_server();
    let cache = tempfile::tempdir().expect("a temporary folder");
    let old = cache.path().join("00000000000000000000000000000000");
    std::fs::create_dir_all(&old).expect("a folder");
    let note = std::fs::File::create(old.join("debuginfo")).expect("a note");
    note.set_modified(std::time::SystemTime::UNIX_EPOCH).expect("a time");
    let limits = DebuginfodLimits {
        cache_bytes: 1,
        ..DebuginfodLimits::default()
    };
    assert_eq!(functions(&read(&server.address, cache.path(), limits)), EXPECTED);
    assert!(!old.exists(), "nobody needs to know that any more");
    let kept: u64 = walk(cache.path())
        .iter()
        .map(|path| path.metadata().expect("a file").len())
        .sum();
    let largest = std::fs::metadata(programs().join("n_plain_stripped.debug"))
        .expect("a program")
        .len();
    assert!(kept <= largest, "{kept}");
}

fn walk(folder: &Path) -> Vec<std::path::PathBuf> {
    let folders = std::fs::read_dir(folder).expect("the folder").flatten();
    let files = folders.flat_map(|folder| std::fs::read_dir(folder.path()).into_iter().flatten().flatten());
    files.map(|file| file.path()).collect()
}

#[test]
fn nobody_is_asked_unless_configured() {
    assert!(
        Debuginfod::new(
            " ",
            std::env::temp_dir(),
            Arc::new(PlainHttp),
            DebuginfodLimits::default()
        )
        .is_none()
    );
    let reading =
        Symbols::new(Sources::default()).read(&Artifact::new("core", core("cpp_null_worker").path), &Limits::default());
    assert_eq!(functions(&reading), [""; 0]);
}
