//! Logs of nothing but failures: what repeats is counted, what differs is bounded, and nothing of another kind is lost.

use std::fmt::Write;
use std::time::Instant;

use serde_json::Map;
use whycrash_evidence::model::{Event, EventPayload, Place};
use whycrash_evidence::{Evidence, Limits, Reading, merge, read};

use crate::support::artifact;

fn reading(text: &str) -> Reading {
    let (artifact, _keep) = artifact("job.log", text.as_bytes());
    read(&artifact, &Limits::default())
}

fn events(text: &str) -> Vec<Event> {
    let reading = reading(text);
    assert_eq!(reading.problems, [], "{:?}", text.lines().next());
    reading.evidence.timeline
}

/// A word for a number, in letters: a text that differs in words differs.
fn word(mut number: u32) -> String {
    let mut word = String::from("w");
    while number > 0 {
        word.push(char::from(b'g' + (number % 20) as u8));
        number /= 20;
    }
    word
}

fn traceback(function: &str, said: &str) -> String {
    format!(
        "Traceback (most recent call last):\n  File \"/job/train.py\", line 7, in {function}\n    step()\nValueError: {said}\n"
    )
}

#[test]
fn what_is_told_again_is_one_event_with_its_last_place_and_time() {
    let line = |second: u32| {
        format!(
            "2026-11-21 09:{:02}:{:02},123 ERROR CUDA error: an illegal memory access was encountered at 0x7f{second:08x}\n",
            second / 60,
            second % 60
        )
    };
    let text: String = (0..3000).map(line).collect();
    let events = events(&text);
    let [event] = &events[..] else {
        panic!("{} events", events.len())
    };
    assert_eq!((event.count, &event.at), (3000, &Some(Place::Line([1, 1]))));
    assert_eq!(event.last_at, Some(Place::Line([3000, 3000])));
    assert_eq!(event.time.as_deref(), Some("2026-11-21T09:00:00.123Z"));
    assert_eq!(event.last_time.as_deref(), Some("2026-11-21T09:49:59.123Z"));
}

#[test]
fn tracebacks_that_differ_in_numbers_of_their_messages_are_one_with_one_stack() {
    let text: String = (0..2000)
        .map(|n| traceback("fetch", &format!("item {n} is broken")))
        .collect();
    let reading = reading(&text);
    let [event] = &reading.evidence.timeline[..] else {
        panic!("{} events", reading.evidence.timeline.len())
    };
    assert_eq!((event.count, reading.evidence.threads.len()), (2000, 1));
    assert_eq!(event.at, Some(Place::Line([1, 4])));
    assert_eq!(event.last_at, Some(Place::Line([7997, 8000])));
    assert_eq!(event.text, "ValueError: item 0 is broken");
}

#[test]
fn ranks_have_events_of_their_own_even_where_their_lines_mix() {
    let mut text = String::new();
    for time in 0..50 {
        for line in traceback("fetch", &format!("item {time}")).lines() {
            for rank in 0..4 {
                let _ = writeln!(text, "[rank{rank}]: {line}");
            }
        }
    }
    let events = events(&text);
    let told: Vec<_> = events.iter().map(|event| (event.rank, event.count)).collect();
    assert_eq!(told, [(Some(0), 50), (Some(1), 50), (Some(2), 50), (Some(3), 50)]);
}

#[test]
fn what_a_diagnosis_goes_by_tells_events_apart() {
    let mut text = String::new();
    for n in 0..400 {
        let xid = [31, 79][n % 2];
        let gpu = n % 4;
        let _ = writeln!(
            text,
            "[{n}.000001] NVRM: Xid (PCI:0000:0{gpu}:00): {xid}, pid=100, name=python, Ch {n:08}"
        );
        let _ = writeln!(
            text,
            "CUDA out of memory. Tried to allocate {}.00 GiB and failed",
            1 + n % 3
        );
        let _ = writeln!(
            text,
            "run.sh: line 3:  4711 {}   python train.py",
            ["Killed", "Aborted"][n % 2]
        );
    }
    let events = events(&text);
    let of = |kind| events.iter().filter(|event| event.payload.kind() == kind).count();
    assert_eq!((of("xid"), of("cuda-oom"), of("process-exit")), (4, 3, 2));
    assert_eq!(events.iter().map(|event| event.count).sum::<u64>(), 1200);
    let xid = events.iter().find_map(|event| match &event.payload {
        EventPayload::Xid(xid) => Some(xid.count),
        _ => None,
    });
    assert_eq!(xid, Some(100));
}

#[test]
fn what_was_survived_does_not_swallow_the_time_that_it_was_not() {
    let progress = "step 1 | loss 2\nstep 2 | loss 2\nstep 3 | loss 2\n";
    let text = format!("{}{progress}", traceback("fetch", "item 1")).repeat(30) + &traceback("fetch", "item 2");
    let told: Vec<_> = events(&text)
        .iter()
        .map(|event| (event.survived, event.count))
        .collect();
    assert_eq!(told, [(true, 30), (false, 1)]);
}

