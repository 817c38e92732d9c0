//! What is known about a run while it runs and at its end: processes, GPUs, kernel messages, and the context that a
//! crash needs to be understood.

mod core_owner;
mod core_pattern;
pub mod cores;
mod environment;
mod gpu;
pub mod host;
mod kernel_log;
mod left_behind;
pub mod leftovers;
mod missing;
mod place;
mod python;
mod scheduler;
mod stall;
mod tree;
mod whole;

use std::ffi::OsString;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use jiff::Timestamp;
use serde_json::{Map, Value, json};

pub use core_pattern::{Destination, Handler, OwnHandler};
pub use gpu::{AskedDriver, Gpus, ask_driver};
pub use kernel_log::readable as kernel_log_readable;
pub use missing::Missing;
pub use stall::look_at;
pub use whole::until_whole;

use crate::arm::{Scratch, Yield};
use crate::run::{Beside, Ending, Over, Printed};
use environment::Variables;
use host::ControlGroup;
use kernel_log::KernelLog;
use left_behind::LeftBehind;
use place::Place;
use python::Python;
use stall::Stalls;
use tree::Tree;

/// File times may lie behind the clock by a tick of the kernel's.
const CLOCK_TICK: Duration = Duration::from_millis(20);

/// Where things stood before the job started.
#[derive(Debug)]
pub struct Marks {
    started: Timestamp,
    since: SystemTime,
    folder: Option<PathBuf>,
    oom_kills: Option<u64>,
    kernel_log: KernelLog,
}

/// Watches a job from its start.
#[derive(Debug)]
pub struct Watch {
    command: Vec<OsString>,
    pid: u32,
    core_is_ours: bool,
    marks: Marks,
    variables: Variables,
    tree: Tree,
    gpus: Option<Gpus>,
    stalls: Stalls,
    armed: Yield,
    /// Whether the job hangs, and nobody has been told yet.
    hangs: bool,
}

/// What is looked at while a job runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Looks {
    /// How often GPUs are asked; never where it is none.
    pub gpus: Option<Duration>,
    /// How long a job that makes no progress is let be before it counts as hanging; for ever where it is none.
    pub hang: Option<Duration>,
}

/// All that there is to know about a run that ended, but for the files it left.
#[derive(Debug)]
pub struct Seen {
    /// The context of the crash.
    pub context: Map<String, Value>,
    /// What could not be got, so far.
    pub unavailable: Vec<Missing>,
    /// What the kernel said meanwhile.
    pub kernel_log: Option<String>,
    /// What was seen when the job made no progress, and what the CUDA driver said, by the names of the artifacts.
    pub pieces: Vec<(String, Vec<u8>)>,
    /// Where the job wrote what it was asked for.
    pub scratch: Option<Scratch>,
    /// How to find the files.
    pub search: cores::Search,
    /// Whether GPUs are looked at: then the driver is asked too.
    pub gpus: bool,
}

impl Marks {
    /// Takes them. To be called before the job starts: what comes after it is the job's.
    pub fn take() -> Self {
        Self {
            started: Timestamp::now(),
            since: SystemTime::now()
                .checked_sub(CLOCK_TICK)
                .unwrap_or(SystemTime::UNIX_EPOCH),
            folder: std::env::current_dir().ok(),
            oom_kills: ControlGroup::own().and_then(|group| group.oom_kills()),
            kernel_log: KernelLog::from_now(),
        }
    }
}

impl Watch {
    /// Starts watching a job that has just been started. To be called while there is no other thread.
    pub fn over(command: &[OsString], pid: u32, core_is_ours: bool, marks: Marks, looks: Looks, armed: Yield) -> Self {
        Self {
            command: command.to_owned(),
            pid,
            core_is_ours,
            marks,
            variables: environment::own(),
            tree: Tree::of(pid),
            gpus: looks.gpus.map(Gpus::watch),
            stalls: Stalls::new(looks.hang),
            armed,
            hangs: false,
        }
    }

