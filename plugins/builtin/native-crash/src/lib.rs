//! Why a process died of a fatal signal in host code.
//!
//! The rules go from what says the cause in words (sanitizer reports, last words of an abort) to what has to be
//! concluded from the fault and the innermost meaningful frames. Where these do not decide, nothing is claimed, and the
//! answer says what to collect.

mod abort;
mod deadlock;
mod fault;
mod gil;
mod known;
mod lost;
mod oom_killer;
mod sanitizer;
mod scene;
mod segv;
mod sent;
mod stack;

use whycrash_plugin::{Diagnosis, Finding, Info, Needs, Plugin, Report};

use crate::scene::Scene;

struct NativeCrash;

/// Every cause it can name.
const CAUSES: [&str; 38] = [
    "abi-import-order-segv",
    "abrt-assert",
    "abrt-called",
    "abrt-heap-corruption",
    "abrt-pure-virtual",
    "abrt-rust-panic",
    "abrt-stack-smash",
    "abrt-uncaught-exception",
    "bus-file-truncated",
    "ddp-detail-logger-segv",
    "fpe-arithmetic",
    "fpe-float-trap",
    "fpe-integer-division",
    "fpe-integer-overflow",
    "hang-lock-order",
    "hang-no-progress",
    "host-oom-killer",
    "ill-trap",
    "ill-unsupported-instruction",
    "kill-sigkill",
    "op-terminated",
    "seg-autograd-deep-graph",
    "seg-buffer-freed-under-tensor",
    "seg-cudaipc-recursion",
    "seg-exec-null",
    "seg-fault",
    "seg-gil-violation",
    "seg-libcuda",
    "seg-libnccl",
    "seg-multiprocess-fork-gpu",
    "seg-null-deref",
    "seg-oob-read-write",
    "seg-stack-overflow",
    "seg-unmapped",
    "seg-use-after-free",
    "seg-user-ctypes",
    "seg-wild-pointer",
    "seg-write-readonly",
];

impl Plugin for NativeCrash {
    fn about() -> Info {
        Info::new("native-crash", env!("CARGO_PKG_VERSION"))
            .names(CAUSES)
            .needs(Needs::any_of([
                "crash",
                "event:fatal-python-error",
                "event:native-abort",
                "event:sanitizer",
                "event:kernel",
                // A debugger that was attached to a process that hung.
                "threads",
            ]))
    }

    fn diagnose(report: &Report) -> Result<Diagnosis, String> {
        let scene = Scene::of(report);
        let rules: [fn(&Scene) -> Option<Verdict>; 11] = [
            deadlock::proved,
            sent::rule,
            sanitizer::rule,
            known::rule,
            abort::rule,
            segv::rule,
            fault::rule,
            oom_killer::rule,
            deadlock::rule,
            deadlock::likely,
            deadlock::standing,
        ];
        Ok(match rules.iter().find_map(|rule| rule(&scene)) {
            Some(Verdict::Found(finding)) => finding.into(),
            Some(Verdict::Likely(finding, next)) => wanting(finding.into(), next),
            Some(Verdict::Undecided(next)) => wanting(Diagnosis::nothing(), next),
            None => Diagnosis::nothing(),
        })
    }
}

fn wanting(diagnosis: Diagnosis, next: Vec<Collect>) -> Diagnosis {
    next.into_iter().fold(diagnosis, |diagnosis, next| {
        diagnosis.collect(next.artifact, next.how, next.between.iter().copied())
    })
}

/// What a rule concluded.
enum Verdict {
    /// The cause.
    Found(Finding),
    /// The likeliest cause, and what would make sure of it.
    Likely(Finding, Vec<Collect>),
    /// The rule is the right one, and the evidence does not decide.
    Undecided(Vec<Collect>),
}

/// An artifact that would decide.
struct Collect {
    artifact: &'static str,
    how: &'static str,
    between: &'static [&'static str],
}

impl Collect {
    /// A core dump: the fault's address and the native frames.
    fn core(between: &'static [&'static str]) -> Self {
        Self {
            artifact: "core dump",
            how: "run it under `whycrash run`, or with `ulimit -c unlimited` and a core_pattern that writes a file, and without \
                  faulthandler for the true fault address",
            between,
        }
    }

    /// An `AddressSanitizer` report: who freed the memory, or where it ends.
    fn asan(between: &'static [&'static str]) -> Self {
        Self {
            artifact: "AddressSanitizer report",
            how: "build the extension with -fsanitize=address -g and run with LD_PRELOAD=$(gcc -print-file-name=libasan.so) \
                  ASAN_OPTIONS=detect_leaks=0",
            between,
        }
    }

    /// What the process printed last.
    fn stderr(between: &'static [&'static str]) -> Self {
        Self {
            artifact: "standard error",
            how: "keep the process's standard error beside the core, as `whycrash run` does: the C library, C++ and Rust print \
                  their reason there before they abort",
            between,
        }
    }
}

whycrash_plugin::export!(NativeCrash);
