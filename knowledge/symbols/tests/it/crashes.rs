//! Real crashes of a small program, built in the ways its debug information may come, beside gdb's stacks of them.

use std::path::PathBuf;

use whycrash_evidence::model::Trust;
use whycrash_evidence::{Artifact, Limits, Reading};
use whycrash_symbols::{Sources, Symbols};

use crate::fixtures;

const SOURCE: &str = r"
#include <vector>
namespace loader {
struct Sample { int *pixels; long size; };
template <typename T> struct Total {
  T sum;
  inline __attribute__((always_inline)) void add(T value) { sum += value; }
};
__attribute__((noinline)) long sum(const Sample &sample) {
  long total = 0;
  for (long i = 0; i < sample.size; i++)
    total += sample.pixels[i];
  return total;
}
static inline __attribute__((always_inline)) long scaled(const Sample &sample) {
  return sum(sample) * 3;
}
__attribute__((noinline)) long collate(const std::vector<Sample> &batch) {
  Total<long> total{0};
  for (const Sample &sample : batch)
    total.add(scaled(sample));
  return total.sum;
}
struct Worker {
  int id;
  std::vector<Sample> queue;
  __attribute__((noinline)) long step();
};
long Worker::step() { return collate(queue) + id; }
__attribute__((noinline)) long epoch(Worker &worker, int steps) {
  long total = 0;
  for (int i = 0; i < steps; i++)
    total += worker.step() - i;
  return total;
}
}
int main(int count, char **) {
  static int pixels[4] = {1, 2, 3, 4};
  loader::Worker worker{count, {{pixels, 4}, {nullptr, 2}}};
  return loader::epoch(worker, 3) != 0;
}
";

/// Function and line.
pub type Place = (String, Option<u32>);

/// A folder with the program, a core of its crash, and what gdb said of that.
pub struct Crash {
    folder: tempfile::TempDir,
    pub gdb: Vec<Place>,
}

