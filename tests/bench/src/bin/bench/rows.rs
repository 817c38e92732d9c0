//! What is measured: for each kind of artifact, our reading of it beside the tool that people use now.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use whycrash_bench::{Artifacts, artifacts};

use crate::cost::{Cost, Program};
use crate::failures::FLOODS;
use crate::{inputs, tools};

/// A row stops early once it has taken this long and has at least [`LEAST_ROUNDS`].
const ROW_SECONDS: f64 = 90.0;
const LEAST_ROUNDS: usize = 3;

/// What is to be reached.
#[derive(Clone, Copy, Debug)]
pub enum Goal {
    /// At most so many times the time that the other tool takes.
    TimesTheirs(f64),
    /// At least so many bytes a second on one core, whatever the other tool takes.
    BytesPerSecond(f64),
}

/// One line of the table.
pub struct Row<'a> {
    pub name: &'static str,
    goal: Goal,
    prepare: Box<dyn Fn() -> Result<Race> + 'a>,
}

/// The two commands on one input.
struct Race {
    input_bytes: u64,
    ours: Program,
    theirs: Program,
}

/// What a row came to.
pub struct Outcome {
    pub name: &'static str,
    pub goal: Goal,
    pub result: Result<Measured>,
}

/// Costs of both commands, round by round.
pub struct Measured {
    pub input_bytes: u64,
    pub ours: Vec<Cost>,
    pub theirs: Vec<Cost>,
    /// The commands as typed.
    pub commands: [String; 2],
}

impl<'a> Row<'a> {
    fn new(name: &'static str, goal: Goal, prepare: impl Fn() -> Result<Race> + 'a) -> Self {
        Self {
            name,
            goal,
            prepare: Box::new(prepare),
        }
    }

    /// Runs both in turns, so that what else the machine does falls on both.
    pub fn measure(&self, rounds: usize) -> Outcome {
        Outcome {
            name: self.name,
            goal: self.goal,
            result: (self.prepare)().and_then(|race| race.run(rounds)),
        }
    }
}

impl Race {
    fn run(&self, rounds: usize) -> Result<Measured> {
        // Once without counting: what is read from disk then is in memory for both.
        self.ours.run()?;
        self.theirs.run()?;
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let mut spent = 0.0;
        while ours.len() < rounds && (spent < ROW_SECONDS || ours.len() < LEAST_ROUNDS) {
            ours.push(self.ours.run()?);
            theirs.push(self.theirs.run()?);
            spent += [&ours, &theirs]
                .iter()
                .filter_map(|costs| costs.last())
                .map(|cost| cost.seconds)
                .sum::<f64>();
        }
        Ok(Measured {
            input_bytes: self.input_bytes,
            ours,
            theirs,
            commands: [self.ours.shown(), self.theirs.shown()],
        })
    }
}

/// Every row, by kind of artifact. `data` is where generated inputs are kept.
pub fn all<'a>(artifacts: &'a Artifacts, data: &'a Path) -> Vec<Row<'a>> {
    let mut rows = Vec::new();
    rows.extend(cores(artifacts));
    rows.extend(minidumps(artifacts, data));
    rows.extend(snapshots(artifacts, data));
    rows.extend(recorders(artifacts, data));
    rows.extend(logs(data));
    rows
}

/// Our side: one process that reads the artifacts and prints everything it found in them.
fn ours<P: AsRef<Path>>(artifacts: impl IntoIterator<Item = P>, symbols: &[PathBuf]) -> Result<Program> {
    let read = std::env::current_exe()?.with_file_name("read");
    ensure!(read.is_file(), "{} is not there: build it first", read.display());
    let mut words = vec![read.into_os_string()];
    words.extend(artifacts.into_iter().map(|path| path.as_ref().as_os_str().to_owned()));
    let folders = std::env::join_paths(symbols).context("a symbol folder has a colon in its name")?;
    Ok(Program::new(words).with("WHYCRASH_SYMBOLS", folders))
}

