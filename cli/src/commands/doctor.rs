//! `whycrash doctor`: what works on this machine, and how to mend what does not.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use rustix::process::{Resource, getrlimit};
use serde::Serialize;
use whycrash_plugin_host::{Diagnoser, PluginInfo, Settings};

use crate::client::{Access, Client};
use crate::collect::{self, Destination, Gpus, Handler, host};
use crate::config::{self, Config};
use crate::inputs::{self, Knowledge};
use crate::output::{self, Format};
use crate::render;

/// Check what works on this machine, and how to mend what does not
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    knowledge: Knowledge,
    /// The server's address [default: http://127.0.0.1:7311]
    #[arg(long, value_name = "URL", env = "WHYCRASH_SERVER", hide_env = true)]
    server: Option<String>,
    /// How to answer
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Whether something works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It does.
    Ok,
    /// Diagnosing works, with less to go on.
    Limited,
    /// Diagnosing does not work.
    Broken,
}

/// One thing that was looked at.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// What.
    pub name: &'static str,
    /// Whether it works.
    pub state: State,
    /// What was found.
    pub found: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mend: Option<String>,
}

impl Check {
    fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Self {
            name,
            state: State::Ok,
            found: found.into(),
            mend: None,
        }
    }

    fn limited(name: &'static str, found: impl Into<String>, mend: impl Into<String>) -> Self {
        Self {
            name,
            state: State::Limited,
            found: found.into(),
            mend: Some(mend.into()),
        }
    }

    fn broken(name: &'static str, found: impl Into<String>, mend: impl Into<String>) -> Self {
        Self {
            state: State::Broken,
            ..Self::limited(name, found, mend)
        }
    }
}