impl Crash {
    pub fn new(options: &[&str]) -> Self {
        let mut crash = Self {
            folder: tempfile::tempdir().expect("a temporary folder"),
            gdb: Vec::new(),
        };
        std::fs::write(crash.path("program.cpp"), SOURCE).expect("room");
        crash.run("g++", "g++", &[&["-c", "-O2", "program.cpp"], options].concat());
        crash.run("g++", "g++", &[&["program.o", "-o", "program"], options].concat());
        // Whatever is asked for must come from where it lies when the core is read.
        std::fs::remove_file(crash.path("program.o")).expect("the file");
        let commands = ["set print frame-arguments none", "set print address off", "run"];
        let mut arguments = vec!["-q", "-batch", "-nx", "-iex", "set debuginfod enabled off"];
        for command in commands.iter().chain(&["generate-core-file core", "bt"]) {
            arguments.extend(["-ex", *command]);
        }
        arguments.push("program");
        let text = crash.run("gdb", "gdb", &arguments);
        crash.gdb = text.lines().filter_map(place).collect();
        assert_eq!(
            crash.gdb.first().map(|(name, _)| &**name),
            Some("loader::sum"),
            "{text}"
        );
        crash
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs a tool in the folder; `package` is what brings it.
    fn run(&self, tool: &str, package: &str, arguments: &[&str]) -> String {
        fixtures::run(self.folder.path(), tool, package, arguments)
    }

    /// Puts the split units into a package, and deletes their files.
    fn pack(&self, tool: &str, package: &str) {
        self.run(tool, package, &["-e", "program", "-o", "program.dwp"]);
        for entry in std::fs::read_dir(self.folder.path()).expect("the folder").flatten() {
            if entry.path().extension().is_some_and(|extension| extension == "dwo") {
                std::fs::remove_file(entry.path()).expect("the file");
            }
        }
    }

    /// The frames up to `main`, with what is in the folder.
    fn frames(&self) -> Vec<Place> {
        self.places(&self.read(Sources {
            folders: vec![self.folder.path().to_owned()],
            ..Sources::default()
        }))
    }

    pub fn read(&self, sources: Sources) -> Reading {
        let core = Artifact::new("core", self.path("core"));
        Symbols::new(sources).read(&core, &Limits::default())
    }

    /// The frames up to `main`, none of them guessed.
    pub fn places(&self, reading: &Reading) -> Vec<Place> {
        let mut places = Vec::new();
        for frame in reading.evidence.threads[0].frames.iter().take(self.gdb.len()) {
            assert_ne!(frame.trust, Trust::Scan, "{frame:?}");
            let name = frame.function.clone().unwrap_or_default();
            places.push((without_parameters(&name), frame.line));
            if name == "main" {
                break;
            }
        }
        places
    }

    #[track_caller]
    fn check(&self) {
        assert_eq!(self.frames(), self.gdb);
    }
}

/// `#1  loader::collate (...) at program.cpp:21`
fn place(line: &str) -> Option<Place> {
    let (_, rest) = line.strip_prefix('#')?.split_once("  ")?;
    let line = rest
        .rsplit_once(" at ")
        .and_then(|(_, at)| at.rsplit_once(':')?.1.parse().ok());
    Some((without_parameters(rest), line))
}

fn without_parameters(name: &str) -> String {
    name.split('(').next().unwrap_or_default().trim_end().to_owned()
}

#[test]
fn debug_information_in_the_program() {
    for options in [
        ["-g", "-gdwarf-4"],
        ["-g", "-gdwarf-5"],
        ["-g", "-no-pie"],
        ["-g", "-static-pie"],
    ] {
        let crash = Crash::new(&options);
        assert_eq!(crash.gdb.len(), 6, "{:?}", crash.gdb);
        crash.check();
    }
}

#[test]
fn compressed_debug_information() {
    let crash = Crash::new(&["-g"]);
    crash.run("objcopy", "binutils", &["--compress-debug-sections=zstd", "program"]);
    crash.check();
    Crash::new(&["-gdwarf-5", "-gsplit-dwarf", "-gz=zlib"]).check();
}

#[test]
fn split_units_in_files_and_packages() {
    for version in ["-gdwarf-4", "-gdwarf-5"] {
        let crash = Crash::new(&[version, "-gsplit-dwarf"]);
        crash.check();
        crash.pack("llvm-dwp", "llvm");
        crash.check();
        std::fs::remove_file(crash.path("program.dwp")).expect("the package");
        assert_ne!(crash.frames(), crash.gdb, "there is nowhere else to read from");
    }
    let crash = Crash::new(&["-gdwarf-4", "-gsplit-dwarf", "-fdebug-types-section"]);
    crash.pack("dwp", "binutils");
    crash.check();
}

#[test]
fn unwinding_rules_for_debuggers_alone() {
    let options = [
        "-g",
        "-fno-asynchronous-unwind-tables",
        "-fno-exceptions",
        "-fno-unwind-tables",
    ];
    Crash::new(&options).check();
}

#[test]
fn a_separate_file_of_a_static_program() {
    let crash = Crash::new(&["-g", "-static-pie"]);
    crash.run("objcopy", "binutils", &["--only-keep-debug", "program", "apart.debug"]);
    crash.run("strip", "binutils", &["--strip-all", "program"]);
    crash.run("objcopy", "binutils", &["--add-gnu-debuglink=apart.debug", "program"]);
    crash.check();
}

/// Fedora strips programs to a symbol table of their functions, packed into a section of its own.
#[test]
fn a_packed_symbol_table() {
    let crash = Crash::new(&["-g"]);
    let symbols = "nm program --format=posix --defined-only | awk '$2 ~ /[Tt]/ { print $1 }' > keep";
    crash.run("sh", "dash", &["-c", symbols]);
    crash.run("objcopy", "binutils", &["--only-keep-debug", "program", "full"]);
    crash.run(
        "objcopy",
        "binutils",
        &["--strip-all", "--keep-symbols=keep", "full", "packed"],
    );
    crash.run("strip", "binutils", &["--strip-all", "program"]);
    let named = |crash: &Crash| crash.frames().iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    std::fs::remove_file(crash.path("full")).expect("the file");
    crash.run("xz", "xz-utils", &["packed"]);
    assert_eq!(
        named(&crash).first().map(String::as_str),
        Some(""),
        "nothing else has names"
    );
    crash.run(
        "objcopy",
        "binutils",
        &["--add-section", ".gnu_debugdata=packed.xz", "program"],
    );
    // What is inlined is in no symbol table.
    let expected = crash
        .gdb
        .iter()
        .map(|(name, _)| name.clone())
        .filter(|name| name != "loader::scaled");
    assert_eq!(named(&crash), expected.collect::<Vec<_>>());
}
