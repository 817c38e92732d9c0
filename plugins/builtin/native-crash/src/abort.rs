//! A process that ended itself, and said why.

use whycrash_plugin::facts::NativeAbort;
use whycrash_plugin::{Citation, Frame, Owner, Told};

use crate::scene::Scene;
use crate::stack::{Stack, function};
use crate::{Collect, Verdict};

pub fn rule(scene: &Scene) -> Option<Verdict> {
    from_fatal_error(scene)
        .or_else(|| from_words(scene))
        .or_else(|| from_message(scene))
        .or_else(|| from_frames(scene))
        .or_else(|| crate::deadlock::rule(scene).filter(|_| aborted(scene)))
        .or_else(|| called(scene))
        .or_else(|| undecided(scene))
}

/// How the interpreter says that it was called without its lock, from 3.8 on.
const WITHOUT_GIL: [&str; 6] = [
    "the function must be called with the GIL held",
    "called without holding the GIL",
    "PyThreadState_Get: no current thread",
    "PyInterpreterState_Get(): no current thread state",
    "PyEval_SaveThread: NULL tstate",
    "must be current when releasing",
];

/// The interpreter itself found that it was called without its lock.
fn from_fatal_error(scene: &Scene) -> Option<Verdict> {
    let fatal = scene.fatal.as_ref()?;
    let words = &fatal.detail.error;
    if !WITHOUT_GIL.iter().any(|said| words.contains(said)) {
        return None;
    }
    let finding = scene
        .finding("seg-gil-violation", 0.95)
        .because(format!(
            "The interpreter stopped the process because its C API was called by a thread that did not hold the GIL: \"{}\"{}.",
            shorten(words),
            scene.place()
        ))
        .cite(scene.report.cite(&fatal.event))
        .cite_all(scene.frames_proof());
    Some(Verdict::Found(finding))
}

/// A line of the log has the last words.
fn from_words(scene: &Scene) -> Option<Verdict> {
    // The first one: what follows is often the consequence, such as `terminate called` while a panic unwinds.
    let told = scene
        .aborts
        .iter()
        .find(|told| cause(&told.detail).is_some() && (is_deadly(&told.detail) || aborted(scene)))?;
    if is_of_end(told) {
        return None;
    }
    if is_messenger(&told.detail) || names_an_error(scene, &told.detail) || follows_an_error(scene, &told.detail) {
        return Some(Verdict::Undecided(Vec::new()));
    }
    let (cause, why) = cause(&told.detail)?;
    let confidence = match told.detail.family.as_str() {
        // What it says may be the sign of a cause: whoever reads it is surer.
        "cpp-exception" | "rust-panic" if !told.detail.message.is_empty() => 0.78,
        _ if aborted(scene) => 0.95,
        _ => 0.88,
    };
    let finding = scene
        .finding(cause, confidence)
        .because(format!("{why}{}.", scene.place()))
        .cite(scene.report.cite(&told.event))
        .cite_all(scene.frames_proof());
    Some(Verdict::Found(finding))
}

/// It follows from something else and says nothing of its own: C++ gives up where threads outlive the interpreter, and
/// after what a watchdog has told.
fn is_of_end(told: &Told<NativeAbort>) -> bool {
    !told.event.primary
        && told.detail.family == "cpp-exception"
        && (told.detail.exception.is_none() || told.detail.message.is_empty())
}

/// The core's memory has the last words: the C library's own, which it keeps for debuggers, or those of an exception.
fn from_message(scene: &Scene) -> Option<Verdict> {
    let message = scene.crash.message.as_deref().filter(|_| aborted(scene))?;
    let source = scene.crash.message_source.as_deref()?;
    let (cause, why) = if source.starts_with("__abort_msg") {
        match_message(message)?
    } else if is_news(message) {
        return Some(Verdict::Undecided(Vec::new()));
    } else {
        // Whatever an exception says is its own affair: "corrupted" is said of files as well.
        let said = shorten(message);
        (
            "abrt-uncaught-exception",
            format!("Nothing caught a C++ exception; it ended the process: \"{said}\""),
        )
    };
    let finding = scene
        .finding(cause, 0.93)
        .because(format!("{why}{}.", scene.place()))
        .cite_all(scene.report.cite_fact("crash.message"))
        .cite_all(scene.frames_proof());
    Some(Verdict::Found(finding))
}

