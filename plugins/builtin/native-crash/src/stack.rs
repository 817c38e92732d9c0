//! The crashed thread's frames, and which of them mean something.

use whycrash_plugin::{Citation, Frame, Owner, Walk, frames};

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

    /// The frame that people should look at first: the program's own before a library's.
    pub fn lead(&self) -> Option<&(u32, Frame)> {
        let lead = frames::lead(self.frames.iter().map(|(_, frame)| frame))?;
        self.frames.get(lead)
    }

    /// The innermost frame that is not machinery: of the program, or of a library that it called.
    pub fn meaningful(&self) -> Option<&(u32, Frame)> {
        self.frames
            .iter()
            .find(|(_, frame)| frame.owner() != Owner::Machinery)
            .or_else(|| self.lead())
    }

    /// The frame that the signal interrupted, whoever it is of.
    pub fn innermost(&self) -> Option<&(u32, Frame)> {
        self.frames.first()
    }

    /// The first frame with a function of which one of these is a part.
    pub fn with(&self, parts: &[&str]) -> Option<&(u32, Frame)> {
        self.frames
            .iter()
            .find(|(_, frame)| function(frame).is_some_and(|name| parts.iter().any(|part| name.contains(part))))
    }

    /// How many frames have a function with one of these in its name.
    pub fn count(&self, parts: &[&str]) -> usize {
        let is_one = |(_, frame): &&(u32, Frame)| {
            function(frame).is_some_and(|name| parts.iter().any(|part| name.contains(part)))
        };
        self.frames.iter().filter(is_one).count()
    }

    pub fn cite(&self, (index, frame): &(u32, Frame)) -> Citation {
        self.walk.cite(*index, frame)
    }

    /// Citations of the frame that leads and of the innermost one that means something.
    pub fn proof(&self) -> Vec<Citation> {
        self.lead()
            .into_iter()
            .chain(self.meaningful())
            .map(|frame| self.cite(frame))
            .collect()
    }

    /// Where it happened: `f (a.cpp:22), called by g (a.cpp:30), on thread 4711; it had called h in liblib.so`.
    pub fn place(&self) -> String {
        let Some(lead) = self.lead().or_else(|| self.innermost()) else {
            return format!("a stack without frames, on thread {}", self.thread());
        };
        let callers = self
            .frames
            .iter()
            .filter(|(index, frame)| *index > lead.0 && frame.owner() != Owner::Machinery)
            .take(2);
        let mut place = describe(&lead.1);
        for (_, caller) in callers {
            place.push_str(", called by ");
            place.push_str(&describe(caller));
        }
        let called = self.meaningful().filter(|frame| frame.0 < lead.0);
        let called = called.map_or_else(String::new, |(_, frame)| format!("; it had called {}", describe(frame)));
        format!("{place}, on thread {}{called}", self.thread())
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
