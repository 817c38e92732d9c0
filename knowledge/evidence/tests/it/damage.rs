//! Every kind of artifact, damaged in every way that uploads are: cut, changed, packed again, continued with something
//! else. Whatever comes of it: no panic, a bounded time, and problems that have a name.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use whycrash_evidence::{ArtifactKind, Limits, Reading, read};

use crate::core_builder::{Core, EM_AARCH64, EM_X86_64};
use crate::gpu_cores;
use crate::support::{artifact, compressed};

/// What a reading may take; it has room for slow machines.
const TIME: Duration = Duration::from_secs(10);
/// Of each sample as many pieces are cut off.
const PIECES: usize = 64;
/// Samples longer than that are damaged in fewer places, so that all takes seconds.
const LONG: usize = 20_000;

struct Sample {
    name: &'static str,
    kind: ArtifactKind,
    bytes: Vec<u8>,
}

fn fixture(path: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    std::fs::read(folder.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn labelled(path: &str) -> Vec<u8> {
    std::fs::read(whycrash_corpus::folder().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn first_in(folder: &str) -> Vec<u8> {
    let at = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(folder);
    let entries = std::fs::read_dir(at).expect("the folder");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_file())
        .collect();
    paths.sort();
    std::fs::read(paths.first().expect("a file")).expect("readable")
}

fn samples() -> Vec<Sample> {
    let sample = |name, kind, bytes: Vec<u8>| Sample { name, kind, bytes };
    let py_spy = r#"[{"pid": 1, "thread_id": 140, "thread_name": "MainThread", "os_thread_id": 7, "active": true,
        "owns_gil": true, "frames": [{"name": "f", "filename": "a.py", "line": 3}]}]"#;
    let context = r#"{"whycrash_context": 1, "command": ["python", "train.py"], "pid": 7, "rank": 3,
        "exit": {"signal": "SIGSEGV", "code": null}, "ended": "2026-01-01T00:00:00Z"}"#;
    let error = r#"{"message": {"message": "ValueError: x", "errorCode": 1, "extraInfo": {"timestamp": "1795253134",
        "py_callstack": "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nValueError: x\n"}}}"#;
    vec![
        sample("text", ArtifactKind::Log, fixture("logs/g_ddp_sigkill.txt")),
        sample("py-spy", ArtifactKind::Log, py_spy.into()),
        sample("context", ArtifactKind::Context, context.into()),
        sample("error file", ArtifactKind::ElasticError, error.into()),
        sample(
            "memory snapshot",
            ArtifactKind::MemorySnapshot,
            fixture("memory_snapshots/torch_2_1.pickle"),
        ),
        sample(
            "flight recorder",
            ArtifactKind::FlightRecorder,
            first_in("flight_recorder/gloo_exc"),
        ),
        sample(
            "flight recorder as JSON",
            ArtifactKind::FlightRecorder,
            first_in("flight_recorder/op_json"),
        ),
        sample("minidump", ArtifactKind::Minidump, fixture("minidumps/rust_panic.dmp")),
        sample("core", ArtifactKind::ElfCore, Core::small(EM_X86_64).bytes()),
        sample(
            "core of aarch64",
            ArtifactKind::ElfCore,
            Core::small(EM_AARCH64).bytes(),
        ),
        sample("GPU core", ArtifactKind::GpuCore, gpu_cores::sample()),
        sample(
            "test of the machine",
            ArtifactKind::Diagnostic,
            labelled("hw-dcgm-faulty-memory/dcgmi-diag-r3.json"),
        ),
        sample(
            "sanitizer's XML",
            ArtifactKind::Sanitizer,
            labelled("ima-sanitizer-xml-out-of-bounds/memcheck.xml"),
        ),
        sample(
            "RAS",
            ArtifactKind::NcclRas,
            labelled("dist-ras-json-dead/ncclras.json"),
        ),
        sample(
            "Inspector",
            ArtifactKind::NcclInspector,
            labelled("none-inspector-healthy/node-9-pid5100.log"),
        ),
        sample(
            "torchcomms log",
            ArtifactKind::TorchcommsLog,
            labelled("dist-clog-rank-missing/clog_rank_0.log"),
        ),
        sample(
            "bug report",
            ArtifactKind::BugReport,
            labelled("hw-bug-report-ecc/nvidia-bug-report.log"),
        ),
    ]
}

