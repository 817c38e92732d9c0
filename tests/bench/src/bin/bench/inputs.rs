//! Inputs that are too large to keep: made once, into the folder given.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use whycrash_bench::Artifacts;

use crate::tools;

/// Trace entries of the long memory snapshot: 210 MB, as some minutes of training leave it.
const SNAPSHOT_ENTRIES: u32 = 1_500_000;
/// Ranks of the job whose recorders are full, and the entries of each: PyTorch's default.
const RANKS: u32 = 16;
const RECORDER_ENTRIES: u32 = 2000;
/// What the recorders' file names start with.
pub const RECORDER_PREFIX: &str = "nccl_trace_rank_";
/// Size of the training log, in bytes.
const LOG_BYTES: u64 = 256 << 20;

/// A memory snapshot with a long trace.
pub fn long_snapshot(data: &Path) -> Result<PathBuf> {
    let path = data.join(format!("snapshot-{SNAPSHOT_ENTRIES}.pickle"));
    once(path, |partial| {
        generate("memory_snapshots.py", partial, &[SNAPSHOT_ENTRIES])
    })
}

/// A folder with the recorders of all ranks of a job.
pub fn full_recorders(data: &Path) -> Result<PathBuf> {
    let path = data.join(format!("recorders-{RANKS}-{RECORDER_ENTRIES}"));
    once(path, |partial| {
        generate("flight_recorders.py", partial, &[RANKS, RECORDER_ENTRIES])
    })
}

/// A log of a distributed training.
pub fn training_log(data: &Path) -> Result<PathBuf> {
    let path = data.join(format!("train-{}.log", LOG_BYTES >> 20));
    once(path, |partial| {
        let mut log = BufWriter::new(File::create(partial)?);
        write_training_log(&mut log, LOG_BYTES)?;
        Ok(log.flush()?)
    })
}

/// Breakpad's symbol files of a C++ program and of the C library that it runs with here.
pub fn breakpad_symbols(artifacts: &Artifacts, data: &Path) -> Result<PathBuf> {
    let dump_syms = tools::find("dump_syms", "cargo install dump_syms")?;
    let program = artifacts
        .binary("n_plain_O2")
        .context("n_plain_O2 is not among the artifacts")?;
    once(data.join("breakpad"), |partial| {
        for binary in [&*program, Path::new("/lib/x86_64-linux-gnu/libc.so.6")] {
            let status = Command::new(&dump_syms)
                .arg("--store")
                .args([partial, binary])
                .status()?;
            ensure!(status.success(), "dump_syms failed on {}", binary.display());
        }
        Ok(())
    })
}

/// What a generator wrote under another name becomes the input when it is whole.
pub fn once(path: PathBuf, make: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    if !path.exists() {
        eprintln!("making {} (once)", path.display());
        let partial = path.with_extension("partial");
        make(&partial).with_context(|| format!("{} could not be made", path.display()))?;
        std::fs::rename(&partial, &path)?;
    }
    Ok(path)
}

fn generate(script: &str, output: &Path, numbers: &[u32]) -> Result<()> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../generators").join(script);
    let mut command = Command::new(tools::python());
    command.arg(&script).arg("big").arg(output);
    command.args(numbers.iter().map(u32::to_string));
    let status = command
        .status()
        .context("python3 is missing: apt-get install python3")?;
    ensure!(status.success(), "{} failed", script.display());
    Ok(())
}

/// Writes a log of eight ranks: mostly lines of progress, with the warnings, library messages and caught exceptions
/// that real logs have between them, and a collective's time-out at the end.
fn write_training_log(log: &mut impl Write, bytes: u64) -> std::io::Result<()> {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let mut written = 0;
    let mut step = 0_u64;
    while written < bytes {
        step += 1;
        let lines = lines_of_a_step(step, &mut numbers);
        log.write_all(lines.as_bytes())?;
        written += lines.len() as u64;
    }
    log.write_all(END.as_bytes())
}

fn lines_of_a_step(step: u64, numbers: &mut Numbers) -> String {
    let rank = numbers.below(8);
    let seconds = step / 3;
    let clock = format!(
        "{:02}:{:02}:{:02}",
        seconds / 3600 % 24,
        seconds / 60 % 60,
        seconds % 60
    );
    let loss = 2.0 + numbers.below(10_000) as f64 / 1e4;
    let mut lines = format!(
        "2026-11-21 {clock},{:03} INFO [trainer.py:412] step {step} | loss {loss:.4} | grad_norm {:.3} | lr 2.97e-04 | tokens/s {} | mem 61.{} GiB\n",
        numbers.below(1000),
        0.2 + numbers.below(900) as f64 / 1e3,
        180_000 + numbers.below(9000),
        numbers.below(10),
    );
    match numbers.below(1000) {
        0..120 => {
            lines += &format!(
                "[rank{rank}]: 2026-11-21 {clock} fetched shard s3-cache/train-{:05}.tar in {} ms\n",
                numbers.below(20_000),
                numbers.below(3000)
            )
        }
        120..200 => {
            lines += &format!(
                "Epoch {}:  {}%|{:<10}| {step}/500000 [{clock}<11:02:55, {}.{:02}it/s, v_num=7]\r\n",
                step / 20_000,
                step % 100,
                "#".repeat((step % 10) as usize),
                numbers.below(4),
                numbers.below(100)
            )
        }
        200..240 => {
            lines += &format!(
                "node-{:02}:{}:{} [{rank}] NCCL INFO Channel {:02}/16 : {rank}[{rank}] -> {}[{}] via P2P/CUMEM/read\n",
                numbers.below(16),
                3000 + rank,
                4000 + rank,
                numbers.below(16),
                (rank + 1) % 8,
                (rank + 1) % 8
            )
        }
        240..250 => {
            lines += &format!(
                "/opt/env/lib/python3.12/site-packages/torch/optim/lr_scheduler.py:{}: UserWarning: the scheduler was stepped before the optimizer\n  warnings.warn(\n",
                100 + numbers.below(200)
            )
        }
        250 => lines += CAUGHT,
        _ => {}
    }
    lines
}

/// An exception that the training survives.
const CAUGHT: &str = "Traceback (most recent call last):
  File \"/job/data/loader.py\", line 88, in fetch
    sample = decode(raw)
  File \"/job/data/decode.py\", line 31, in decode
    raise ValueError(\"truncated image\")
ValueError: truncated image
skipping the sample
";

/// How the training ends.
const END: &str = "[rank3]:[E1121 11:17:01.832146912 ProcessGroupNCCL.cpp:607] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=88684, OpType=ALLREDUCE, NumelIn=8388608, NumelOut=8388608, Timeout(ms)=600000) ran for 600017 milliseconds before timing out.
";

/// The same numbers every time (xorshift64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}
