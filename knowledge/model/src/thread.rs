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
    /// What the thread was doing when somebody looked, as far as that was told or is in the memory of its process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity: Option<Activity>,
}

/// What a thread was doing at the moment of which its stack is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Activity {
    /// Whether it was running, and not waiting for something; absent where nobody looked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<bool>,
    /// The system call that it waited in, by name or number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// What that call was about: the path of an open file, or `pipe` or `socket`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// What it waited for, where the process's memory proves that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub awaits: Option<Awaited>,
}

/// A lock, or the end of a thread, that a thread waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Awaited {
    /// Which of them.
    pub kind: AwaitedKind,
    /// Where the lock, or what the end is told by, is in memory.
    pub address: Hex,
    /// The thread that has to let go of the lock, or to end; absent where memory does not say who that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<ThreadId>,
    /// The frame of the holder that has taken the lock, where it is inside of a `with` statement for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_in: Option<usize>,
}

/// What a thread can be waiting for so that memory tells who has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AwaitedKind {
    /// A mutex of the C library (`pthread_mutex_t`, `std::mutex`), which notes who has it.
    Mutex,
    /// Python's `threading.Lock`, which does not.
    Lock,
    /// Python's `threading.RLock`, which does.
    Rlock,
    /// The end of a thread (`pthread_join`, `Thread.join`).
    Thread,
    /// Something that this version does not know.
    #[serde(other)]
    Other,
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