fn size(paths: &[PathBuf]) -> Result<u64> {
    let mut sum = 0;
    for path in paths {
        sum += std::fs::metadata(path)
            .with_context(|| format!("{} is not there", path.display()))?
            .len();
    }
    Ok(sum)
}

/// Core dumps of programs of each kind, to all stacks. Beside eu-stack as it is, which names frames by symbol tables
/// alone, stands eu-stack asked for what both others print: inlined functions and source lines.
fn cores(artifacts: &Artifacts) -> Vec<Row<'_>> {
    const CORES: [([&str; 3], &str); 4] = [
        (
            [
                "core of a C++ program, gdb",
                "core of a C++ program, eu-stack",
                "core of a C++ program, eu-stack -i -s",
            ],
            "made/n_cpp_null_worker/core.zst",
        ),
        (
            [
                "core of a Rust program, gdb",
                "core of a Rust program, eu-stack",
                "core of a Rust program, eu-stack -i -s",
            ],
            "made/n_rust_segv_worker/core.zst",
        ),
        (
            [
                "core of a rank of PyTorch, gdb",
                "core of a rank of PyTorch, eu-stack",
                "core of a rank of PyTorch, eu-stack -i -s",
            ],
            "made/g_ddp_shape/rank0_core.zst",
        ),
        (
            [
                "core of PyTorch with its heap, gdb",
                "core of PyTorch with its heap, eu-stack",
                "core of PyTorch with its heap, eu-stack -i -s",
            ],
            "made/a_torch_null_medium/core.zst",
        ),
    ];
    let rows = CORES.into_iter().flat_map(|([gdb, eu_stack, eu_stack_lines], core)| {
        let eu = |options| move || with_eu_stack(artifacts, core, options);
        [
            Row::new(gdb, Goal::TimesTheirs(0.2), move || with_gdb(artifacts, core)),
            Row::new(eu_stack, Goal::TimesTheirs(0.7), eu(&[])),
            Row::new(eu_stack_lines, Goal::TimesTheirs(0.7), eu(&["--inlines", "--source"])),
        ]
    });
    rows.collect()
}

fn with_gdb(artifacts: &Artifacts, packed: &str) -> Result<Race> {
    let gdb = tools::find("gdb", "apt-get install gdb")?;
    let core = artifacts.unpack(packed)?;
    let mut libraries = OsString::from("set solib-search-path ");
    libraries.push(std::env::join_paths(artifacts.symbols())?);
    let words: [OsString; 9] = [
        gdb.into(),
        "-nx".into(),
        "-batch".into(),
        "-iex".into(),
        libraries,
        "-ex".into(),
        "thread apply all bt".into(),
        executable(artifacts, packed)?.into(),
        core.clone().into(),
    ];
    core_race(artifacts, core, Program::new(words))
}

fn with_eu_stack(artifacts: &Artifacts, packed: &str, options: &[&str]) -> Result<Race> {
    let eu_stack = tools::find("eu-stack", "apt-get install elfutils")?;
    let core = artifacts.unpack(packed)?;
    let mut words: Vec<OsString> = vec![eu_stack.into()];
    words.extend(options.iter().map(OsString::from));
    words.extend(["--core".into(), core.clone().into(), "--executable".into()]);
    words.push(executable(artifacts, packed)?.into());
    core_race(artifacts, core, Program::new(words))
}

fn core_race(artifacts: &Artifacts, core: PathBuf, theirs: Program) -> Result<Race> {
    Ok(Race {
        input_bytes: size(std::slice::from_ref(&core))?,
        ours: ours([core], &artifacts.symbols())?,
        theirs,
    })
}

