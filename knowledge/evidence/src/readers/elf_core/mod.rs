//! ELF core dumps of host processes (x86-64 and aarch64), as the Linux kernel and gcore write them.
//!
//! A core has notes (threads with their registers, the signal, mapped files) and the memory of the process as far as
//! `coredump_filter` let it: mostly what the program wrote, and the first page of each binary. Code is not in it.
//! [`CoreDump`] gives all of that; stacks and names are the business of the crate that knows DWARF.
//!
//! Most of a core is never looked at. So it can be told to note what is read of it ([`CoreDump::note_reads`]), and to
//! write a core of just that, a minicore ([`CoreDump::write_minicore`]): from the core's file, or from the memory of a
//! process that the kernel is dumping.

mod caps;
mod dump;
mod fault;
mod head;
mod headers;
mod held;
mod image;
mod kept;
mod little_endian;
mod live;
mod loaded;
mod minicore;
mod modules;
mod note_reader;
mod notes;
mod pages;
mod record;
mod signals;

pub use dump::{Auxiliary, CoreDump, Segment};
pub use fault::{Fault, FaultDetail};
pub use head::Head;
pub use headers::Machine;
pub use live::{LiveProcess, LiveRange};
pub use minicore::Minicore;
pub use modules::{CoreModule, build_id_text};
pub use notes::{CoreThread, Mapping, Process, Registers, SignalInfo};
pub use signals::{code_name, signal_name};

use crate::model::{Crash, Frame, Module, Thread, ThreadId, Trust};
use crate::readers::{Input, read_problem};
use crate::{Artifact, ArtifactKind, Evidence, Limits, Reading};

/// Reads a core without symbols: how the process ended, its modules, and the innermost frame of every thread.
pub fn read(artifact: &Artifact, limits: &Limits) -> Reading {
    match Input::open(artifact, limits) {
        Ok(input) => read_with_dump(&input, limits).0,
        Err(error) => Reading::problem(read_problem(&error)),
    }
}

/// The same, with the opened core for whoever can read more from it; nothing when it can not be opened.
pub fn read_with_dump(input: &Input, limits: &Limits) -> (Reading, Option<CoreDump>) {
    let (evidence, problems, core) = match CoreDump::open(input, limits) {
        Ok((core, problems)) => (core.evidence(input.name()), problems, Some(core)),
        Err(problem) => (Evidence::default(), vec![problem], None),
    };
    let kind = Some(ArtifactKind::ElfCore);
    (
        Reading {
            kind,
            bytes: input.stored_bytes(),
            evidence,
            problems,
            sections: Vec::new(),
        },
        core,
    )
}

impl CoreDump {
    /// What the core alone says, as the artifact called `artifact`.
    pub fn evidence(&self, artifact: &str) -> Evidence {
        Evidence {
            crash: Some(self.crash(artifact)),
            threads: self
                .threads
                .iter()
                .enumerate()
                .map(|(index, thread)| self.thread(artifact, index, thread))
                .collect(),
            modules: self.modules.iter().map(|module| module.to_model(artifact)).collect(),
            ..Evidence::default()
        }
    }

    fn crash(&self, artifact: &str) -> Crash {
        let first = self.threads.first();
        let number = self
            .signal
            .map(|signal| signal.number)
            .or(first.map(|thread| i32::from(thread.signal)));
        let detail = self
            .signal
            .zip(first)
            .map_or_else(FaultDetail::default, |(signal, thread)| {
                self.explain(&Fault {
                    signal,
                    registers: thread.registers,
                    error_code: None,
                })
            });
        Crash {
            signal: number.filter(|number| *number != 0).map(signal_name),
            code: self.signal.map(|signal| code_name(signal.number, signal.code)),
            sender: self.signal.and_then(|signal| signal.sender()),
            address: detail.address.map(Into::into),
            address_kind: detail.kind.map(Into::into),
            access: detail.access.map(Into::into),
            thread: first.map(|thread| ThreadId::Os(thread.id)),
            pid: self.process.as_ref().map(|process| process.pid),
            process: self.process.as_ref().map(|process| process.name.clone()),
            artifact: artifact.to_owned(),
            ..Crash::default()
        }
    }

    fn thread(&self, artifact: &str, index: usize, thread: &CoreThread) -> Thread {
        Thread {
            id: ThreadId::Os(thread.id),
            name: None,
            rank: None,
            pid: self.process.as_ref().map(|process| process.pid),
            crashed: index == 0,
            artifact: artifact.to_owned(),
            frames: vec![self.frame(thread.registers.pc, Trust::Context)],
            frames_omitted: None,
            holds_gil: false,
            activity: None,
        }
    }

    /// An unnamed frame at an address: which binary it is in, and where in that.
    pub fn frame(&self, address: u64, trust: Trust) -> Frame {
        let module = self.module_at(address);
        Frame {
            module: module.map(|module| module.path.clone()),
            build_id: module.and_then(|module| module.build_id.clone()),
            offset: module
                .and_then(|module| module.bias)
                .map(|bias| address.wrapping_sub(bias).into()),
            address: Some(address.into()),
            trust,
            ..Frame::default()
        }
    }
}

impl CoreModule {
    fn to_model(&self, artifact: &str) -> Module {
        Module {
            path: self.path.clone(),
            build_id: self.build_id.clone(),
            debug_id: None,
            start: self.start.into(),
            end: self.end.into(),
            symbols: None,
            artifact: artifact.to_owned(),
        }
    }
}