/// Reads what damage made of a sample, in time.
fn survive(name: &str, damage: &str, bytes: &[u8]) -> Reading {
    let (artifact, _keep) = artifact("artifact_0", bytes);
    let started = Instant::now();
    let reading = read(&artifact, &Limits::default());
    assert!(started.elapsed() < TIME, "{name}, {damage}: {:?}", started.elapsed());
    assert!(reading.kind.is_some(), "{name}, {damage}");
    for problem in &reading.problems {
        let is_word = |word: &str| {
            !word.is_empty()
                && word
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        };
        assert!(problem.code.split('-').all(is_word), "{name}, {damage}: {problem:?}");
        assert!(
            (10..1000).contains(&problem.message.len()),
            "{name}, {damage}: {problem:?}"
        );
    }
    reading
}

/// The same numbers in every run.
struct Seeded(u64);

impl Seeded {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end.max(1)
    }
}

#[test]
fn samples_are_sound() {
    for sample in samples() {
        let reading = survive(sample.name, "sound", &sample.bytes);
        assert_eq!(
            (reading.kind, reading.problems),
            (Some(sample.kind), vec![]),
            "{}",
            sample.name
        );
    }
}

#[test]
fn cut_anywhere() {
    for Sample { name, bytes, .. } in samples() {
        for piece in 0..PIECES {
            let length = bytes.len() * piece / PIECES;
            let reading = survive(name, &format!("cut at {length}"), &bytes[..length]);
            // Any part of a text is a text, and what is written line by line may end with any of them.
            let by_line = [
                ArtifactKind::Log,
                ArtifactKind::NcclInspector,
                ArtifactKind::TorchcommsLog,
                ArtifactKind::BugReport,
            ];
            let is_named = !reading.problems.is_empty() || reading.kind.is_some_and(|kind| by_line.contains(&kind));
            assert!(
                is_named,
                "{name}: nothing is said when it is cut at {length} of {}",
                bytes.len()
            );
        }
    }
}

#[test]
fn bytes_changed_anywhere() {
    let mut seeded = Seeded(7);
    for Sample { name, bytes, .. } in samples() {
        let rounds = if bytes.len() > LONG { 40 } else { 200 };
        for round in 0..rounds {
            let mut damaged = bytes.clone();
            for _ in 0..=seeded.below(8) {
                // Half of them in the head, where most can go wrong.
                let reach = if round % 2 == 0 {
                    bytes.len()
                } else {
                    bytes.len().min(512)
                };
                let at = seeded.below(reach);
                damaged[at] ^= 1 << seeded.below(8);
            }
            survive(name, &format!("round {round}"), &damaged);
        }
    }
}

#[test]
fn words_set_to_extremes() {
    let words: [&[u8]; 6] = [
        &[0; 4],
        &[0xff; 4],
        &i32::MAX.to_le_bytes(),
        &[0; 8],
        &[0xff; 8],
        &i64::MAX.to_le_bytes(),
    ];
    for Sample { name, bytes, .. } in samples() {
        // Every place of a small sample; of a long one as many, evenly.
        let step = if bytes.len() > LONG {
            bytes.len() / 128 / 4 * 4
        } else {
            4 * bytes.len().div_ceil(1200)
        };
        for at in (0..bytes.len().saturating_sub(8)).step_by(step.max(4)) {
            for word in words {
                let mut damaged = bytes.clone();
                damaged[at..at + word.len()].copy_from_slice(word);
                survive(name, &format!("{word:?} at {at}"), &damaged);
            }
        }
    }
}

#[test]
fn packed_more_than_once() {
    for Sample { name, bytes, kind, .. } in samples() {
        for (outer, once) in compressed(&bytes) {
            assert_eq!(survive(name, outer, &once).kind, Some(kind), "{name} in {outer}");
            for (middle, twice) in compressed(&once) {
                let damage = format!("in {outer} in {middle}");
                assert_eq!(survive(name, &damage, &twice).kind, Some(kind), "{name} {damage}");
                for (outermost, thrice) in compressed(&twice) {
                    let damage = format!("{damage} in {outermost}");
                    let problems = survive(name, &damage, &thrice).problems;
                    assert_eq!(problems[0].code, "nested-compression", "{name} {damage}");
                }
            }
        }
    }
}

#[test]
fn continued_with_something_else() {
    let zeros = vec![0; 10_000];
    let mut seeded = Seeded(11);
    let noise: Vec<u8> = (0..10_000).map(|_| seeded.below(256) as u8).collect();
    for Sample { name, bytes, kind, .. } in samples() {
        for (what, tail) in [("zeros", &zeros), ("noise", &noise), ("itself", &bytes)] {
            let reading = survive(name, what, &[&bytes, tail.as_slice()].concat());
            // Bytes that are no text make no log.
            assert!(
                reading.kind == Some(kind) || kind == ArtifactKind::Log,
                "{name} and {what}"
            );
        }
        for (packing, packed) in compressed(&bytes) {
            survive(name, packing, &[packed.as_slice(), &noise].concat());
        }
    }
}
