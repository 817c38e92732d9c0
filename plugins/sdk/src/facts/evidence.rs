//! Made from the evidence model by `make contract`: mend the type there, and not here.

use serde::Deserialize;

use super::{Hex, Place, ThreadId};

/// How a process ended, from the most direct witness in the report.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Crash {
    /// Signal name, such as `SIGSEGV`.
    pub signal: Option<String>,
    /// Exit code of a process that ended by itself.
    pub exit_code: Option<i32>,
    /// The signal's code by name, such as `SEGV_MAPERR` or `SI_TKILL` (signal(7), `siginfo_t`).
    pub code: Option<String>,
    /// Who sent the signal, where a process did: itself, when it raised it, or another one.
    pub sender: Option<SignalSender>,
    /// Address the fault was about, where the kernel gave one.
    pub address: Option<Hex>,
    /// What that address tells, such as `null`, `unmapped`, `guard-page`, `read-only`, `non-canonical`, `not-code`.
    pub address_kind: Option<String>,
    /// `read`, `write` or `execute`, where known.
    pub access: Option<String>,
    /// What the instruction at a SIGFPE could not do: of a division `zero-divisor`, or `quotient-overflow` when the
    /// result does not fit, as its operands tell (the kernel has one code for both); `floating-point` for an operation
    /// of which no more is known.
    pub arithmetic: Option<String>,
    /// The bytes of code at the faulting instruction as lower-case hex (16 at most), where the core or a binary has
    /// them.
    pub instruction: Option<String>,
    /// The thread the signal was delivered to.
    pub thread: Option<ThreadId>,
    /// Process id.
    pub pid: Option<u32>,
    /// Rank of the process, where it is one of a distributed job and somebody saw it end or hang.
    pub rank: Option<u32>,
    /// Name of the executable.
    pub process: Option<String>,
    /// Last words found in memory or in the log, such as glibc's abort message or a C++ `what()`.
    pub message: Option<String>,
    /// Where in a dump the message was found, such as `__abort_msg of libc.so.6` or `exception in memory`; absent for
    /// one from a log.
    pub message_source: Option<String>,
    /// The artifact that says so.
    pub artifact: String,
    /// Where in that artifact, when it is text.
    pub at: Option<Place>,
}

/// Values of a series that are no numbers.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct NonFinite {
    /// The first of them: `nan`, `inf` or `-inf`.
    pub value: String,
    /// Its step, where steps were logged.
    pub step: Option<u64>,
    /// Where it stands.
    pub at: Option<Place>,
    /// How many there are.
    pub count: u64,
    /// How many of them end the series: 0 where a number came last.
    pub to_the_end: u64,
    /// Step from which on nothing but these came, where steps were logged.
    pub from_step: Option<u64>,
}

/// One number that was logged again and again, such as a loss: what became of it from step to step. Values are finite;
/// what was no number is in `non_finite`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Series {
    /// As it was logged, such as `train/loss`; members of members are joined by a dot.
    pub name: String,
    /// The artifact that has it.
    pub artifact: String,
    /// How many values there are, those that are no numbers included.
    pub count: u64,
    /// Step of the first value, where steps were logged.
    pub first_step: Option<u64>,
    /// Step of the last value.
    pub last_step: Option<u64>,
    /// The first finite value.
    pub first: Option<f64>,
    /// The last finite value.
    pub last: Option<f64>,
    /// The least finite value.
    pub min: Option<f64>,
    /// The greatest finite value.
    pub max: Option<f64>,
    /// How much it grows a step, where it grew steadily over its last half; a row counts as a step where none was
    /// logged.
    pub growth: Option<f64>,
    /// The values that are no numbers, if there are any.
    pub non_finite: Option<NonFinite>,
    /// The series in at most 64 points of step (or row) and value, each the mean of the finite values that it stands for.
    pub points: Vec<SeriesPoint>,
}

/// A point of a series.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct SeriesPoint {
    /// Its step; its number in the series where no steps were logged.
    pub step: f64,
    /// Its value.
    pub value: f64,
}

/// The process that sent a signal (`siginfo_t`).
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct SignalSender {
    /// Its process id, as the one that got the signal numbers it; 0 for a process outside of its container.
    pub pid: u32,
    /// The user that it ran as.
    pub uid: u32,
}