/// The program that left a core: among the artifacts' binaries, or where the core says it was.
fn executable(artifacts: &Artifacts, packed: &str) -> Result<PathBuf> {
    let described = artifacts.path(packed).with_extension("coreinfo.json");
    let info = artifacts::json(&described)?;
    let program: Option<&str> = info["modules"].as_array().and_then(|modules| {
        let start = |module: &&Value| {
            let base = module["base"].as_str().unwrap_or_default();
            u64::from_str_radix(base.trim_start_matches("0x"), 16).unwrap_or(u64::MAX)
        };
        modules.iter().min_by_key(start)?["path"].as_str()
    });
    let program = Path::new(program.with_context(|| format!("{} names no program", described.display()))?);
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let found = artifacts.binary(&name).unwrap_or_else(|| program.to_owned());
    ensure!(
        found.is_file(),
        "{} is not on this machine: the stacks of its core can not be compared",
        found.display()
    );
    Ok(found)
}

/// Minidumps, beside the tool that knows Breakpad's symbol files alone: both get the same ones, or none.
fn minidumps<'a>(artifacts: &'a Artifacts, data: &'a Path) -> Vec<Row<'a>> {
    let goal = Goal::TimesTheirs(1.0);
    vec![
        Row::new(
            "minidump of a C++ program with symbols, minidump-stackwalk",
            goal,
            || minidump_race(artifacts, &[inputs::breakpad_symbols(artifacts, data)?]),
        ),
        Row::new("minidump of a C++ program without, minidump-stackwalk", goal, || {
            minidump_race(artifacts, &[])
        }),
    ]
}

fn minidump_race(artifacts: &Artifacts, symbols: &[PathBuf]) -> Result<Race> {
    let stackwalk = tools::find("minidump-stackwalk", "cargo install minidump-stackwalk")?;
    let dump = artifacts.path("minidump_made/cpp_null_worker.dmp");
    let mut words: Vec<OsString> = vec![stackwalk.into(), "--json".into(), dump.clone().into()];
    words.extend(symbols.iter().map(|folder| folder.clone().into()));
    Ok(Race {
        input_bytes: size(std::slice::from_ref(&dump))?,
        ours: ours([&dump], symbols)?.with("WHYCRASH_NO_LOCAL_FILES", "1".into()),
        theirs: Program::new(words),
    })
}

/// Memory snapshots: a long recording, and a real one.
fn snapshots<'a>(artifacts: &'a Artifacts, data: &'a Path) -> Vec<Row<'a>> {
    const REAL: &str = "memsnap/cs336_systems__memory_logs__memory_ctx128_forward.pickle";
    let by_pickle = |snapshot: PathBuf| -> Result<Race> {
        let load = "import pickle, sys; pickle.load(open(sys.argv[1], 'rb'))";
        let words: [OsString; 4] = [
            tools::python().into(),
            "-c".into(),
            load.into(),
            snapshot.clone().into(),
        ];
        snapshot_race(snapshot, Program::new(words))
    };
    let by_memory_viz = |snapshot: PathBuf| -> Result<Race> {
        let viewer = tools::torch_file("cuda/_memory_viz.py")?;
        let words: [OsString; 4] = [
            tools::python().into(),
            viewer.into(),
            "stats".into(),
            snapshot.clone().into(),
        ];
        snapshot_race(snapshot, Program::new(words))
    };
    let goal = Goal::TimesTheirs(0.3);
    vec![
        Row::new("long memory snapshot, pickle.load", goal, move || {
            by_pickle(inputs::long_snapshot(data)?)
        }),
        Row::new("long memory snapshot, _memory_viz.py", goal, move || {
            by_memory_viz(inputs::long_snapshot(data)?)
        }),
        Row::new("memory snapshot of a training step, pickle.load", goal, move || {
            by_pickle(artifacts.path(REAL))
        }),
        Row::new("memory snapshot of a training step, _memory_viz.py", goal, move || {
            by_memory_viz(artifacts.path(REAL))
        }),
    ]
}