/// The frames between the abort and the program tell who gave up.
fn from_frames(scene: &Scene) -> Option<Verdict> {
    if !aborted(scene) {
        return None;
    }
    let stack = scene.native.as_ref()?;
    let (cause, frame, why) = GAVE_UP
        .iter()
        .find_map(|(cause, functions, why)| Some((*cause, stack.with(functions)?, *why)))
        .or_else(|| {
            Some((
                "abrt-heap-corruption",
                allocator(stack)?,
                "The heap's own bookkeeping was found damaged",
            ))
        })?;
    let finding = scene
        .finding(cause, 0.85)
        .because(format!("{why}{}.", scene.place()))
        .cite(stack.cite(frame))
        .cite_all(scene.frames_proof());
    Some(Verdict::Found(finding))
}

/// The function of the allocator that gave up. The C library's own functions have no names where its symbols are not
/// installed: all between `abort` and `free` are of the library that has both.
fn allocator<'a>(stack: &'a Stack) -> Option<&'a (u32, Frame)> {
    let mut below = stack
        .frames
        .iter()
        .skip_while(|(_, frame)| function(frame) != Some("abort"));
    let library = below.next()?.1.module.as_deref()?;
    let of_library = |frame: &&(u32, Frame)| function(&frame.1).is_none() && frame.1.module.as_deref() == Some(library);
    let caller = below.find(|frame| !of_library(frame))?;
    let is_allocator = |name: &str| ["free", "cfree", "malloc", "realloc", "calloc"].contains(&name);
    function(&caller.1).is_some_and(is_allocator).then_some(caller)
}

/// Python code that called `os.abort`, or what native code was called by it: the interpreter's handler tells the line.
fn called(scene: &Scene) -> Option<Verdict> {
    let by_name = scene
        .native
        .as_ref()
        .and_then(|stack| Some(stack.cite(stack.with(&["os_abort"])?)));
    let fatal = scene.fatal.as_ref().filter(|fatal| fatal.detail.error == "Aborted");
    let caller = by_own_code(scene);
    let (confidence, who) = match (&by_name, &caller, fatal) {
        (Some(_), ..) => (0.9, "The program called os.abort()"),
        (None, Some(_), _) => (0.7, "The program's own code called abort(), and nobody said why"),
        (None, None, Some(_)) => (0.55, "The process aborted itself, and nobody said why"),
        (None, None, None) => return None,
    };
    if !aborted(scene) {
        return None;
    }
    let is_sure = by_name.is_some();
    let finding = scene
        .finding("abrt-called", confidence)
        .because(format!("{who} (SIGABRT){}.", scene.place()))
        .cite_all(by_name)
        .cite_all(caller)
        .cite_all(scene.signal_proof())
        .cite_all(scene.frames_proof());
    Some(if is_sure {
        Verdict::Found(finding)
    } else {
        Verdict::Likely(finding, vec![Collect::stderr(ABORTS)])
    })
}

/// Code of the program right below `abort`, where those who give up for a reason of theirs have a function in between.
fn by_own_code(scene: &Scene) -> Option<Citation> {
    let stack = scene.native.as_ref()?;
    let mut below = stack
        .frames
        .iter()
        .skip_while(|(_, frame)| function(frame) != Some("abort"));
    below.next()?;
    let is_own = |(_, frame): &&(u32, Frame)| frame.owner() == Owner::Program || function(frame) == Some("main");
    below.next().filter(is_own).map(|caller| stack.cite(caller))
}