/// Looks at everything. Fails only when diagnosing would.
pub fn execute(args: &Args, config: &Config) -> anyhow::Result<ExitCode> {
    // First, while there is no other thread: it forks.
    let gpus = gpus();
    let checks = vec![
        plugins(&args.knowledge, config),
        state_folder(),
        core_limit(),
        core_pattern(),
        faulthandler(),
        shared_memory(),
        ptrace(),
        kernel_log(),
        gpus,
        symbols(&args.knowledge, config),
        server(args.server.as_deref(), config),
    ];
    output::answer(args.format, &checks, |checks| render::checks(checks, output::width()))?;
    let broken = checks.iter().any(|check| check.state == State::Broken);
    Ok(if broken { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn plugins(knowledge: &Knowledge, config: &Config) -> Check {
    const NAME: &str = "plugins";
    let built_in = Diagnoser::new(Settings::default()).map_or(0, |diagnoser| diagnoser.plugins().len());
    match knowledge.diagnoser(config) {
        Ok(_) if built_in == 0 => Check::broken(
            NAME,
            "none built in",
            "build with the plugins: `make plugins`, then build again",
        ),
        Ok(diagnoser) => {
            diagnoser.wait_for_plugins();
            let plugins = diagnoser.plugins();
            let bad = |plugin: &&PluginInfo| plugin.problem.is_some();
            if let Some(PluginInfo {
                name, problem, source, ..
            }) = plugins.iter().find(bad)
            {
                let problem = problem.as_deref().unwrap_or_default();
                return Check::broken(NAME, format!("{name}: {problem}"), format!("mend or remove {source}"));
            }
            let names: Vec<String> = plugins.into_iter().map(|plugin| plugin.name).collect();
            Check::ok(NAME, names.join(", "))
        }
        Err(error) => Check::broken(NAME, format!("{error:#}"), "remove the plugin that does not load"),
    }
}

fn state_folder() -> Check {
    const NAME: &str = "reports";
    let Some(folder) = config::state_folder() else {
        return Check::limited(
            NAME,
            "no home folder to keep reports in",
            "give `run` one with --output",
        );
    };
    match std::fs::create_dir_all(&folder).and_then(|()| tempfile_in(&folder)) {
        Ok(()) => Check::ok(NAME, format!("kept in {}", folder.display())),
        Err(error) => {
            let found = format!("can not be kept in {}: {error}", folder.display());
            Check::limited(
                NAME,
                found,
                "make the folder writable, or give `run` another with --output",
            )
        }
    }
}

/// Whether a file can be written there.
fn tempfile_in(folder: &Path) -> std::io::Result<()> {
    let probe = folder.join(format!(".probe-{}", std::process::id()));
    std::fs::write(&probe, b"")?;
    std::fs::remove_file(probe)
}

fn core_limit() -> Check {
    const NAME: &str = "core limit";
    match getrlimit(Resource::Core).maximum {
        Some(0) => Check::limited(
            NAME,
            "the hard limit is 0: no core dump can be written",
            "raise it: LimitCORE=infinity in a unit, --ulimit core=-1 for a container, limits.conf for logins",
        ),
        Some(bytes) => Check::limited(
            NAME,
            format!("core dumps are cut at {}", indicatif::HumanBytes(bytes)),
            "raise the hard limit to unlimited",
        ),
        None => Check::ok(NAME, "`run` raises it to unlimited for the job"),
    }
}

fn core_pattern() -> Check {
    const NAME: &str = "core pattern";
    let own =
        std::env::current_exe().map_or_else(|_| "/usr/bin/whycrash".to_owned(), |path| path.display().to_string());
    let ours = format!("as root: sysctl kernel.core_pattern='|{own} core-handler %P %t %e'");
    match Destination::of_this_machine() {
        Some(Destination::File(pattern)) if pattern.contains('%') => Check::ok(NAME, format!("files named {pattern}")),
        Some(Destination::File(pattern)) => Check::limited(
            NAME,
            format!("every core dump is named {pattern:?}: of several workers only one is left"),
            format!("as root: sysctl kernel.core_pattern={pattern}.%p"),
        ),
        Some(Destination::Program(Handler::Systemd)) => Check::ok(NAME, "systemd-coredump, asked with coredumpctl"),
        Some(Destination::Program(Handler::Whycrash(store))) => {
            Check::ok(NAME, format!("whycrash core-handler, kept in {}", store.display()))
        }
        Some(Destination::Program(Handler::Apport)) => Check::limited(NAME, "apport, which keeps few of them", ours),
        Some(Destination::Program(Handler::Other(command))) => {
            Check::limited(NAME, format!("handed to {command:?}"), ours)
        }
        None => Check::limited(NAME, "the kernel does not tell", "mount /proc"),
    }
}

fn faulthandler() -> Check {
    const NAME: &str = "faulthandler";
    match std::env::var("PYTHONFAULTHANDLER") {
        Ok(value) if value.is_empty() => Check::limited(
            NAME,
            "PYTHONFAULTHANDLER is set to nothing, which turns it off",
            "unset PYTHONFAULTHANDLER",
        ),
        Ok(_) => Check::ok(NAME, "PYTHONFAULTHANDLER is set"),
        Err(_) => Check::ok(NAME, "`run` turns it on for Python jobs"),
    }
}

fn shared_memory() -> Check {
    const NAME: &str = "/dev/shm";
    /// Docker's default, which data loader workers outgrow at once.
    const SMALL: u64 = 64 << 20;
    let size = host::shared_memory().and_then(|about| about.get("size")?.as_u64());
    match size {
        Some(bytes) if bytes > SMALL => Check::ok(NAME, indicatif::HumanBytes(bytes).to_string()),
        Some(bytes) => Check::limited(
            NAME,
            format!(
                "{}: data loader workers will die of SIGBUS",
                indicatif::HumanBytes(bytes)
            ),
            "give the container more: --shm-size=16g, or --ipc=host",
        ),
        None => Check::limited(NAME, "not there", "mount a tmpfs on /dev/shm"),
    }
}

fn ptrace() -> Check {
    const NAME: &str = "ptrace";
    match host::read("/proc/sys/kernel/yama/ptrace_scope").as_deref() {
        None | Some("0") => Check::ok(NAME, "allowed: py-spy and gdb can look into hung jobs"),
        Some("1") => Check::ok(NAME, "allowed for a parent: start debuggers above the job, or as root"),
        Some(scope) => Check::limited(
            NAME,
            format!("kernel.yama.ptrace_scope is {scope}: nothing can look into hung jobs"),
            "as root: sysctl kernel.yama.ptrace_scope=1",
        ),
    }
}

fn kernel_log() -> Check {
    match collect::kernel_log_readable() {
        Ok(()) => Check::ok(
            "kernel log",
            "readable: GPU errors (Xid) and OOM kills will be in the report",
        ),
        Err(missing) => Check::limited("kernel log", missing.why, missing.mend.unwrap_or_default()),
    }
}

fn gpus() -> Check {
    const NAME: &str = "GPUs";
    /// A driver that works answers in a second or two.
    const PATIENCE: Duration = Duration::from_secs(10);
    let mut gpus = Gpus::watch(PATIENCE);
    gpus.wait(PATIENCE);
    match gpus.facts() {
        Ok(facts) => {
            let names = facts
                .get("devices")
                .and_then(|devices| devices.as_array())
                .into_iter()
                .flatten();
            let names: Vec<&str> = names.filter_map(|device| device.get("name")?.as_str()).collect();
            let driver = facts
                .get("driver")
                .and_then(|driver| driver.as_str())
                .unwrap_or("unknown");
            Check::ok(
                NAME,
                format!("driver {driver}, {} devices: {}", names.len(), names.join(", ")),
            )
        }
        Err(missing) => Check::limited(
            NAME,
            missing.why,
            missing.mend.unwrap_or_else(|| "see what nvidia-smi says".to_owned()),
        ),
    }
}

fn symbols(knowledge: &Knowledge, config: &Config) -> Check {
    const NAME: &str = "symbols";
    let folders = inputs::symbol_folders(&knowledge.symbols, config);
    let gone: Vec<String> = folders
        .iter()
        .filter(|f| !f.is_dir())
        .map(|f| f.display().to_string())
        .collect();
    if !gone.is_empty() {
        return Check::limited(
            NAME,
            format!("no such folder: {}", gone.join(", ")),
            "correct WHYCRASH_SYMBOLS or the settings",
        );
    }
    let system = Path::new("/usr/lib/debug/.build-id").is_dir();
    let own = folders.iter().map(|folder| folder.display().to_string());
    let searched: Vec<String> = own.chain(system.then(|| "/usr/lib/debug".to_owned())).collect();
    if searched.is_empty() {
        let mend = "name folders of debug files in WHYCRASH_SYMBOLS, or install the distribution's debug symbols";
        return Check::limited(NAME, "only what the binaries themselves have", mend);
    }
    Check::ok(NAME, searched.join(", "))
}

fn server(flag: Option<&str>, config: &Config) -> Check {
    const NAME: &str = "server";
    let client = Client::new(flag, config);
    let asked = client.and_then(|client| Ok((client.access()?, client.server().to_owned())));
    match asked {
        Ok((Access::Reading, address)) => Check::ok(NAME, address),
        Ok((Access::Sending, address)) => Check::ok(NAME, format!("{address}, with a token that allows no reading")),
        Ok((Access::Open, address)) => Check::ok(
            NAME,
            format!(
                "{address}, open to its own machine alone; for others, `whycrash-server token create --scope admin` \
                 there makes the first token"
            ),
        ),
        Err(error) => Check::limited(
            NAME,
            format!("{error:#}"),
            "only upload, search and show need one; a token goes into WHYCRASH_TOKEN or the settings",
        ),
    }
}