fn snapshot_race(snapshot: PathBuf, theirs: Program) -> Result<Race> {
    Ok(Race {
        input_bytes: size(std::slice::from_ref(&snapshot))?,
        ours: ours([snapshot], &[])?,
        theirs,
    })
}

/// Flight recorders: of a real job of 16 ranks, and of a job whose rings are full.
fn recorders<'a>(artifacts: &'a Artifacts, data: &'a Path) -> Vec<Row<'a>> {
    const REAL: &str = "third_party/NVIDIA_nvidia-resiliency-ext/tests/attribution/unit/fr_traces/lock_gil_1st";
    let goal = Goal::TimesTheirs(0.1);
    vec![
        Row::new("flight recorders of 16 ranks that hang, torchfrtrace", goal, || {
            recorder_race(&artifacts.path(REAL), "_dump_")
        }),
        Row::new("full flight recorders of 16 ranks, torchfrtrace", goal, || {
            recorder_race(&inputs::full_recorders(data)?, inputs::RECORDER_PREFIX)
        }),
    ]
}

fn recorder_race(folder: &Path, prefix: &str) -> Result<Race> {
    tools::torch_file("distributed/flight_recorder/fr_trace.py")?;
    let is_dump = |path: &PathBuf| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(prefix))
    };
    let dumps: Vec<PathBuf> = artifacts::files(folder)?.into_iter().filter(is_dump).collect();
    let words: [OsString; 6] = [
        tools::python().into(),
        "-m".into(),
        "torch.distributed.flight_recorder.fr_trace".into(),
        "--prefix".into(),
        prefix.into(),
        folder.into(),
    ];
    Ok(Race {
        input_bytes: size(&dumps)?,
        ours: ours(&dumps, &[])?,
        theirs: Program::new(words),
    })
}

/// A long training log, and logs of nothing but failures. What a search for a few of the phrases takes is the limit of
/// what reading can take. Judged is what `diagnose` does
/// from start to end: the log is read, and every table and plugin is asked.
fn logs(data: &Path) -> Vec<Row<'_>> {
    let healthy = Goal::BytesPerSecond(200e6);
    let failing = Goal::BytesPerSecond(60e6);
    let mut rows = vec![
        Row::new("training log, ripgrep", healthy, || {
            let log = inputs::training_log(data)?;
            race_with_ripgrep(ours([&log], &[])?, log)
        }),
        Row::new("training log, judged, ripgrep", healthy, || {
            let log = inputs::training_log(data)?;
            race_with_ripgrep(judged(&log)?, log)
        }),
    ];
    rows.extend(FLOODS.iter().map(|flood| {
        Row::new(flood.row, failing, || {
            let log = flood.make(data)?;
            race_with_ripgrep(judged(&log)?, log)
        })
    }));
    rows
}

/// What a user types: `whycrash diagnose LOG`.
fn judged(log: &Path) -> Result<Program> {
    let whycrash = std::env::current_exe()?.with_file_name("whycrash");
    ensure!(
        whycrash.is_file(),
        "{} is not there: build it first",
        whycrash.display()
    );
    Ok(Program::new([
        whycrash.as_os_str(),
        "diagnose".as_ref(),
        log.as_os_str(),
    ]))
}

fn race_with_ripgrep(ours: Program, log: PathBuf) -> Result<Race> {
    let rg = tools::find("rg", "apt-get install ripgrep")?;
    let phrases = [
        "Traceback",
        "CUDA out of memory",
        "CUDA error",
        "Segmentation fault",
        "Watchdog caught",
        "NVRM: Xid",
    ];
    let mut words: Vec<OsString> = vec![rg.into(), "-j1".into(), "-c".into()];
    words.extend(phrases.into_iter().flat_map(|phrase| ["-e".into(), phrase.into()]));
    words.push(log.clone().into());
    Ok(Race {
        input_bytes: size(&[log])?,
        ours,
        theirs: Program::new(words),
    })
}
