//! How a process ended.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Place, ThreadId};
use crate::Hex;

/// How a process ended, from the most direct witness in the report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Crash {
    /// Signal name, such as `SIGSEGV`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// Exit code of a process that ended by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal's code by name, such as `SEGV_MAPERR` or `SI_TKILL` (signal(7), `siginfo_t`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Who sent the signal, where a process did: itself, when it raised it, or another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender: Option<SignalSender>,
    /// Address the fault was about, where the kernel gave one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<Hex>,
    /// What that address tells, such as `null`, `unmapped`, `guard-page`, `read-only`, `non-canonical`, `not-code`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address_kind: Option<String>,
    /// `read`, `write` or `execute`, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<String>,
    /// What the instruction at a SIGFPE could not do: of a division `zero-divisor`, or `quotient-overflow` when the
    /// result does not fit, as its operands tell (the kernel has one code for both); `floating-point` for an operation
    /// of which no more is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arithmetic: Option<String>,
    /// The bytes of code at the faulting instruction as lower-case hex (16 at most), where the core or a binary has
    /// them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instruction: Option<String>,
    /// The thread the signal was delivered to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<ThreadId>,
    /// Process id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Rank of the process, where it is one of a distributed job and somebody saw it end or hang.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// Name of the executable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<String>,
    /// Last words found in memory or in the log, such as glibc's abort message or a C++ `what()`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Where in a dump the message was found, such as `__abort_msg of libc.so.6` or `exception in memory`; absent for
    /// one from a log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_source: Option<String>,
    /// The artifact that says so.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub artifact: String,
    /// Where in that artifact, when it is text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Place>,
}

/// The process that sent a signal (`siginfo_t`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct SignalSender {
    /// Its process id, as the one that got the signal numbers it; 0 for a process outside of its container.
    pub pid: u32,
    /// The user that it ran as.
    pub uid: u32,
}

/// One process of a report that tells of several.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// Rank in its job, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// How it ended, where that is known of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crash: Option<Crash>,
    /// What the collector wrote down about it.
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    pub context: serde_json::Map<String, serde_json::Value>,
}

/// A binary mapped into a process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Module {
    /// Path at the time of the crash.
    pub path: String,
    /// Build id as lower-case hex, when its note was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build_id: Option<String>,
    /// Of a minidump's module the id that Breakpad's symbol files have in their first line: GUID and age in upper-case
    /// hex (Breakpad `docs/symbol_files.md`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debug_id: Option<String>,
    /// Lowest address of its mappings.
    pub start: Hex,
    /// End of its highest mapping (exclusive).
    pub end: Hex,
    /// What symbols came from: `debug-file`, `binary`, `symbol-file` (Breakpad), `core`; absent when there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbols: Option<String>,
    /// The artifact that says so.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub artifact: String,
}
