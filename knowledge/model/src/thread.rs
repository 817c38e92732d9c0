//! Threads and their frames, native, Python and GPU alike.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Place, ThreadId};
use crate::Hex;

/// One thread of one process, innermost frame first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Thread {
    /// Names the thread within its artifact.
    pub id: ThreadId,
    /// Thread name, where the artifact has it.
    #[serde(default)]
    pub name: Option<String>,
    /// Rank of the process in its job, where known.
    #[serde(default)]
    pub rank: Option<u32>,
    /// Process id, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// True for the thread that got the fatal signal or raised the uncaught exception.
    #[serde(default)]
    pub crashed: bool,
    /// The artifact this stack was read from.
    #[serde(default)]
    pub artifact: String,
    /// Innermost first; an inlined function is a frame of its own.
    #[serde(default)]
    pub frames: Vec<Frame>,
    /// Frames that were left out in the middle of `frames` because the stack is deeper than the cap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames_omitted: Option<u64>,
    /// True where the interpreter's own memory, or who looked at it, says that this thread holds Python's lock.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub holds_gil: bool,
}

/// One call on a stack.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Frame {
    /// Which world the frame is from.
    pub kind: FrameKind,
    /// Demangled name of the function; absent when nothing names the address.
    pub function: Option<String>,
    /// Source file.
    pub file: Option<String>,
    /// Line in `file`, counted from 1.
    pub line: Option<u32>,
    /// That line's text, shortened, where the artifact quotes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Path of the binary the address is in.
    pub module: Option<String>,
    /// That binary's build id as lower-case hex.
    pub build_id: Option<String>,
    /// Offset of the address in the binary (file address as in its symbol table, not a file offset).
    pub offset: Option<Hex>,
    /// Address in the process.
    pub address: Option<Hex>,
    /// True when the function was inlined into the next frame.
    pub inline: bool,
    /// How the frame was found.
    pub trust: Trust,
    /// True for the frame on which a signal interrupted the thread: the frames before it are the handler's.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub signal: bool,
    /// Where in a text artifact the frame stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Place>,
}

/// The world a frame belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FrameKind {
    /// Machine code of the host.
    #[default]
    Native,
    /// A Python function.
    Python,
    /// A GPU kernel or device function.
    Gpu,
}

/// How a frame was found, best first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// From the registers at the moment of the crash.
    Context,
    /// By call frame information (`.eh_frame`, `.debug_frame`).
    Cfi,
    /// Not on the stack at all: the only path of tail calls that leads from its caller to its callee.
    CallSite,
    /// By following frame pointers.
    FramePointer,
    /// A return address found by scanning the stack: a guess.
    Scan,
    /// The artifact is text that lists the frame.
    #[default]
    Reported,
    /// Read from the interpreter's own structures in memory.
    Interpreter,
}
