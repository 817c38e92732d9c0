//! What threads wait for, as the functions on their stacks tell.

use whycrash_frames::{CALLS, Names, SystemCall, WAITS, Wait, Waiting, blocked_event_loop, wait};

/// `function (place), function (place)`: frames, innermost first. What lies in a folder, or is frozen, is of Python.
fn stack(text: &str) -> Vec<Names<'_>> {
    let frames = text.split_inclusive(')').map(|frame| frame.trim_start_matches(", "));
    let whole = text.strip_suffix(')').expect("a place at the end");
    let place = |frame: &str| frame.ends_with(".py)") || frame.ends_with(">)");
    // The parameters of a C++ function have parentheses too.
    let parts: Vec<&str> = if text.contains("std::") {
        whole.split("), ").collect()
    } else {
        frames.map(|frame| frame.trim_end_matches(')')).collect()
    };
    parts
        .into_iter()
        .map(|part| {
            let (function, file) = part.rsplit_once(" (").expect("a function and its place");
            let python = place(&format!("{file})"));
            Names {
                python,
                function: Some(function),
                file: Some(file).filter(|_| python),
                module: Some(file).filter(|_| !python),
            }
        })
        .collect()
}

fn called<'a>(name: &'a str, file: Option<&'a str>) -> SystemCall<'a> {
    SystemCall { name: Some(name), file }
}

#[test]
fn what_is_read_tells_a_pipe_from_a_peer_and_a_file() {
    for (file, what) in [
        (Some("/data/shard.tar"), Wait::File),
        (Some("pipe"), Wait::Pipe),
        (Some("socket"), Wait::Socket),
        (None, Wait::File),
    ] {
        let found = wait(stack("read (libc.so.6), _Py_read (python3.11)"), called("read", file));
        assert_eq!(found.map(|found| found.what), Some(what), "{file:?}");
    }
}

#[test]
fn each_row_knows_its_example_and_the_outermost_row_tells() {
    for row in WAITS {
        let stack = stack(row.example);
        let last = stack.len() - 1;
        let found = wait(stack, SystemCall::default());
        let expected = Waiting {
            what: row.what,
            frame: Some(last),
        };
        assert_eq!(found, Some(expected), "{}", row.example);
    }
}

#[test]
fn a_system_call_tells_where_no_function_does() {
    for (name, what, example) in CALLS {
        let found = wait([], called(name, None)).map(|found| (found.what, found.frame));
        assert_eq!(found, Some((*what, None)), "{example}");
    }
    assert_eq!(wait([], called("system call 999", None)), None);
    let in_lock = stack("sem_wait (libc.so.6), PyThread_acquire_lock_timed (python3.11)");
    assert_eq!(
        wait(in_lock, called("futex", None)).map(|found| found.what),
        Some(Wait::Lock)
    );
}

#[test]
fn frames_below_the_program_say_nothing_about_the_wait() {
    let waits = stack("nanosleep (libc.so.6), load (/job/train.py), get (/usr/lib/python3.11/queue.py)");
    assert_eq!(
        wait(waits, SystemCall::default()).map(|found| (found.what, found.frame)),
        Some((Wait::Sleep, Some(0)))
    );
    assert_eq!(wait(stack("load (/job/train.py)"), SystemCall::default()), None);
}

#[test]
fn a_loop_is_blocked_by_the_program_and_not_by_its_own_select() {
    let blocked = "sleep (libc.so.6), fetch (/job/app.py), _run (/usr/lib/python3.11/asyncio/events.py), _run_once (/usr/lib/python3.11/asyncio/base_events.py)";
    assert_eq!(blocked_event_loop(stack(blocked)), Some(3));
    let idle = "select (/usr/lib/python3.11/selectors.py), _run_once (/usr/lib/python3.11/asyncio/base_events.py), main (/job/app.py)";
    assert_eq!(blocked_event_loop(stack(idle)), None);
}
