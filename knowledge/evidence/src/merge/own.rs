//! Which events are of the report's own processes.
//!
//! The kernel's log tells of the whole machine: of desktops, databases and other people's jobs as well.

use std::collections::HashSet;

use crate::model::{Crash, Event, EventPayload, Kernel, PythonException, Thread, ThreadId};

/// What tells the report's processes from the others of the machine.
#[derive(Debug)]
pub(super) struct Own {
    ids: HashSet<u32>,
    /// Processes that the driver logged an Xid for.
    on_gpu: HashSet<u32>,
    /// The report's own end is explained without the kernel's log.
    is_explained: bool,
    /// Something besides the kernel's log tells of a failure.
    has_failed: bool,
    kernel_alone: bool,
    /// Processes were killed for want of memory, and none of those that are named is the report's.
    others_were_killed: bool,
}

impl Own {
    /// `kernel_alone`: nothing but the kernel's log is in the report.
    pub fn of(timeline: &[Event], crashes: &[Crash], threads: &[Thread], kernel_alone: bool) -> Self {
        let xids = timeline
            .iter()
            .filter(|event| matches!(event.payload, EventPayload::Xid(_)));
        let mut own = Self {
            ids: ids(timeline, crashes, threads),
            on_gpu: xids.filter_map(|event| event.pid).collect(),
            is_explained: timeline.iter().any(ended_by_itself),
            has_failed: !crashes.is_empty() || timeline.iter().any(|event| !is_of_machine(event) && !event.survived),
            kernel_alone,
            others_were_killed: false,
        };
        let mut kills = timeline
            .iter()
            .filter(|event| event.pid.is_some() && is_oom_kill(event))
            .peekable();
        own.others_were_killed = kills.peek().is_some() && kills.all(|kill| !own.has(kill));
        own
    }

    /// Whether an event is of the report's processes. Where none of their ids is known, their names have to tell.
    pub fn has(&self, event: &Event) -> bool {
        let Some(pid) = event.pid.filter(|_| is_of_machine(event)) else {
            return !(self.others_were_killed && is_told_of_a_unit(event));
        };
        match &event.payload {
            // What befell the GPU befell whoever used it.
            EventPayload::Xid(xid) if !OF_PROGRAMS.contains(&xid.code) => true,
            EventPayload::Kernel(kernel) if self.may_be_in_container(kernel, pid) => !self.is_explained,
            _ if !self.ids.is_empty() => self.ids.contains(&pid),
            EventPayload::Kernel(kernel) if is_death(kernel) => {
                !self.is_explained && (self.has_failed || self.on_gpu.contains(&pid) || self.may_be_job(kernel))
            }
            _ => true,
        }
    }

    /// Whether a process that was killed for the limit of its control group may be one of the report's, though its number
    /// is none of theirs: a container counts its processes from 1, and the kernel's log those of the machine.
    fn may_be_in_container(&self, kernel: &Kernel, pid: u32) -> bool {
        /// More processes than a container of one job starts, and fewer than a machine has had after some hours.
        const IN_CONTAINER: u32 = 4096;
        /// Titles that servers give to their own processes: nothing else of a machine is called so.
        const TITLES: [&str; 3] = ["VLLM::", "sglang::", "ray::"];
        let name = kernel.process.as_deref().unwrap_or_default();
        let is_titled = TITLES.iter().any(|title| name.starts_with(title));
        (kernel.cgroup == Some(true) || is_titled)
            && pid >= IN_CONTAINER
            && self.has_failed
            && !self.ids.is_empty()
            && self.ids.iter().all(|own| *own < IN_CONTAINER)
            && (is_titled || name.starts_with("python") || name.starts_with("pt_"))
    }