    /// Looks, once, at a process that runs and at all that descend from it.
    pub fn look_at(pid: u32) -> anyhow::Result<Self> {
        let mut marks = Marks::take();
        marks.folder = std::fs::read_link(format!("/proc/{pid}/cwd")).ok();
        let mut tree = Tree::of(pid);
        tree.look();
        let command = tree.commands().next().unwrap_or_default();
        let command = command.iter().map(OsString::from).collect();
        let mut found = Vec::new();
        stall::look_at(&tree.living(), &mut found)?;
        let found = found
            .split(|byte| *byte == b'\n')
            .filter_map(|line| serde_json::from_slice(line).ok());
        Ok(Self {
            command,
            pid,
            core_is_ours: false,
            marks,
            variables: environment::of_process(pid),
            stalls: Stalls::look_now(&tree, found.collect()),
            tree,
            gpus: None,
            armed: Yield::default(),
            hangs: true,
        })
    }

    /// Whether the job has begun to hang since this was asked last.
    pub fn hangs(&mut self) -> bool {
        std::mem::take(&mut self.hangs)
    }

    /// Whether the job stood still, and was looked at, when somebody asked it to end.
    pub fn stood_still(&mut self, over: &Over) -> bool {
        self.tree.attend();
        over.asked_to_end()
            .is_some_and(|at| self.stalls.ended_at(&self.tree, at))
    }

    /// Takes away what a job that ended well left because of us, and what its processes are about to leave until then.
    pub fn clear_away(&mut self, ending: Ending, deadline: Instant) {
        let left = self.left_behind();
        left.dump_no_more();
        self.search(ending, &left).clear_away(deadline);
        self.armed.clear_away();
    }

    /// Those who are left, where that matters: where they can dump core only because of us.
    fn left_behind(&mut self) -> LeftBehind {
        if !self.core_is_ours {
            return LeftBehind::default();
        }
        self.tree.attend();
        self.tree.look();
        let living = self.tree.living();
        LeftBehind::of(
            living.into_iter().filter(|pid| *pid != self.pid),
            self.armed.mark.as_deref(),
        )
    }

    /// How to find core dumps that the job would not have left without us.
    fn search(&self, ending: Ending, left: &LeftBehind) -> cores::Search {
        let mut folders = self.tree.folders();
        folders.extend(self.marks.folder.clone());
        // The job began where we are, and may have given that another name since.
        folders.extend(std::env::current_dir().ok());
        folders.extend(left.folders());
        let mut processes = self.tree.pids();
        processes.extend(left.pids());
        cores::Search {
            since: self.marks.since,
            job: self.pid,
            processes,
            left: left.pids().collect(),
            folders,
            mark: self.armed.mark.clone(),
            dumped: matches!(ending, Ending::Killed { core: true, .. }),
            expected: ending.dumps_core(),
            ours: self.core_is_ours,
        }
    }

    /// What was seen until the job's end.
    pub fn finish(mut self, over: &Over) -> Seen {
        let scratch = self.armed.scratch.take();
        let seen = self.seen_at_the_end(over);
        Seen { scratch, ..seen }
    }

    fn seen_at_the_end(&mut self, over: &Over) -> Seen {
        /// For a driver that was asked only just now.
        const LAST_ANSWER: Duration = Duration::from_millis(100);
        self.stood_still(over);
        if let Some(gpus) = &mut self.gpus {
            gpus.wait(LAST_ANSWER);
        }
        self.seen(Some(over))
    }

    /// What was seen of a job that hangs.
    pub fn so_far(&mut self) -> Seen {
        self.seen(None)
    }

    fn seen(&mut self, over: Option<&Over>) -> Seen {
        let left = over.map(|_| self.left_behind()).unwrap_or_default();
        left.dump_no_more_after_this();
        let search = self.search(over.map_or(Ending::Exited(0), |over| over.ending), &left);
        let mut unavailable = self.armed.problems.clone();
        let context = self.context(over, &mut unavailable);
        let mut pieces = self.stalls.files();
        pieces.push(("cuda.log".to_owned(), self.armed.cuda_log()));
        let kernel_log = self
            .marks
            .kernel_log
            .since()
            .map_err(|missing| unavailable.push(missing))
            .ok();
        Seen {
            context,
            unavailable,
            kernel_log: kernel_log.filter(|text| !text.is_empty()),
            pieces,
            scratch: None,
            search,
            gpus: self.gpus.is_some(),
        }
    }