/// Ways to abort that print why.
const ABORTS: &[&str] = &[
    "abrt-assert",
    "abrt-uncaught-exception",
    "abrt-heap-corruption",
    "abrt-rust-panic",
];

fn undecided(scene: &Scene) -> Option<Verdict> {
    (aborted(scene) && scene.fatal.is_none()).then(|| Verdict::Undecided(vec![Collect::stderr(ABORTS)]))
}

/// Functions that are on the stack of an abort of each kind.
const GAVE_UP: [(&str, &[&str], &str); 6] = [
    (
        "abrt-assert",
        &["__assert_fail", "__assert_perror_fail"],
        "An assertion failed",
    ),
    (
        "abrt-stack-smash",
        &["__stack_chk_fail", "__fortify_fail"],
        "A function found the guard value on its stack overwritten when it returned",
    ),
    (
        "abrt-pure-virtual",
        &["__cxa_pure_virtual"],
        "A pure virtual function was called, on an object that was being made or destroyed",
    ),
    (
        "abrt-heap-corruption",
        &["malloc_printerr"],
        "The heap's own bookkeeping was found damaged",
    ),
    (
        "abrt-rust-panic",
        &["rust_panic", "begin_panic", "core::panicking::"],
        "Rust code panicked",
    ),
    (
        "abrt-uncaught-exception",
        &[
            "std::terminate",
            "__verbose_terminate_handler",
            "__cxxabiv1::__terminate",
            "__cxa_call_terminate",
            "__cxa_throw",
        ],
        "A C++ exception was not caught",
    ),
];

fn aborted(scene: &Scene) -> bool {
    scene.signal() == Some("SIGABRT")
}

/// Whether what was printed always ends the process. A check that failed is often only a Python exception, and a panic
/// only the end of its thread.
fn is_deadly(abort: &NativeAbort) -> bool {
    matches!(
        abort.family.as_str(),
        "glibc" | "assertion" | "cpp-exception" | "pure-virtual" | "pybind11" | "glog-fatal"
    )
}

/// What an exception says when it only carries the news of a failure elsewhere: on the GPU, on another rank, on the
/// network, in a file, or that the system refused a thread.
const NEWS: [&str; 24] = [
    "kIOGPUCommandBufferCallbackError",
    "CUDA error",
    "CUDA Error",
    "Cuda Error",
    "CUBLAS_STATUS_",
    "CUDNN_STATUS_",
    "CUDA runtime error",
    "cudaError",
    "hipError",
    "unspecified launch failure",
    "an illegal memory access",
    "misaligned address",
    "no kernel image",
    "Resource temporarily unavailable",
    "DistBackendError",
    "NCCL",
    "out of memory",
    "gloo",
    "Gloo",
    "enforce fail",
    "PytorchStreamReader failed",
    // Of a processor that lacks what a library was built for.
    "library was compiled to use",
    "Connection",
    "Timed out",
];

fn is_messenger(abort: &NativeAbort) -> bool {
    let words = [abort.exception.as_deref().unwrap_or_default(), &abort.message];
    matches!(abort.family.as_str(), "cpp-exception" | "glog-fatal") && words.iter().any(|text| is_news(text))
}

/// Whether what it says is an error of CUDA, in whatever words the reader knew it by.
fn names_an_error(scene: &Scene, abort: &NativeAbort) -> bool {
    let errors = scene.report.events(Some("cuda-error"), 0, 16);
    abort.family == "cpp-exception"
        && !abort.message.is_empty()
        && errors.iter().any(|error| error.text.contains(&abort.message))
}

/// `assert(0)` behind the text of an error of CUDA: how a program dies that has said already why.
fn follows_an_error(scene: &Scene, abort: &NativeAbort) -> bool {
    abort.family == "assertion"
        && ["0", "false", "NULL"].contains(&abort.message.as_str())
        && !scene.report.events(Some("cuda-error"), 0, 1).is_empty()
}

