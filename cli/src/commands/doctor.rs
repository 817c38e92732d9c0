//! `whycrash doctor`: what works on this machine, and how to mend what does not.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use serde::Serialize;
use whycrash_evidence::did_you_mean;

use crate::cli::Cli;
use crate::client::{Access, Client};
use crate::collect::{self, AskedDriver, Destination, Gpus, Handler, OwnHandler, host};
use crate::commands::core_handler;
use crate::config::{self, Config};
use crate::handler;
use crate::inputs::{self, Knowledge};
use crate::limits::{Resource, limit};
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
    /// The command that does it, whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

impl Check {
    fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Self {
            name,
            state: State::Ok,
            found: found.into(),
            mend: None,
            command: None,
        }
    }

    fn limited(name: &'static str, found: impl Into<String>, mend: impl Into<String>) -> Self {
        Self {
            name,
            state: State::Limited,
            found: found.into(),
            mend: Some(mend.into()),
            command: None,
        }
    }

    fn by(self, command: String) -> Self {
        Self {
            command: Some(command),
            ..self
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
    let mut checks = vec![
        #[cfg(feature = "diagnosis")]
        plugins(&args.knowledge, config),
        #[cfg(feature = "diagnosis")]
        pages(&args.knowledge, config),
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
    checks.extend(cuda_driver());
    checks.extend(variables());
    output::answer(args.format, &checks, |checks| render::checks(checks, output::width()))?;
    let broken = checks.iter().any(|check| check.state == State::Broken);
    Ok(if broken { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

#[cfg(feature = "diagnosis")]
fn plugins(knowledge: &Knowledge, config: &Config) -> Check {
    use whycrash_plugin_host::{Diagnoser, PluginInfo, Settings};

    const NAME: &str = "plugins";
    let built_in = Diagnoser::new(Settings::default()).map_or(0, |diagnoser| diagnoser.plugins().len());
    match crate::diagnoser::with(knowledge, config) {
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

/// Variables of ours that stand for no flag: those that are read where they are needed, that `run` sets for jobs, and that
/// the server reads.
const OTHER_VARIABLES: [&str; 13] = [
    "WHYCRASH_DATA",
    "WHYCRASH_DEBUGINFOD",
    "WHYCRASH_KNOWLEDGE",
    "WHYCRASH_LISTEN",
    "WHYCRASH_LOG",
    "WHYCRASH_LOG_FORMAT",
    "WHYCRASH_PLUGINS",
    "WHYCRASH_PUBLIC_URL",
    "WHYCRASH_SCRUB",
    "WHYCRASH_SNAPSHOTS",
    "WHYCRASH_SYMBOLS",
    "WHYCRASH_TOKEN",
    "WHYCRASH_WORKERS",
];

/// Variables that look like ours and that nobody reads; nothing where there are none.
fn variables() -> Option<Check> {
    let mut known = Cli::variables();
    known.extend(OTHER_VARIABLES.map(str::to_owned));
    let names = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned());
    let unknown: Vec<String> = names
        .filter(|name| name.starts_with("WHYCRASH_") && !known.contains(name))
        .collect();
    let said = |name: &String| {
        format!(
            "{name} is set, and nobody reads it{}",
            did_you_mean(name, known.iter().map(String::as_str))
        )
    };
    let said: Vec<String> = unknown.iter().map(said).collect();
    (!said.is_empty()).then(|| Check::limited("variables", said.join("; "), "correct their names, or unset them"))
}

/// Pages of causes beside ours: what is wrong with those that are left out.
#[cfg(feature = "diagnosis")]
fn pages(knowledge: &Knowledge, config: &Config) -> Check {
    const NAME: &str = "pages of causes";
    let folders = inputs::knowledge_folders(&knowledge.knowledge, config);
    if folders.is_empty() {
        return Check::ok(NAME, "the built-in ones");
    }
    let left_out = match crate::diagnoser::with(knowledge, config) {
        Ok(diagnoser) => diagnoser.left_out(),
        Err(error) => return Check::broken(NAME, format!("{error:#}"), "name a folder that can be read, or none"),
    };
    let named: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    if left_out.is_empty() {
        return Check::ok(NAME, format!("the built-in ones, and those of {}", named.join(", ")));
    }
    let found: Vec<String> = left_out.iter().map(ToString::to_string).collect();
    Check::limited(
        NAME,
        found.join("; "),
        format!(
            "mend them: `whycrash cause check {}` says what is wrong",
            named.join(" ")
        ),
    )
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
    let Some(core) = limit(Resource::RLIMIT_CORE) else {
        return Check::limited(
            NAME,
            "the kernel does not say what it is",
            "let the sandbox pass prlimit64(2)",
        );
    };
    match core.hard {
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
    let ours = |found: String| {
        let place = if in_container() {
            "on the host, outside of this container"
        } else {
            "as root, until it restarts"
        };
        let mend = format!("let whycrash keep minicores; {place}:");
        Check::limited(NAME, found, mend).by(install_line())
    };
    match Destination::of_this_machine() {
        Some(Destination::File(pattern)) if pattern.contains('%') => Check::ok(NAME, format!("files named {pattern}")),
        Some(Destination::File(pattern)) => Check::limited(
            NAME,
            format!("every core dump is named {pattern:?}: of several workers only one is left"),
            "give each a name of its own; as root, until it restarts:",
        )
        .by(format!("sudo sysctl -w kernel.core_pattern='{pattern}.%p'")),
        Some(Destination::Program(Handler::Systemd)) => systemd(NAME),
        Some(Destination::Program(Handler::Whycrash(handler))) => own_handler(NAME, &handler),
        Some(Destination::Program(Handler::Apport)) => ours(
            "apport, which keeps core dumps of programs that come in no package, and not for containers".to_owned(),
        ),
        Some(Destination::Program(Handler::Other(command))) => ours(format!("handed to {command:?}")),
        None => Check::limited(NAME, "the kernel does not tell", "mount /proc"),
    }
}

fn systemd(name: &'static str) -> Check {
    let asked = Command::new("coredumpctl")
        .arg("--version")
        .stdin(Stdio::null())
        .output();
    match asked {
        Ok(_) => Check::ok(name, "systemd-coredump, asked with coredumpctl"),
        Err(_) => Check::limited(
            name,
            "systemd-coredump, but coredumpctl is not here to ask it",
            "install the package systemd-coredump; in a container, whose core dumps are the host's, let whycrash keep \
             minicores on the host:",
        )
        .by(install_line()),
    }
}

fn own_handler(name: &'static str, handler: &OwnHandler) -> Check {
    let (program, store) = (handler.program.display(), handler.store.display());
    let own = handler::folder_of(&handler.store, rustix::process::geteuid().as_raw());
    let again = |found: String| Check::limited(name, found, "set it up anew; as root:").by(install_line());
    if !handler.is_current {
        again(format!(
            "whycrash core-handler ({program}), set up for another version of it"
        ))
    } else if in_container() && !handler.store.is_dir() {
        Check::limited(
            name,
            format!("whycrash core-handler of the host, which keeps minicores in {store} there"),
            format!("mount that folder into the container: -v {store}:{store}"),
        )
    } else if !in_container() && !handler.program.is_file() {
        again(format!("whycrash core-handler, but {program} is not there"))
    } else {
        Check::ok(
            name,
            format!("whycrash core-handler; yours are kept in {}", own.display()),
        )
    }
}

/// The line that has the kernel hand core dumps to this program. It is run as root, so it has to be where nobody else
/// can change it.
fn install_line() -> String {
    const PLACE: &str = "/usr/local/bin/whycrash";
    let own = std::env::current_exe().unwrap_or_else(|_| PLACE.into());
    let is_installed = ["/usr/bin", "/usr/local/bin"]
        .iter()
        .any(|folder| own.parent() == Some(Path::new(folder)));
    let (copy, program) = if is_installed {
        (String::new(), own.display().to_string())
    } else {
        let own = own.to_string_lossy().replace('\'', "'\\''");
        (format!("sudo install -D -m 755 '{own}' {PLACE} && "), PLACE.to_owned())
    };
    let pattern = core_handler::PATTERN;
    format!("{copy}sudo sysctl -w kernel.core_pattern='|{program} core-handler {pattern}'")
}

/// Whether this is a container, whose kernel is set up on the host.
fn in_container() -> bool {
    let marks = ["/.dockerenv", "/run/.containerenv", "/run/systemd/container"];
    marks.iter().any(|mark| Path::new(mark).exists()) || std::env::var_os("KUBERNETES_SERVICE_HOST").is_some()
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

/// The driver that jobs talk to; nothing where there is none.
fn cuda_driver() -> Option<Check> {
    const NAME: &str = "CUDA driver";
    let said = match AskedDriver::start()?.answer() {
        Ok(said) => said?,
        Err(missing) => return Some(Check::limited(NAME, missing.why, missing.mend.unwrap_or_default())),
    };
    let version = said["version"].as_str().unwrap_or("of no version");
    Some(match said["error"].as_str() {
        Some(error) => Check::limited(
            NAME,
            format!("{version}, which answers {error}"),
            "see what nvidia-smi says, and what CUDA_VISIBLE_DEVICES is set to",
        ),
        None => {
            let devices = said["devices"].as_array().map_or(0, Vec::len);
            Check::ok(NAME, format!("{version}, {devices} devices visible"))
        }
    })
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