    fn context(&self, over: Option<&Over>, unavailable: &mut Vec<Missing>) -> Map<String, Value> {
        let mut context = Map::new();
        let mut add = |name: &str, value: Value| context.insert(name.to_owned(), value);
        add("whycrash_context", json!(1));
        let words: Vec<String> = self.words();
        add("command", json!(environment::command(&words)));
        add("cwd", json!(self.marks.folder));
        add("host", json!(host::name()));
        add("pid", json!(self.pid));
        add("started", json!(self.marks.started.to_string()));
        match over {
            Some(over) => {
                let (signal, code) = over.ending.named();
                add("kind", json!("crash"));
                add("ended", json!(Timestamp::now().to_string()));
                add("exit", json!({"signal": signal, "code": code}));
                add(
                    "signals_received",
                    over.sent.iter().map(crate::run::Sent::to_json).collect(),
                );
            }
            None => drop(add("kind", json!("hang"))),
        }
        add("processes", json!(self.tree.pids().len()));
        add("failures", self.tree.failures());
        add("stall", json!(self.stalls.told()));
        add("armed", json!(self.armed.switches));
        add("environment", Value::Object(environment::kept(&self.variables)));
        add("rank", json!(Place::in_environment(&self.variables).rank));
        add("world_size", self.number("WORLD_SIZE"));
        let scheduler = scheduler::told(&self.variables);
        add(
            "job",
            scheduler
                .as_ref()
                .and_then(|told| told.get("job").cloned())
                .unwrap_or_default(),
        );
        add("scheduler", json!(scheduler));
        let python = self.python();
        add(
            "python",
            json!(
                python
                    .as_ref()
                    .map(|p| json!({"executable": p.executable, "version": p.version}))
            ),
        );
        add("packages", json!(python.map(|python| python.packages)));
        add("os", json!(host::system()));
        add("kernel", json!(host::kernel()));
        add("cpu", host::processor());
        add("memory", host::memory());
        let kills_now = ControlGroup::own().and_then(|group| group.oom_kills());
        let kills = kills_now.zip(self.marks.oom_kills);
        add(
            "oom_kills",
            json!(kills.map(|(now, before)| now.saturating_sub(before))),
        );
        add("limits", Value::Object(host::limits()));
        match self.gpus.as_ref().map(Gpus::facts) {
            Some(Ok(facts)) => {
                add("driver", facts.get("driver").cloned().unwrap_or_default());
                add("cuda", facts.get("cuda").cloned().unwrap_or_default());
                add("gpus", facts.get("devices").cloned().unwrap_or_default());
                add("gpu_timeline", self.gpus.as_ref().map_or(Value::Null, Gpus::timeline));
            }
            Some(Err(missing)) => unavailable.push(missing),
            None => unavailable.push(Missing::for_good("GPUs", "not looked at: --gpu-interval is off")),
        }
        if let Some(gpus) = &self.gpus {
            add("gpu_notes", gpus.notes());
            unavailable.extend(gpus.broken_off());
        }
        if self.tree.more_failures() > 0 {
            let why = format!("{} more processes failed than are told of", self.tree.more_failures());
            unavailable.push(Missing::for_good("failures", why));
        }
        context.retain(|_, value| !value.is_null());
        context
    }

    /// A variable that holds a number.
    fn number(&self, variable: &str) -> Value {
        let number = self.variables.get(variable).and_then(|text| text.parse::<u32>().ok());
        json!(number)
    }

    fn words(&self) -> Vec<String> {
        let words = self.command.iter();
        words.map(|word| word.to_string_lossy().into_owned()).collect()
    }

    /// The Python that the job ran, as it was seen; where it was too short to be seen, the one that its command would run.
    fn python(&self) -> Option<Python> {
        let seen = self.tree.python();
        seen.or_else(|| Python::of(&self.words()))
            .or_else(|| self.tree.commands().find_map(Python::of))
    }
}

impl Beside for Watch {
    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let mut descriptors = self.tree.descriptors();
        descriptors.extend(self.gpus.as_ref().and_then(Gpus::descriptor));
        descriptors.extend(self.stalls.descriptor());
        descriptors
    }

    fn pause(&self) -> Duration {
        self.tree.pause()
    }

    fn attend(&mut self, printed: &mut Printed<'_>) {
        self.tree.attend();
        self.armed.attend();
        self.hangs |= self.stalls.attend(&self.tree, || printed.mark());
        if let Some(gpus) = &mut self.gpus {
            gpus.attend();
        }
    }
}
