//! Made from the evidence model by `make contract`: mend the type there, and not here.

use serde::Deserialize;

/// A frame by its thread and its index there, innermost first.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct FramePlace {
    /// `crate::Thread::id` of a thread of the same artifact.
    pub thread: ThreadId,
    /// Index into `crate::Thread::frames`.
    pub index: u64,
}

/// An address, offset or 64-bit identifier. In JSON: `"0x7f0aab1c1740"`.
pub type Hex = String;

/// A place in an artifact. In JSON one of `{"line":[a,b]}`, `{"frame":{"thread":…,"index":…}}`, `{"event":n}`,
/// `{"bytes":[a,b]}`, `{"fact":"json.pointer"}`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Place {
    /// Lines `a` to `b` of a text artifact, both included, counted from 1.
    pub line: Option<[u64; 2]>,
    /// A frame of a thread.
    pub frame: Option<FramePlace>,
    /// The number of an event in the timeline (`crate::Event::event`).
    pub event: Option<u64>,
    /// Bytes `a` up to, not including, `b` of the artifact as stored.
    pub bytes: Option<[u64; 2]>,
    /// A dotted path into the report's evidence, such as `memory_snapshots.0.reserved`.
    pub fact: Option<String>,
}

/// Names a thread within its artifact.
pub type ThreadId = serde_json::Value;
