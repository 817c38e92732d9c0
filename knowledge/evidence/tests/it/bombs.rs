//! Small files that stand for much: each is read in little time and memory, and what was left out is named.

use std::time::{Duration, Instant};

use whycrash_evidence::readers::pickle::{Keep, load};
use whycrash_evidence::{Limits, Reading, read};

use crate::support::artifact;

/// Reads within a time that has room for slow machines, and none for anything that grows with the square.
fn read_soon(name: &str, bytes: &[u8], limits: &Limits) -> Reading {
    let (artifact, _keep) = artifact(name, bytes);
    let started = Instant::now();
    let reading = read(&artifact, limits);
    assert!(
        started.elapsed() < Duration::from_secs(60),
        "{name}: {:?}",
        started.elapsed()
    );
    reading
}

fn check(name: &str, bytes: &[u8], limits: &Limits, code: &str) -> Reading {
    let reading = read_soon(name, bytes, limits);
    let codes: Vec<&str> = reading.problems.iter().map(|problem| problem.code.as_str()).collect();
    assert!(codes.contains(&code), "{name}: {codes:?} without {code}");
    reading
}

#[test]
fn text_that_expands_beyond_reason() {
    let line = "Traceback of nothing at all, again and again\n".repeat(400_000);
    let piece = zstd::encode_all(line.as_bytes(), 1).expect("zstd");
    let bomb = piece.repeat(10);
    let reading = check("bomb.log", &bomb, &Limits::default(), "limit-expansion-ratio");
    assert_eq!(reading.bytes, bomb.len() as u64);
    // The same text, not compressed, is read to its end.
    let whole = read_soon("whole.log", line.as_bytes(), &Limits::default());
    assert_eq!(whole.problems, []);
}

#[test]
fn text_that_quotes_too_much() {
    let failure = |name: u32| {
        let said = "x".repeat(15_000);
        format!("Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n    g()\nError{name}: {said}\n")
    };
    let text: String = (0..1000).map(failure).collect();
    check(
        "quotes.log",
        text.as_bytes(),
        &Limits::default(),
        "limit-evidence-bytes",
    );
    let failure = failure(0);
    let limits = Limits {
        line_bytes: 100,
        ..Limits::default()
    };
    let reading = check("lines.log", failure.as_bytes(), &limits, "limit-line-bytes");
    assert!(reading.problems[0].message.contains("the first of them line 4"));
    // One endless line is not read to its end either.
    let limits = Limits {
        text_bytes: 10_000,
        ..Limits::default()
    };
    check("line.log", &b"x".repeat(1 << 20), &limits, "limit-text-bytes");
}

#[test]
fn json_of_many_values() {
    let zeros = "0,".repeat(2_100_000);
    let context = format!("{{\"whycrash_context\": 1, \"a\": [{zeros}0]}}");
    let recorder = format!("{{\"pg_config\": {{}}, \"entries\": [{zeros}0]}}");
    let dump = format!("[{{\"owns_gil\": true, \"x\": [{zeros}0]}}]");
    let artifacts = [
        ("context.json", &context),
        ("rank_0.json", &recorder),
        ("dump.json", &dump),
    ];
    for (name, text) in artifacts {
        check(name, text.as_bytes(), &Limits::default(), "limit-json-values");
    }
    let deep = format!("{{\"whycrash_context\": 1, \"a\": {}", "[".repeat(100_000));
    check("deep.json", deep.as_bytes(), &Limits::default(), "bad-json");
    let limits = Limits {
        json_bytes: 1000,
        ..Limits::default()
    };
    for (name, text) in artifacts {
        check(name, text.as_bytes(), &limits, "limit-json-bytes");
    }
}