    /// Whether a process that died, and of which nothing else is told, may be of a training job. Where memory ran out
    /// on the whole machine it is worth telling whoever was killed, unless another log shows that the job went on.
    fn may_be_job(&self, kernel: &Kernel) -> bool {
        /// Interpreters, the names that torch and Ray give to their processes and threads, and servers of models.
        const JOBS: [&str; 12] = [
            "python",
            "ipython",
            "pypy",
            "pt_",
            "ray::",
            "torch",
            "train",
            "llama-",
            "ollama",
            "tritonserver",
            "vllm",
            "VLLM::",
        ];
        /// Libraries that only programs on a GPU, or with tensors, have in them.
        const LIBRARIES: [&str; 6] = ["libcuda", "libcu", "libnccl", "libnv", "libtorch", "libc10"];
        /// Parts of names of frameworks' libraries.
        const FRAMEWORKS: [&str; 10] = [
            "ggml",
            "libllama",
            "torch",
            "tensorflow",
            "jaxlib",
            "xla_extension",
            "onnxruntime",
            "paddle",
            "mxnet",
            "cupy",
        ];
        /// Programs of a desktop.
        const DESKTOP: [&str; 10] = [
            "chrome",
            "chromium",
            "firefox",
            "gnome-",
            "Xorg",
            "Web Content",
            "Isolated Web",
            "plasma",
            "slack",
            "teams",
        ];
        let starts = |name: &Option<String>, with: &[&str]| {
            let name = name.as_deref().unwrap_or_default();
            with.iter().any(|start| name.starts_with(start))
        };
        let object = kernel.object.as_deref().unwrap_or_default();
        FRAMEWORKS.iter().any(|name| object.contains(name))
            || starts(&kernel.process, &JOBS)
            || starts(&kernel.object, &LIBRARIES)
            || self.kernel_alone && kernel.family == "oom-kill" && !starts(&kernel.process, &DESKTOP)
    }
}

/// Xids that a program can cause by itself, and that end no other (NVIDIA's catalogue of Xids, "User App Error").
const OF_PROGRAMS: [u32; 8] = [8, 13, 31, 32, 43, 45, 68, 69];

/// The kernel's and the driver's words.
pub(super) fn is_of_machine(event: &Event) -> bool {
    matches!(event.payload, EventPayload::Kernel(_) | EventPayload::Xid(_))
}

/// Process and thread ids that are the report's, from everything but the kernel's log.
fn ids(timeline: &[Event], crashes: &[Crash], threads: &[Thread]) -> HashSet<u32> {
    let mut own: HashSet<u32> = crashes.iter().filter_map(|crash| crash.pid).collect();
    for thread in threads {
        own.extend(thread.pid);
        if let ThreadId::Os(id) = thread.id {
            own.insert(id);
        }
    }
    for event in timeline.iter().filter(|event| !is_of_machine(event)) {
        match &event.payload {
            EventPayload::DataloaderWorker(worker) => own.extend(worker.pid.or(event.pid)),
            _ => own.extend(event.pid),
        }
    }
    own
}

fn is_oom_kill(event: &Event) -> bool {
    matches!(&event.payload, EventPayload::Kernel(kernel) if kernel.family == "oom-kill")
}

/// systemd tells of a kill that the kernel told of, without the process: whichever unit it was of. Schedulers tell of their
/// own job's.
fn is_told_of_a_unit(event: &Event) -> bool {
    is_oom_kill(event) && event.pid.is_none() && event.text.contains("A process of this unit")
}

fn is_death(kernel: &Kernel) -> bool {
    ["segfault", "trap", "oom-kill"].contains(&kernel.family.as_str())
}

/// Words of exceptions that tell how another process ended, or that it is gone.
const OF_ANOTHER_PROCESS: [&str; 9] = [
    "signal",
    "SIG",
    "terminated",
    "exited",
    "ChildFailed",
    "Broken",
    "Connection",
    "EOFError",
    "closed",
];

/// An exception that ended a process of Python, and is about nothing but that process.
fn ended_by_itself(event: &Event) -> bool {
    let EventPayload::PythonException(exception) = &event.payload else {
        return false;
    };
    let PythonException {
        exception: name,
        message,
        ignored,
        ..
    } = exception;
    let of_another = OF_ANOTHER_PROCESS
        .iter()
        .any(|words| name.contains(words) || message.contains(words));
    !event.survived && !ignored && !name.is_empty() && !of_another
}
