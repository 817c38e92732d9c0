//! What symbols may cost, and what was left out for it.
//!
//! Stacks, unwinding rules and debug information of a crash are as hostile as the crash itself. Whatever is looked up
//! for one artifact is paid for out of [`whycrash_evidence::Limits::symbol_work`]; every other cap is named here. A cap
//! that is hit becomes a problem, said once.
//!
//! | what | how much | code |
//! |---|---|---|
//! | memory, unwinding rules and lookups of one artifact | [`whycrash_evidence::Limits::symbol_work`] | `limit-symbol-work` |
//! | steps of an expression in unwinding rules | 1000 | `limit-expression` |
//! | functions inlined at one address | 256 | `limit-inlining` |
//! | Python frames of a thread | 100 000 | `limit-python` |
//! | Python interpreters and threads; characters of a name | 16 384; 4096 | `limit-python` |
//! | tail calls followed between two frames | 4096 | `limit-tail-calls` |
//! | bytes of a minidump's stack that are walked | 2 MiB | `limit-stack` |
//! | a section unpacked; all of a file | 64 times its size, and 16 MiB always; 4 GiB | `limit-section` |
//! | `.gnu_debugdata` unpacked | 64 MiB | `limit-section` |
//! | units of a file's debug information | 1 048 576 | `limit-units` |
//! | files of the symbol folders | 100 000 | `limit-symbol-folders` |
//! | bytes of a binary or debug file; of a Breakpad symbol file | 16 GiB; 2 GiB | `limit-symbol-file` |
//! | what is asked of debuginfod servers for one report | [`crate::DebuginfodLimits`] | `limit-debuginfod` |
//! | headers, and bytes of a table, of a binary that is only in the core | 256; 256 MiB | `limit-memory-image` |
//! | rows and names of the line tables of GPU code | 4 194 304; 64 MiB | `limit-gpu-lines` |
//!
//! A file that others shorten while it is read has zeros from there on, and gives the problem `symbols-torn`. What was
//! opened is kept for the next crash, up to 1 GiB of what is parsed out of binaries and debug files, and 1 GiB of
//! symbol files.
//!
//! Frames of a thread are those of [`whycrash_evidence::Limits::frames`]; what is left out in the middle is counted. A
//! symbol's name beyond 64 KiB is shown mangled, beyond 1 MiB cut; what a program said beyond 4096 bytes ends in `…`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use whycrash_evidence::{Limits, Problem};

use crate::files::debuginfod::Debuginfod;

/// A cap that can be hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cap {
    Work,
    Expression,
    Inlining,
    Python,
    TailCalls,
    Stack,
    Section,
    Units,
    SymbolFolders,
    SymbolFile,
    Image,
    Servers,
    Torn,
}

impl Cap {
    fn code(self) -> &'static str {
        match self {
            Self::Work => "limit-symbol-work",
            Self::Expression => "limit-expression",
            Self::Inlining => "limit-inlining",
            Self::Python => "limit-python",
            Self::TailCalls => "limit-tail-calls",
            Self::Stack => "limit-stack",
            Self::Section => "limit-section",
            Self::Units => "limit-units",
            Self::SymbolFolders => "limit-symbol-folders",
            Self::SymbolFile => "limit-symbol-file",
            Self::Image => "limit-memory-image",
            Self::Servers => "limit-debuginfod",
            Self::Torn => "symbols-torn",
        }
    }

    fn message(self) -> &'static str {
        match self {
            Self::Work => "unwinding and naming took more work than one artifact is given; stacks may end early",
            Self::Expression => {
                "an expression in the unwinding rules has more steps than are taken; its stack ends there"
            }
            Self::Inlining => "more functions are inlined at one address than are shown",
            Self::Python => "the interpreter has more threads or frames than are read; the rest is left out",
            Self::TailCalls => "more tail calls lead from one frame to another than are followed; some are left out",
            Self::Stack => "a stack is larger than is walked; its outer frames are left out",
            Self::Section => "a compressed section is larger than is unpacked; what it names is left out",
            Self::Units => "debug information has more units than are read; what it names is left out",
            Self::SymbolFolders => "the symbol folders hold more files than are looked at",
            Self::SymbolFile => "a file of symbols is larger than is read; what it names is left out",
            Self::Image => "a binary that is only in the core has more headers, or larger tables, than are read",
            Self::Servers => "debuginfod servers were asked for as much as one report may cost; names may be missing",
            Self::Torn => {
                "the file was shortened while it was read; names from it may be missing: read the report again"
            }
        }
    }
}

/// The caps that were hit in an artifact, or in one file of symbols.
#[derive(Debug, Default)]
pub(crate) struct Caps(Mutex<BTreeSet<Cap>>);

impl Caps {
    /// Notes that a cap was hit.
    pub(crate) fn hit(&self, cap: Cap) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(cap);
    }

    fn all(&self) -> Vec<Cap> {
        let hit = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        hit.iter().copied().collect()
    }
}

/// What is left to spend on one artifact.
#[derive(Debug)]
pub(crate) struct Costs {
    left: AtomicU64,
    pub(crate) caps: Caps,
    /// The servers that may be asked, with what is left to ask of them for the report.
    pub(crate) servers: Option<Debuginfod>,
}

impl Costs {
    pub(crate) fn new(limits: &Limits, servers: Option<Debuginfod>) -> Self {
        Self {
            left: AtomicU64::new(limits.symbol_work),
            caps: Caps::default(),
            servers,
        }
    }

    /// Pays for some work; nothing when there is not enough left, from then on.
    pub(crate) fn spend(&self, work: u64) -> Option<()> {
        let left = self.left.load(Relaxed).checked_sub(work);
        self.left.store(left.unwrap_or(0), Relaxed);
        if left.is_none() {
            self.caps.hit(Cap::Work);
        }
        left.map(|_| ())
    }

    /// What was left out, once for each cap; of the files that were asked, with the name of the first.
    pub(crate) fn problems<'a>(&self, files: impl Iterator<Item = (&'a Path, &'a Caps)>) -> Vec<Problem> {
        if self.servers.as_ref().is_some_and(Debuginfod::is_spent) {
            self.caps.hit(Cap::Servers);
        }
        let own = self.caps.all().into_iter().map(|cap| (cap, cap.message().to_owned()));
        let mut hit: BTreeMap<Cap, String> = own.collect();
        for (path, caps) in files {
            for cap in caps.all() {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                hit.entry(cap).or_insert_with(|| format!("{name}: {}", cap.message()));
            }
        }
        let problem = |(cap, message): (Cap, String)| Problem::new(cap.code(), message);
        hit.into_iter().map(problem).collect()
    }
}
