//! Compiling a component in a process of its own.
//!
//! The compiler is not hardened against hostile input the way that execution is: a few kilobytes can make it want
//! gigabytes and minutes. So a component from outside is looked at and compiled by a child, which is this program or
//! another of ours started with [`COMMAND`]. It reads the component from its standard input, writes native code to its
//! standard output and reasons to its standard error, under limits of memory and processor time that it sets before it
//! reads a byte.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, Signal};

use super::room::{Room, compiled_side_by_side};
use super::{PluginError, PluginLimits, cache, clean, cut, engine, inspect, parts};

/// The only argument of a child that compiles a plugin.
const COMMAND: &str = "compile-plugin";
/// This very program, also when another took its place on disk meanwhile.
pub const THIS_PROGRAM: &str = "/proc/self/exe";
/// Exit code of a child that refused the component.
const REFUSED: u8 = 3;
/// Bytes kept of what a child says.
const REASON_BYTES: u64 = 4 << 10;
/// How often a child is looked at.
const LOOK: Duration = Duration::from_millis(5);
/// How much longer than its processor time a child may take on a machine that is busy.
const PATIENCE: u32 = 20;

/// Memory that all who compile for this process may take together: as much as one large component may.
static ROOM: Room = Room::new(4 << 30);

/// Bytes of a component that a second of processor time compiles, at least. The compiler of a development build is not
/// optimised: there an interpreter of 12 MB takes more than two minutes.
const BYTES_A_SECOND: u64 = if cfg!(debug_assertions) { 30_000 } else { 100_000 };

/// What compiling a component of some size may cost.
#[derive(Clone, Copy, Debug)]
struct Cost {
    seconds: u64,
    memory: u64,
    code: u64,
}

impl Cost {
    fn of(bytes: u64) -> Self {
        Self {
            seconds: 10 + bytes / BYTES_A_SECOND,
            memory: (1 << 30) + bytes.saturating_mul(64).min(3 << 30),
            code: (16 << 20) + bytes.saturating_mul(16),
        }
    }
}

/// The longest that compiling a component of this size may take.
pub(super) fn patience(bytes: u64) -> Duration {
    Duration::from_secs(Cost::of(bytes).seconds) * PATIENCE
}

/// Compiles a plugin if that is what this process was started for: the program's `main` calls it before anything else
/// and ends with what it returns.
pub fn compile_if_asked() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_none_or(|first| first != COMMAND) || arguments.next().is_some() {
        return None;
    }
    Some(match compile_standard_input() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            match error {
                PluginError::Refused(_) => ExitCode::from(REFUSED),
                _ => ExitCode::FAILURE,
            }
        }
    })
}

fn compile_standard_input() -> Result<(), PluginError> {
    let input = File::from(rustix::io::dup(io::stdin()).map_err(io::Error::from).map_err(host)?);
    let bytes = input.metadata().map_err(host)?.len();
    limit_this_process(Cost::of(bytes)).map_err(host)?;
    let mut wasm = Vec::new();
    input.take(bytes).read_to_end(&mut wasm).map_err(host)?;
    let code = native_code(&wasm, &PluginLimits::default())?;
    io::stdout().write_all(&code).map_err(host)
}

/// The native code of a component that is as a plugin's must be.
pub(super) fn native_code(wasm: &[u8], limits: &PluginLimits) -> Result<Vec<u8>, PluginError> {
    let refused = |error| PluginError::Refused(format!("it does not compile: {error:#}"));
    inspect::inspect(wasm, limits)?;
    let code = whycrash_engine::precompile(wasm).map_err(refused)?;
    let unpooled = engine::unpooled().map_err(refused)?;
    parts::check_resources(&cache::deserialize(&unpooled, &code).map_err(refused)?)?;
    Ok(code)
}

fn limit_this_process(cost: Cost) -> io::Result<()> {
    // The signal of the soft limit of processor time tells it from other ends.
    for (resource, most, grace) in [
        (Resource::As, cost.memory, 0),
        (Resource::Fsize, cost.code, 0),
        (Resource::Core, 0, 0),
        (Resource::Cpu, cost.seconds, 2),
    ] {
        // Nobody may give themselves more than whoever started them had.
        let hard = rustix::process::getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let limit = Rlimit {
            current: Some(most.min(hard)),
            maximum: Some((most + grace).min(hard)),
        };
        rustix::process::setrlimit(resource, limit)?;
    }
    // Whoever waits for reports goes first.
    rustix::process::nice(10)?;
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    Ok(())
}

/// Compiles a component with this program, as soon as there is room for that, and leaves the native code in a file.
pub(super) fn compile(program: &Path, wasm: &[u8], code: &File) -> Result<(), PluginError> {
    let cost = Cost::of(wasm.len() as u64);
    let _place = ROOM.place(cost.memory, compiled_side_by_side());
    let mut input = tempfile::tempfile().map_err(host)?;
    input.write_all(wasm).and_then(|()| input.rewind()).map_err(host)?;
    let mut child = Command::new(program)
        .arg(COMMAND)
        .env_clear()
        .stdin(input)
        .stdout(code.try_clone().map_err(host)?)
        .stderr(Stdio::piped())
        .spawn()
        .map_err(host)?;
    let said = child.stderr.take();
    let said = thread::spawn(move || {
        let mut text = Vec::new();
        if let Some(said) = said {
            // What can not be read is not told.
            let _ = said.take(REASON_BYTES).read_to_end(&mut text);
        }
        String::from_utf8_lossy(&text).into_owned()
    });
    let status = wait(&mut child, patience(wasm.len() as u64))?;
    let said = said.join().unwrap_or_default();
    verdict(status, &said, cost)
}

fn wait(child: &mut Child, patience: Duration) -> Result<ExitStatus, PluginError> {
    let deadline = Instant::now() + patience;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) if Instant::now() < deadline => thread::sleep(LOOK),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(PluginError::Host(
                    "compiling it did not end; the machine may be too busy".to_owned(),
                ));
            }
            Err(error) => return Err(host(error)),
        }
    }
}

/// What became of a component that a child was given.
fn verdict(status: ExitStatus, said: &str, cost: Cost) -> Result<(), PluginError> {
    const CPU_TIME: i32 = 24;
    const ABORTED: i32 = 6;
    let said = cut(clean::line(said).as_str(), REASON_BYTES as usize);
    if status.success() {
        return Ok(());
    }
    let reason = match (status.code(), status.signal()) {
        (Some(code), _) if code == i32::from(REFUSED) => said,
        (_, Some(CPU_TIME)) => format!("compiling it takes more than {} s of processor time", cost.seconds),
        (_, Some(ABORTED)) if said.contains("memory allocation") => {
            format!("compiling it takes more than {} MiB of memory", cost.memory >> 20)
        }
        (_, Some(signal)) if signal != Signal::KILL.as_raw() => {
            format!("the compiler falls over it (signal {signal})")
        }
        _ => return Err(PluginError::Host(format!("compiling it failed ({status}): {said}"))),
    };
    Err(PluginError::Refused(reason))
}

fn host(error: io::Error) -> PluginError {
    PluginError::Host(format!("it could not be compiled: {error}"))
}
