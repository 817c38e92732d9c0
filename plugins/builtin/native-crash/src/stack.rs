//! The crashed thread's frames, and which of them mean something.

use whycrash_plugin::{Citation, Frame, Walk};

/// Frames looked at: enough for any stack but a runaway recursion, of which this many show the pattern.
const FRAMES: usize = 512;

/// Frames of one kind of a crashed thread, innermost first.
pub struct Stack<'a> {
    walk: Walk<'a>,
    /// From the frame on which the signal came; what is inside of it is the handler's.
    pub frames: Vec<(u32, Frame)>,
    /// Frames of the thread altogether, those that were left out included.
    pub depth: u64,
}

impl<'a> Stack<'a> {
    pub fn new(walk: Walk<'a>, kind: &str) -> Option<Self> {
        let depth = u64::from(walk.thread.frames) + walk.thread.omitted;
        let mut frames: Vec<(u32, Frame)> = walk.frames().take(FRAMES).collect();
        if let Some(interrupted) = frames.iter().rposition(|(_, frame)| frame.signal) {
            frames.drain(..interrupted);
        }
        frames.retain(|(_, frame)| frame.kind == kind);
        (!frames.is_empty()).then_some(Self { walk, frames, depth })
    }

    pub fn thread(&self) -> &str {
        &self.walk.thread.id
    }

    /// The first frame that is neither the machinery of dying nor the C library's: what a person would look at first.
    pub fn meaningful(&self) -> Option<&(u32, Frame)> {
        self.frames
            .iter()
            .find(|(_, frame)| !is_machinery(frame) && !is_library(frame))
    }

    /// The first frame that is not the machinery of dying.
    pub fn fault(&self) -> Option<&(u32, Frame)> {
        self.frames.iter().find(|(_, frame)| !is_machinery(frame))
    }

    /// The first frame with a function of which one of these is a part.
    pub fn with(&self, parts: &[&str]) -> Option<&(u32, Frame)> {
        self.frames
            .iter()
            .find(|(_, frame)| function(frame).is_some_and(|name| parts.iter().any(|part| name.contains(part))))
    }

    pub fn cite(&self, (index, frame): &(u32, Frame)) -> Citation {
        self.walk.cite(*index, frame)
    }

    /// Citations of the fault's frame and of the meaningful one.
    pub fn proof(&self) -> Vec<Citation> {
        self.fault()
            .into_iter()
            .chain(self.meaningful())
            .map(|frame| self.cite(frame))
            .collect()
    }

    /// Where it happened: `f (a.cpp:22), called by g (a.cpp:30), on thread 4711`.
    pub fn place(&self) -> String {
        let mut place = String::new();
        let fault = self.fault().map(|(index, _)| *index);
        let shown = self
            .frames
            .iter()
            .filter(|(index, _)| fault.is_some_and(|fault| *index >= fault))
            .take(3);
        for (number, (_, frame)) in shown.enumerate() {
            if number > 0 {
                place.push_str(", called by ");
            }
            place.push_str(&describe(frame));
        }
        format!("{place}, on thread {}", self.thread())
    }
}

/// A frame in words: `f (a.cpp:22)`, or `an unnamed function in libfoo.so`.
pub fn describe(frame: &Frame) -> String {
    let name = frame
        .function
        .as_ref()
        .map_or_else(|| "an unnamed function".to_owned(), |name| format!("`{}`", short(name)));
    match (&frame.file, frame.line, module(frame)) {
        (Some(file), Some(line), _) => format!("{name} ({}:{line})", base(file)),
        (_, _, Some(module)) => format!("{name} in {module}"),
        _ => name,
    }
}

/// A demangled name without what fills lines of it.
fn short(name: &str) -> String {
    const LONGEST: usize = 120;
    let front = whycrash_plugin::cut(name, LONGEST);
    if front.len() < name.len() {
        format!("{front}…")
    } else {
        name.to_owned()
    }
}

pub fn function(frame: &Frame) -> Option<&str> {
    frame.function.as_deref()
}

/// File name of the binary.
pub fn module(frame: &Frame) -> Option<&str> {
    frame.module.as_deref().map(base)
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Functions that only carry out the dying: signals sent, messages printed, stacks unwound.
const MACHINERY: [&str; 28] = [
    "raise",
    "abort",
    "gsignal",
    "kill",
    "tgkill",
    "pthread_kill",
    "__pthread_kill",
    "__GI_",
    "__libc_message",
    "__assert_fail",
    "__assert_perror_fail",
    "malloc_printerr",
    "__fortify_fail",
    "__stack_chk_fail",
    "__libc_fatal",
    "__libc_signal_restore_set",
    "faulthandler_",
    "std::terminate",
    "__gnu_cxx::__verbose_terminate_handler",
    "__cxxabiv1::",
    "__cxa_",
    "__gxx_personality",
    "_Unwind_",
    "core::panicking",
    "std::panicking",
    "rust_begin_unwind",
    "__rust_",
    "std::process::abort",
];

pub fn is_machinery(frame: &Frame) -> bool {
    function(frame).is_some_and(|name| MACHINERY.iter().any(|start| name.starts_with(start)))
}

/// The C library's and the call interface's own code: it crashes on what it was given.
fn is_library(frame: &Frame) -> bool {
    let library = module(frame).is_some_and(|name| {
        [
            "libc.so",
            "libc-",
            "libm.so",
            "libpthread",
            "ld-linux",
            "libffi",
            "libgcc_s",
        ]
        .iter()
        .any(|start| name.starts_with(start))
    });
    let name = function(frame).unwrap_or_default().trim_start_matches('_');
    let string = ["mem", "str", "wcs"].iter().any(|start| name.starts_with(start))
        && ["_avx", "_evex", "_sse", "_erms"]
            .iter()
            .any(|variant| name.contains(variant));
    library || string
}
