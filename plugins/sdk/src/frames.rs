//! Whose frames are, and what threads wait for: the same tables that reports are titled and grouped by.

use whycrash_frames::{Names, Owner, SystemCall, Waiting};

use crate::Frame;

impl Frame {
    /// Whose this frame is, as its names tell: the program's, a library's, or of machinery that stands on every stack.
    pub fn owner(&self) -> Owner {
        whycrash_frames::owner(&self.names())
    }

    fn names(&self) -> Names<'_> {
        Names {
            python: self.kind == "python",
            function: self.function.as_deref(),
            file: self.file.as_deref(),
            module: self.module.as_deref(),
        }
    }
}

/// The frame that people should look at first, of these, innermost first: the innermost frame of the program, else of a
/// library, else where the program was entered.
pub fn lead<'a>(frames: impl IntoIterator<Item = &'a Frame>) -> Option<usize> {
    whycrash_frames::lead(frames.into_iter().map(Frame::names))
}

/// What a thread waits for that has these frames, innermost first, as their functions tell.
pub fn wait<'a>(frames: impl IntoIterator<Item = &'a Frame>) -> Option<Waiting> {
    whycrash_frames::wait(frames.into_iter().map(Frame::names), SystemCall::default())
}