#[test]
fn a_flood_of_one_kind_hides_neither_another_kind_nor_the_end() {
    let mut text = String::new();
    for n in 0..150_000 {
        let _ = writeln!(text, "CUDA error: {} {}", word(n), word(n / 7));
        if n == 140_000 {
            text += "[7.000001] NVRM: Xid (PCI:0000:07:00): 79, pid=100, name=python, GPU has fallen off the bus.\n";
        }
    }
    text += &traceback("main", "the end");
    let reading = reading(&text);
    let kinds: Vec<&str> = reading
        .evidence
        .timeline
        .iter()
        .map(|event| event.payload.kind())
        .collect();
    assert!(kinds.contains(&"xid"), "the other kind is told");
    assert_eq!(kinds.last(), Some(&"python-exception"), "the end is told");
    let last_error = reading
        .evidence
        .timeline
        .iter()
        .rfind(|event| event.payload.kind() == "cuda-error");
    assert_eq!(
        last_error.and_then(|event| event.at.clone()),
        Some(Place::Line([150_001, 150_001]))
    );
    check_bounds(&reading);
    assert!(codes(&reading).contains(&"limit-text-work"), "{:?}", reading.problems);
}

#[test]
fn what_differs_in_numbers_is_counted_to_the_end_however_much_there_is() {
    let mut text = String::new();
    for n in 0..120_000_u32 {
        let rank = n % 8;
        let _ = writeln!(
            text,
            "E1121 09:53:46.{n:09} {} Proc.cpp:616] [Rank {rank}] Watchdog caught collective operation timeout: \
             WorkNCCL(SeqNum={n}, OpType=ALLREDUCE, NumelIn={n}, NumelOut={n}, Timeout(ms)=600000) ran for 600083 \
             milliseconds before timing out.",
            4000 + rank
        );
        if n == 110_000 {
            text += "RuntimeError: [3] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value \
                     store by key '0', but store->get('0') got error: wait timeout after 600000ms, keys: /default_pg/0//0\n";
        }
    }
    let reading = reading(&text);
    check_bounds(&reading);
    assert!(!codes(&reading).contains(&"limit-text-work"), "{:?}", reading.problems);
    let left_out = reading.problems.iter().find(|problem| problem.code == "limit-events");
    let numbers = left_out
        .iter()
        .flat_map(|problem| problem.message.split(|c: char| !c.is_ascii_digit()));
    let numbers: Vec<u64> = numbers.filter_map(|number| number.parse().ok()).collect();
    let [left_out, kept] = numbers[..] else {
        panic!("{:?}", reading.problems)
    };
    assert_eq!(left_out + kept, 120_001, "every line is told, or counted");
    let kinds = reading.evidence.timeline.iter().map(|event| event.payload.kind());
    assert!(
        kinds.into_iter().any(|kind| kind == "rendezvous"),
        "the other kind is told"
    );
}

fn codes(reading: &Reading) -> Vec<&str> {
    reading.problems.iter().map(|problem| problem.code.as_str()).collect()
}

/// A log's evidence is no larger than a page can show, and what is left out is said.
fn check_bounds(reading: &Reading) {
    let bytes = serde_json::to_vec(&reading.evidence).expect("JSON").len();
    assert!(bytes < 1 << 20, "{bytes} bytes");
    let counts = codes(reading).into_iter().filter(|code| code.starts_with("limit-"));
    assert!(counts.count() > 0, "{:?}", reading.problems);
}

#[test]
fn stacks_without_number_give_the_first_and_the_last() {
    let text: String = (0..20_000).map(|n| traceback(&word(n), &word(n))).collect();
    let reading = reading(&text);
    check_bounds(&reading);
    let said = |event: Option<&Event>| event.map(|event| event.text.clone());
    let timeline = &reading.evidence.timeline;
    assert_eq!(said(timeline.first()), Some(format!("ValueError: {}", word(0))));
    assert_eq!(said(timeline.last()), Some(format!("ValueError: {}", word(19_999))));
}

#[test]
fn a_traceback_that_never_ends_is_cut() {
    let mut text = String::from("Traceback (most recent call last):\n");
    for n in 0..150_000 {
        let _ = writeln!(text, "  File \"/job/some/where/deep/inside/{n}.py\", line {n}, in f");
    }
    let reading = reading(&text);
    check_bounds(&reading);
    assert_eq!(reading.evidence.timeline[0].payload.kind(), "python-exception");
}

/// Seconds to read and merge a log of so many failures of every kind.
fn seconds(failures: u32) -> f64 {
    let mut text = String::new();
    for n in 0..failures {
        text += &traceback(&word(n), &word(n));
        let _ = writeln!(text, "[rank{}]: CUDA error: {}", n % 64, word(n));
        let _ = writeln!(
            text,
            "[rank{}]: RuntimeError: Connection closed by peer [10.0.0.1]:{n}",
            n % 64
        );
        let _ = writeln!(text, "DataLoader worker (pid {n}) is killed by signal: Killed.");
    }
    let started = Instant::now();
    let evidence: Evidence = reading(&text).evidence;
    let parts = vec![evidence; 4];
    assert!(!merge(parts, Map::new()).timeline.is_empty());
    started.elapsed().as_secs_f64()
}

#[test]
fn eight_times_the_failures_do_not_take_the_square_of_it() {
    let (few, many) = (seconds(1_000), seconds(8_000));
    assert!(many < few * 24.0 + 0.5, "{few} s, then {many} s");
}