fn is_news(text: &str) -> bool {
    NEWS.iter().any(|news| text.contains(news))
}

fn cause(abort: &NativeAbort) -> Option<(&'static str, String)> {
    let message = shorten(&abort.message);
    let at = match (&abort.file, abort.line) {
        (Some(file), Some(line)) => format!(" at {file}:{line}"),
        _ => String::new(),
    };
    Some(match abort.family.as_str() {
        "glibc" => return match_message(&abort.message),
        "assertion" if abort.file.as_deref().is_some_and(is_of_allocator) => (
            "abrt-heap-corruption",
            format!("The C library's allocator found the heap damaged: its assertion `{message}` failed{at}"),
        ),
        "assertion" => ("abrt-assert", format!("The assertion `{message}` failed{at}")),
        "torch-check" | "glog-fatal" => ("abrt-assert", format!("A check failed{at}: \"{message}\"")),
        "cpp-exception" => {
            let exception = abort.exception.as_deref().unwrap_or("unknown type");
            let said = if message.is_empty() {
                String::new()
            } else {
                format!(", which says \"{message}\"")
            };
            (
                "abrt-uncaught-exception",
                format!("Nothing caught a C++ exception of type {exception}{said}; it ended the process"),
            )
        }
        "pure-virtual" => (
            "abrt-pure-virtual",
            "A pure virtual function was called, on an object that was being made or destroyed".to_owned(),
        ),
        "rust-panic" => ("abrt-rust-panic", format!("Rust code panicked{at}: \"{message}\"")),
        "pybind11" => (
            "seg-gil-violation",
            format!("pybind11 found Python objects touched without the GIL: \"{message}\""),
        ),
        _ => return None,
    })
}

/// The C library's own messages, by how they begin: the same words inside of another message are about something else.
fn match_message(message: &str) -> Option<(&'static str, String)> {
    let said = shorten(message);
    // Up to glibc 2.26 the program's name stood before.
    let own = said.trim_start_matches("*** ");
    let own = match own.strip_prefix("Error in `") {
        Some(rest) => rest.split_once("': ").map_or(rest, |(_, rest)| rest),
        None => own,
    };
    if ["stack smashing detected", "buffer overflow detected"]
        .iter()
        .any(|words| own.starts_with(words))
    {
        return Some((
            "abrt-stack-smash",
            format!("A function found the memory around its buffers overwritten: \"{said}\""),
        ));
    }
    let heap = [
        "free(): ",
        "malloc(): ",
        "malloc: ",
        "realloc(): ",
        "calloc(): ",
        "double free or corruption",
        "corrupted size vs. prev_size",
        "corrupted double-linked list",
        "munmap_chunk(): ",
        "mremap_chunk(): ",
        "malloc_consolidate(): ",
        "malloc_check_get_size: ",
        "break adjusted to free malloc space",
        "invalid fastbin entry (free)",
    ];
    if heap.iter().any(|words| own.starts_with(words)) {
        return Some((
            "abrt-heap-corruption",
            format!(
                "The C library found the heap damaged: \"{said}\". Something wrote out of bounds or freed twice before that"
            ),
        ));
    }
    if own.contains(": Assertion `") && own.ends_with("' failed.") {
        if own.split(':').any(is_of_allocator) {
            return Some((
                "abrt-heap-corruption",
                format!("The C library's allocator found the heap damaged: \"{said}\""),
            ));
        }
        return Some(("abrt-assert", format!("An assertion failed: \"{said}\"")));
    }
    None
}

/// Whether a source file is one of the C library's allocator, whose assertions are checks of the heap.
fn is_of_allocator(file: &str) -> bool {
    matches!(file.trim().rsplit('/').next(), Some("malloc.c" | "arena.c"))
}

fn shorten(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    whycrash_plugin::cut(line, 300).to_owned()
}
