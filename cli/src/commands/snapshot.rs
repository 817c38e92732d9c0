//! `whycrash snapshot`: what a job that runs waits in.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::ensure;

use crate::collect::Watch;
use crate::config::Config;
use crate::inputs::Knowledge;
use crate::output;
use crate::report::{self, Options};

/// Make a report of a job that hangs: what each of its processes waits in
///
/// The job is not stopped and does not notice. Its stacks are read from its memory, which takes the right to trace it:
/// that of the same user, of root in a container with SYS_PTRACE, and of whoever started it where the kernel restricts
/// it (kernel.yama.ptrace_scope).
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The job's first process: the launcher, or what `whycrash run` started
    #[arg(value_name = "PID")]
    pid: u32,
    /// Upload the report to this server
    #[arg(long, value_name = "URL", env = "WHYCRASH_SERVER", hide_env = true)]
    server: Option<String>,
    /// Keep the report in this folder [default: a folder named after the report below ~/.local/state/whycrash]
    #[arg(long, value_name = "FOLDER", env = "WHYCRASH_OUTPUT", hide_env = true)]
    output: Option<PathBuf>,
    #[command(flatten)]
    knowledge: Knowledge,
}

/// Makes the report.
pub fn execute(args: &Args, config: &Config) -> anyhow::Result<ExitCode> {
    let pid = args.pid;
    ensure!(
        Path::new(&format!("/proc/{pid}")).exists(),
        "there is no process {pid}: `ps -ef` shows those that run"
    );
    let options = Options {
        output: args.output.clone(),
        server: args.server.clone(),
        report_to: None,
        knowledge: args.knowledge.clone(),
        diagnose: true,
        quiet: false,
        brief: false,
        width: output::error_width(),
        server_wait: Duration::MAX,
    };
    let seen = Watch::look_at(pid)?.so_far();
    let output = Err(anyhow::anyhow!("only what `whycrash run` started is recorded"));
    report::finish(report::of_running(seen, output, options, config))?;
    Ok(ExitCode::SUCCESS)
}