#[test]
fn threads_of_a_py_spy_dump() {
    let frame = r#"{"name": "f", "filename": "a.py", "line": 1}"#;
    let frames = [frame; 30].join(",");
    let thread = format!(r#"{{"os_thread_id": 1, "owns_gil": true, "frames": [{frames}]}}"#);
    let dump = format!("[{}]", vec![thread; 20].join(","));
    let limits = Limits {
        threads: 5,
        frames: 10,
        ..Limits::default()
    };
    let reading = check("dump.json", dump.as_bytes(), &limits, "limit-threads");
    let threads = reading.evidence.threads;
    assert_eq!(
        (threads.len(), threads[0].frames.len(), threads[0].frames_omitted),
        (5, 10, Some(20))
    );
}

#[test]
fn minidump_names_that_overlap() {
    let modules = 60_000_u32;
    let (system_at, list_at) = (32 + 24_u32, 32 + 24 + 56_u32);
    let list_bytes = 4 + modules * 108;
    let name_at = list_at + list_bytes;
    let mut dump = b"MDMP".to_vec();
    dump.extend(
        [0xa793_u32, 2, 32, 0, 0, 0, 0]
            .iter()
            .flat_map(|word| word.to_le_bytes()),
    );
    for word in [7, 56, system_at, 4, list_bytes, list_at] {
        dump.extend(word.to_le_bytes());
    }
    dump.resize(list_at as usize, 0);
    dump.extend(modules.to_le_bytes());
    for module in 0..modules {
        let mut entry = vec![0; 108];
        entry[..8].copy_from_slice(&(u64::from(module) << 20).to_le_bytes());
        entry[8..12].copy_from_slice(&4096_u32.to_le_bytes());
        entry[20..24].copy_from_slice(&name_at.to_le_bytes());
        dump.extend(entry);
    }
    dump.extend((1_u32 << 20).to_le_bytes());
    dump.resize(dump.len() + (1 << 20), b'a');
    let reading = check("names.dmp", &dump, &Limits::default(), "limit-minidump");
    assert!(reading.evidence.modules.is_empty());
    // A directory of a hundred million streams.
    dump[8..12].copy_from_slice(&100_000_000_u32.to_be_bytes());
    check("directory.dmp", &dump, &Limits::default(), "limit-minidump");
}

/// Writes pickles by hand, opcode by opcode.
#[derive(Default)]
struct Pickle(Vec<u8>);

impl Pickle {
    fn new() -> Self {
        Self(b"\x80\x02".to_vec())
    }

    fn raw(mut self, opcodes: &[u8]) -> Self {
        self.0.extend(opcodes);
        self
    }

    fn text(self, text: &str) -> Self {
        let length = (text.len() as u32).to_le_bytes();
        self.raw(b"X").raw(&length).raw(text.as_bytes())
    }

    fn number(self, number: u32) -> Self {
        self.raw(b"J").raw(&(number as i32).to_le_bytes())
    }
}

#[test]
fn one_segment_named_a_million_times() {
    // A dict of 100 000 members, listed as a segment again and again.
    let mut pickle = Pickle::new().raw(b"}(").text("segments").raw(b"](}q\x01(");
    for member in 0..100_000 {
        pickle = pickle.number(member).raw(b"K\x00");
    }
    pickle = pickle
        .text("total_size")
        .raw(b"K\x01u")
        .raw(&b"h\x01".repeat(1_000_000))
        .raw(b"eu.");
    let reading = read_soon("memo.pickle", &pickle.0, &Limits::default());
    assert!(reading.evidence.memory_snapshots.len() <= 1);
}

#[test]
fn owners_and_settings_without_end() {
    // Settings: each dict holds the one before it 500 times.
    let mut pickle = Pickle::new()
        .raw(b"}(")
        .text("segments")
        .raw(b"]")
        .text("allocator_settings")
        .raw(b"}q\x00");
    for level in 1..6_u8 {
        pickle = pickle.raw(b"0}q").raw(&[level]).raw(b"(");
        for member in 0..500 {
            pickle = pickle.text(&format!("m{member}")).raw(b"h").raw(&[level - 1]);
        }
        pickle = pickle.raw(b"u");
    }
    let reading = read_soon("settings.pickle", &pickle.raw(b"u.").0, &Limits::default());
    assert!(serde_json::to_string(&reading.evidence).expect("JSON").len() < 1 << 20);

    // Blocks of the old form: all of them have the same history of 100 000 members.
    let mut pickle = Pickle::new()
        .text("segments")
        .raw(b"0}(")
        .text("history")
        .raw(b"](}q\x02(");
    for member in 0..100_000 {
        pickle = pickle.number(member).raw(b"K\x00");
    }
    pickle = pickle
        .raw(b"ueq\x01")
        .text("segments")
        .raw(b"](}(")
        .text("total_size")
        .raw(b"K\x01")
        .text("blocks")
        .raw(b"](");
    for _ in 0..100_000 {
        pickle = pickle
            .raw(b"}(")
            .text("size")
            .raw(b"K\x01")
            .text("state")
            .text("inactive")
            .text("history")
            .raw(b"h\x01u");
    }
    let reading = read_soon("history.pickle", &pickle.raw(b"eueu.").0, &Limits::default());
    assert_eq!(reading.evidence.memory_snapshots[0].blocks, 100_000);
}

#[test]
fn devices_beyond_any_machine() {
    let mut pickle = Pickle::new().raw(b"}(").text("segments").raw(b"](");
    for device in 0..1000 {
        pickle = pickle
            .raw(b"}(")
            .text("total_size")
            .raw(b"K\x01")
            .text("device")
            .number(device)
            .raw(b"u");
    }
    pickle = pickle.raw(b"e").text("device_traces").raw(b"](");
    for _ in 0..1000 {
        pickle = pickle
            .raw(b"](}(")
            .text("action")
            .text("alloc")
            .text("size")
            .raw(b"K\x01ue");
    }
    let reading = check(
        "devices.pickle",
        &pickle.raw(b"eu.").0,
        &Limits::default(),
        "limit-devices",
    );
    assert_eq!(reading.evidence.memory_snapshots.len(), 64);
}

#[test]
fn memos_and_folds_count() {
    let limits = Limits {
        pickle_values: 20_000,
        ..Limits::default()
    };
    // Numbers memoized and dropped; blocks, live allocations and stacks that were folded away.
    let memo = Pickle(b"\x80\x04".to_vec()).raw(&b"K\x01\x940".repeat(100_000));
    assert_eq!(
        load(memo.0.as_slice(), &limits, &mut Keep).problems[0].code,
        "limit-pickle-values"
    );
    let mut blocks = Pickle::new()
        .raw(b"}(")
        .text("segments")
        .raw(b"](}(")
        .text("blocks")
        .raw(b"](");
    let mut allocations = Pickle::new().raw(b"}(").text("device_traces").raw(b"](](");
    for address in 0..50_000 {
        blocks = blocks
            .raw(b"}(")
            .text("size")
            .raw(b"K\x01")
            .text("state")
            .text("inactive")
            .raw(b"u");
        allocations = allocations
            .raw(b"}(")
            .text("action")
            .text("alloc")
            .text("addr")
            .number(address);
        allocations = allocations.text("size").raw(b"K\x01u");
    }
    check("blocks.pickle", &blocks.0, &limits, "limit-pickle-values");
    check("allocations.pickle", &allocations.0, &limits, "limit-pickle-values");
}

#[test]
fn recorders_that_repeat_themselves() {
    // Sizes: a list of 100 000 lists of 100 000 numbers, which every entry has, each behind a number of its own.
    let mut pickle = Pickle::new()
        .raw(b"}(")
        .text("pg_config")
        .raw(b"}")
        .text("entries")
        .raw(b"](](");
    pickle = pickle
        .raw(&b"K\x07".repeat(100_000))
        .raw(b"eq\x00](")
        .raw(&b"h\x00".repeat(100_000))
        .raw(b"eq\x010");
    for entry in 0..20_000 {
        pickle = pickle
            .raw(b"}(")
            .text("input_sizes")
            .raw(b"](")
            .number(entry)
            .raw(b"h\x01e");
        pickle = pickle
            .text("pg_id")
            .number(entry)
            .text("record_id")
            .number(entry)
            .raw(b"u");
    }
    let pickle = pickle.raw(b"eu.");
    let reading = check("nccl_trace_rank_0", &pickle.0, &Limits::default(), "limit-recorder");
    assert_eq!(reading.evidence.recorders.len(), 1);
    let limits = Limits {
        events: 100,
        ..Limits::default()
    };
    check("nccl_trace_rank_0", &pickle.0, &limits, "limit-events");

    // One list of 100 000 ranks, which 10 000 groups have.
    let ranks: Vec<String> = (0..100_000).map(|rank| rank.to_string()).collect();
    let mut pickle = Pickle::new()
        .text("pg_config")
        .raw(b"0(")
        .text("ranks")
        .raw(b"q\x00")
        .text(&ranks.join(", "))
        .raw(b"q\x01");
    pickle = pickle
        .raw(b"1}(")
        .text("entries")
        .raw(b"]")
        .text("pg_config")
        .raw(b"}(");
    for group in 0..10_000 {
        pickle = pickle.text(&group.to_string()).raw(b"}(h\x00h\x01u");
    }
    check(
        "nccl_trace_rank_0",
        &pickle.raw(b"uu.").0,
        &Limits::default(),
        "limit-recorder",
    );
}
