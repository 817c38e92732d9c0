//! Exact places in a report, as citations and problems name them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A place in an artifact. In JSON one of `{"line":[a,b]}`, `{"frame":{"thread":…,"index":…}}`, `{"event":n}`,
/// `{"bytes":[a,b]}`, `{"fact":"json.pointer"}`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Lines `a` to `b` of a text artifact, both included, counted from 1.
    #[schema(value_type = (u64, u64))]
    Line([u64; 2]),
    /// A frame of a thread.
    Frame(FramePlace),
    /// The number of an event in the timeline ([`crate::Event::event`]).
    Event(usize),
    /// Bytes `a` up to, not including, `b` of the artifact as stored.
    #[schema(value_type = (u64, u64))]
    Bytes([u64; 2]),
    /// A dotted path into the report's evidence, such as `memory_snapshots.0.reserved`.
    Fact(String),
}

/// A frame by its thread and its index there, innermost first.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
pub struct FramePlace {
    /// [`crate::Thread::id`] of a thread of the same artifact.
    pub thread: ThreadId,
    /// Index into [`crate::Thread::frames`].
    pub index: usize,
}

/// Names a thread within its artifact.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum ThreadId {
    /// The operating system's thread id.
    Os(u32),
    /// Where the artifact has no such number: a pthread handle as hex (faulthandler prints those), or an ordinal
    /// such as `traceback-1`.
    Label(String),
}

impl std::fmt::Display for ThreadId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Os(id) => write!(f, "{id}"),
            Self::Label(label) => f.write_str(label),
        }
    }
}
