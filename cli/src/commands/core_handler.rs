//! `whycrash core-handler`: the program behind the kernel's core_pattern pipe.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::handler::{self, Crash, Owner};

/// Where core dumps are kept when the pattern does not say.
pub const STORE: &str = "/var/lib/whycrash/cores";
/// What the kernel hands over, after the program and the name of this command.
pub const PATTERN: &str = "%P %u %g %d %t -- %e";

/// Keep a minicore of what the kernel dumps, which it hands over on standard input
///
/// For the kernel; `whycrash doctor` prints the line that sets it up. The minicores of each user are in a folder of
/// theirs, for 14 days, and at most 1 GiB of them.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder to keep minicores in
    #[arg(long, value_name = "FOLDER", default_value = STORE)]
    store: PathBuf,
    /// The process's number, as this machine counts (%P)
    pid: u32,
    /// Its user (%u)
    user: u32,
    /// Its group (%g)
    group: u32,
    /// For whom it may be dumped (%d): 1 for its user, 2 for root alone
    dump_mode: u32,
    /// When it crashed, in seconds since 1970 (%t)
    time: u64,
    /// The name of its program (%e)
    #[arg(last = true)]
    name: Vec<String>,
}

/// Keeps what comes on standard input. The kernel listens to nobody, so what goes wrong is said in its log.
pub fn execute(args: &Args) -> anyhow::Result<ExitCode> {
    let log = std::fs::File::options().write(true).open("/dev/kmsg");
    let name = args.name.join("_");
    let crash = Crash {
        pid: args.pid,
        owner: Owner::of(args.user, args.group, args.dump_mode),
        time: args.time,
        name: if name.is_empty() { "unknown" } else { &name },
    };
    let kept = handler::keep(&crash, &args.store, std::io::stdin().lock());
    if let (Err(error), Ok(mut log)) = (&kept, log) {
        let line = format!("whycrash: no core dump of process {}: {error:#}", args.pid);
        let _ = log.write_all(whycrash_evidence::printable(&line).as_bytes());
    }
    kept?;
    Ok(ExitCode::SUCCESS)
}
