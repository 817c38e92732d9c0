//! Processes that ended, as a shell, a launcher or the process's parent prints it.

use super::Parts;
use crate::model::{EventPayload, ProcessExit};
use crate::readers::text::line::Line;
use crate::readers::text::rules::Rule;
use crate::readers::text::sink::Sink;
use crate::readers::text::{Block, regex};

/// A process that ended.
pub const RULE: Rule = Rule {
    literals: &[
        "Segmentation fault",
        "Killed",
        "Aborted",
        "Bus error",
        "Illegal instruction",
        "Floating point exception",
        "Trace/breakpoint trap",
        "Terminated",
        "Hangup",
        "Alarm clock",
        "time limit exceeded",
        "size limit exceeded",
        "User defined signal ",
        "exit code",
        "exited with code",
        "exited with status code",
        "died with <Signals.",
        "exits with return code = ",
        ": Out Of Memory",
        "Exit Code:",
        "\"ExitCode\":",
        " CANCELLED AT ",
        ";Job deleted at request of ",
        "zsh: ",
        " segmentation fault ",
        " bus error ",
        " illegal hardware instruction ",
        " floating point exception ",
        " killed  ",
        " abort  ",
        " on signal ",
        " with signal ",
        " from signal ",
        " by signal ",
        " to signal ",
        " a non-zero status of ",
        " while executing native code",
        "signal: segmentation fault",
        "signal: illegal instruction",
        "signal: bus error",
        "signal: aborted",
        "(signal ",
        "Abort trap: ",
        "Main process exited, code=",
        "signaled to shutdown with signal ",
        "Main process received SIG",
        "forrtl: severe (",
        ") received by PID ",
        "return code Negsignal.",
        "with return code ",
        "(terminated by SIG",
        "process has died [pid ",
        "' has exited with code ",
    ],
    read,
};

/// How `docker inspect` names the code that a container ended with.
const OF_DOCKER: &str = "\"ExitCode\":";

/// Words of strsignal(3), which shells print.
pub const SIGNAL_WORDS: [(&str, &str); 15] = [
    ("Segmentation fault", "SIGSEGV"),
    ("Killed", "SIGKILL"),
    ("Aborted", "SIGABRT"),
    ("Abort trap", "SIGABRT"),
    ("Bus error", "SIGBUS"),
    ("Illegal instruction", "SIGILL"),
    ("Floating point exception", "SIGFPE"),
    ("Trace/breakpoint trap", "SIGTRAP"),
    ("Terminated", "SIGTERM"),
    ("Hangup", "SIGHUP"),
    ("Alarm clock", "SIGALRM"),
    ("CPU time limit exceeded", "SIGXCPU"),
    ("File size limit exceeded", "SIGXFSZ"),
    ("User defined signal 1", "SIGUSR1"),
    ("User defined signal 2", "SIGUSR2"),
];

/// Signals as a scheduler words them: Slurm's name for a task that the kernel killed for want of memory.
const SCHEDULER_WORDS: [(&str, &str); 1] = [("Out Of Memory", "SIGKILL")];

fn read(line: &Line, sink: &mut Sink) -> Option<Box<dyn Block>> {
    // What `docker inspect` prints is data, and no record of a log.
    if line.is_quoted() && !line.text.contains(OF_DOCKER) {
        return None;
    }
    let mut origin = line.origin.clone();
    let (pid, exit) = if let Some(exit) = service(line.text) {
        // The number in its prefix is systemd's own.
        origin.pid = None;
        exit
    } else {
        shell(line.text)
            .or_else(|| zsh(line.text))
            .or_else(|| in_table(line.text))
            .or_else(|| launcher(line.text))?
    };
    origin.pid = pid.or(origin.pid);
    sink.event(
        EventPayload::ProcessExit(exit),
        &origin,
        [line.number, line.number],
        line.text,
    );
    None
}

/// A whole line `Segmentation fault (core dumped)`, or a script's `run.sh: line 3:  4711 Killed   python train.py`.
/// Words of some length stand right before the command, and on macOS the signal's number (`Abort trap: 6`).
fn shell(text: &str) -> Option<(Option<u32>, ProcessExit)> {
    let parts = Parts::of(
        regex!(
            r"^\s{0,2}(?:\S+: line \d+:\s+(?P<pid>\d+) )?(?P<word>Segmentation fault|Killed|Aborted|Abort trap|Bus error|Illegal instruction|Floating point exception|Trace/breakpoint trap|Terminated|Hangup|Alarm clock|CPU time limit exceeded|File size limit exceeded|User defined signal [12])(?:: \d{1,2})?(?:\s*\(core dumped\))?(?P<command>\s*\S.*)?$"
        ),
        text.trim_end(),
    )?;
    let pid = parts.number("pid");
    if pid.is_none() && parts.text("command").is_some() {
        return None;
    }
    let word = parts.text("word")?;
    let signal = SIGNAL_WORDS
        .iter()
        .find(|(name, _)| *name == word)
        .map(|(_, signal)| (*signal).to_owned());
    Some((
        pid,
        ProcessExit {
            signal,
            ..ProcessExit::default()
        },
    ))
}

/// Words of signals in zsh.
const ZSH_WORDS: [(&str, &str); 8] = [
    ("segmentation fault", "SIGSEGV"),
    ("killed", "SIGKILL"),
    ("abort", "SIGABRT"),
    ("bus error", "SIGBUS"),
    ("illegal hardware instruction", "SIGILL"),
    ("floating point exception", "SIGFPE"),
    ("trace trap", "SIGTRAP"),
    ("terminated", "SIGTERM"),
];

/// zsh writes `[1]    18472 segmentation fault (core dumped)  python train.py`, or `zsh: killed     python train.py`.
fn zsh(text: &str) -> Option<(Option<u32>, ProcessExit)> {
    let parts = Parts::of(
        regex!(
            r"^(?:\[\d+\]\s*[-+]?\s+(?P<pid>\d+) |zsh: )(?P<word>segmentation fault|killed|abort|bus error|illegal hardware instruction|floating point exception|trace trap|terminated)\s+(?:\(core dumped\)\s+)?\S"
        ),
        text,
    )?;
    let word = parts.text("word")?;
    let signal = ZSH_WORDS.iter().find(|(name, _)| *name == word)?.1.to_owned();
    let exit = ProcessExit {
        signal: Some(signal),
        ..ProcessExit::default()
    };
    Some((parts.number("pid"), exit))
}

/// Slurm, docker and subprocess: `srun: error: node1: task 3: Exited with exit code 1`, `… task 0: Segmentation
/// fault`, `died with <Signals.SIGKILL: 9>.`, `returned non-zero exit status 1`.
fn launcher(text: &str) -> Option<(Option<u32>, ProcessExit)> {
    if regex!(r"(?i)\bskipp(?:ing|ed)\b").is_match(text) {
        return None;
    }
    if let Some(parts) = Parts::of(regex!(r"died with <Signals\.(?P<signal>SIG[A-Z0-9]+): \d+>"), text) {
        return Some((
            None,
            ProcessExit {
                signal: parts.text("signal"),
                ..ProcessExit::default()
            },
        ));
    }
    if let Some(parts) = Parts::of(
        regex!(
            r"^(?:srun|slurmstepd): error: \S+: tasks? [\d,\[\]-]+: (?:Exited with exit code (?P<code>\d+)|(?P<word>[A-Z][\w/ ]+?)(?: \(core dumped\))?)\s*$"
        ),
        text,
    ) {
        let word = parts.text("word");
        let signal = SIGNAL_WORDS
            .iter()
            .chain(&SCHEDULER_WORDS)
            .find(|(name, _)| Some(*name) == word.as_deref())
            .map(|(_, signal)| (*signal).to_owned());
        let exit_code = parts.number("code");
        return (signal.is_some() || exit_code.is_some()).then_some((None, exit(signal, exit_code)));
    }
    if let Some(signal) = of_number(text) {
        return Some((None, exit(Some(signal.to_owned()), None)));
    }
    if let Some(signal) = of_go(text) {
        return Some((None, exit(Some(signal.to_owned()), None)));
    }
    // The run-time library of Intel's Fortran.
    if let Some(parts) = Parts::of(regex!(r"\bforrtl: severe \(\d+\): (?P<signal>SIG[A-Z]+),"), text) {
        return Some((None, exit(parts.text("signal"), None)));
    }
    // DeepSpeed's launcher was told to stop, and has ended its workers.
    if let Some(parts) = Parts::of(
        regex!(r"\bMain process received (?P<signal>SIG(?:INT|TERM)), exiting\s*$"),
        text,
    ) {
        return Some((None, exit(parts.text("signal"), None)));
    }
    // Slurm cancels a job with SIGTERM: `slurmstepd: error: *** JOB 17 ON node1 CANCELLED AT … DUE TO TIME LIMIT ***`.
    if regex!(r"^(?:srun|slurmstepd): error: \*\*\* (?:JOB|STEP) \S+ ON \S+ CANCELLED AT ").is_match(text) {
        let exit = ProcessExit {
            signal: Some("SIGTERM".to_owned()),
            ..ProcessExit::default()
        };
        return Some((None, exit));
    }
    // So does PBS: `04/18/2016 22:55:25;0008;PBS_Server.121;Job;17.node;Job deleted at request of user@node`.
    if regex!(r";Job;[^;]+;Job deleted at request of \S").is_match(text) {
        return Some((None, exit(Some("SIGTERM".to_owned()), None)));
    }
    if let Some(supervised) = supervised(text) {
        return Some(supervised);
    }
    let parts = Parts::of(
        regex!(
            r#"^(?:[Pp]rocess|[Cc]ontainer|[Jj]ob|[Cc]ommand)\b[^:]{0,60}\b(?:exited|finished|completed|terminated) with (?:exit |status )?code:? (?P<code>-?\d+)|^\s*Exit Code:\s+(?P<kubectl>\d+)\s*$|"ExitCode":\s*(?P<docker>\d+)\b|\bexits with return code = (?P<deepspeed>-?\d+)\s*$|^[a-z0-9][\w.-]*-\d+ exited with code (?P<compose>\d+)(?: \(restarting\))?\s*$"#
        ),
        text,
    )?;
    let exit_code: Option<i32> = ["code", "kubectl", "docker", "deepspeed", "compose"]
        .iter()
        .find_map(|name| parts.number(name))
        .filter(|code| *code != 0);
    exit_code?;
    Some((
        None,
        exit(exit_code.and_then(signal_of_exit).map(str::to_owned), exit_code),
    ))
}

/// What systemd says of a service: `Main process exited, code=dumped, status=11/SEGV`.
fn service(text: &str) -> Option<(Option<u32>, ProcessExit)> {
    let parts = Parts::of(
        regex!(r"Main process exited, code=(?:dumped|killed), status=\d+/(?P<signal>[A-Z0-9]+)"),
        text,
    )?;
    let signal = format!("SIG{}", parts.text("signal")?);
    Some((None, exit(Some(signal), None)))
}

/// What torchelastic's table says of a worker that a signal ended, where the table's head was cut off.
fn in_table(text: &str) -> Option<(Option<u32>, ProcessExit)> {
    let parts = Parts::of(
        regex!(r"^\s*traceback\s*: Signal \d+ \((?P<signal>SIG[A-Z0-9]+)\) received by PID (?P<pid>\d+)\s*$"),
        text,
    )?;
    Some((parts.number("pid"), exit(parts.text("signal"), None)))
}

/// What ran the process says of its end: Airflow (`Task exited with return code Negsignal.SIGKILL`, `… code -9`),
/// supervisord (`exited: train (terminated by SIGKILL; not expected)`), ROS 1 (`[node-2] process has died [pid 17, exit
/// code -11, cmd …`), Visual Studio (`The program '[17] train.exe' has exited with code -1073741819 (0xc0000005).`),
/// Vertex AI (`The replica workerpool0-0 ran out-of-memory and exited with a non-zero status of 9(SIGKILL).`), Databricks
/// (`The Python process exited with exit code 139 (SIGSEGV: Segmentation fault).`), and Mono of its own process.
fn supervised(text: &str) -> Option<(Option<u32>, ProcessExit)> {
    let parts = Parts::of(
        regex!(
            r"\bexited with return code Negsignal\.(?P<airflow>SIG[A-Z0-9]+)\b|^(?:[A-Z]+ )?exited: \S+ \(terminated by (?P<supervisord>SIG[A-Z0-9]+)(?: \(core dumped\))?; not expected\)|\b(?:[Tt]ask|[Pp]rocess) exited with return code (?P<task>-?\d+)\s*$|\bprocess has died \[pid (?P<pid>\d+), exit code (?P<ros>-?\d+), |^The program '[^']+' has exited with code (?P<windows>-?\d+) \(0x[0-9a-f]+\)|\bexited with (?:a non-zero status of|exit code) \d+ ?\((?P<named>SIG[A-Z0-9]+)|\bexited with a non-zero status of (?P<status>\d+)\b|^Got a (?P<mono>SIG[A-Z0-9]+) while executing native code"
        ),
        text,
    )?;
    let pid = parts.number("pid");
    if let Some(signal) = ["airflow", "supervisord", "named", "mono"]
        .iter()
        .find_map(|name| parts.text(name))
    {
        return Some((pid, exit(Some(signal), None)));
    }
    let code: i32 = ["task", "ros", "windows", "status"]
        .iter()
        .find_map(|name| parts.number(name))?;
    (code != 0).then(|| (pid, exit(signal_of_exit(code).map(str::to_owned), Some(code))))
}

/// The signal by its number, as MPI's launchers and supervisors of processes tell it: `mpirun noticed that process rank 3
/// with PID 17 on node n1 exited on signal 9 (Killed).`, `EXIT STRING: Killed (signal 9)`, `process 'train' (pid 17) was
/// terminated by signal 11`.
fn of_number(text: &str) -> Option<&'static str> {
    let parts = Parts::of(
        regex!(
            r"(?i)(?:\b(?:process|rank|task|worker|job|child|program|command|container|pid|main)\b.{0,120}\b(?:exited|terminated|killed|died|crashed|ended)\b(?: (?:on|with|by|due to|of|from))? signal:? (?P<number>\d{1,2})\b(?: ?\(|[.,;]|\s*$)|EXIT STRING: .*\(signal (?P<hydra>\d{1,2})\)|\bsignaled to shutdown with signal (?P<shard>\d{1,2})\b)"
        ),
        text,
    )?;
    let number = ["number", "hydra", "shard"]
        .iter()
        .find_map(|name| parts.number(name))?;
    signal_name(number)
}

/// What Go says of a child that a signal ended, alone or at the end of a line: `llama.go:451: signal: illegal instruction`.
fn of_go(text: &str) -> Option<&'static str> {
    let parts = Parts::of(
        regex!(
            r"(?:^|: )signal: (?P<words>segmentation fault|illegal instruction|bus error|aborted)(?: \(core dumped\))?\s*$"
        ),
        text,
    )?;
    let words = parts.text("words")?;
    let known = SIGNAL_WORDS.iter().find(|(known, _)| words.eq_ignore_ascii_case(known));
    known.map(|(_, signal)| *signal)
}

/// What is known where only the signal's name or the code is told.
pub fn exit(signal: Option<String>, exit_code: Option<i32>) -> ProcessExit {
    ProcessExit {
        signal,
        exit_code,
        ..ProcessExit::default()
    }
}

/// The signal an exit code stands for: negative in Python, 128 and more in shells and containers.
pub fn signal_of_exit(code: i32) -> Option<&'static str> {
    // Of Windows, whose codes are the kernel's states: https://learn.microsoft.com/openspecs/windows_protocols/ms-erref.
    match code.cast_unsigned() {
        0xC000_0005 => return Some("SIGSEGV"),
        0xC000_001D => return Some("SIGILL"),
        _ => {}
    }
    let number = if code < 0 {
        code.checked_neg()?
    } else {
        code.checked_sub(128)?
    };
    signal_name(number)
}

/// Name of a Linux signal number (x86-64 and aarch64 have the same).
pub fn signal_name(number: i32) -> Option<&'static str> {
    Some(match number {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        10 => "SIGUSR1",
        11 => "SIGSEGV",
        12 => "SIGUSR2",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 => "SIGSYS",
        _ => return None,
    })
}

/// The number of a signal that [`signal_name`] knows.
pub fn number_of_signal(name: &str) -> Option<i32> {
    (1..=31).find(|number| signal_name(*number) == Some(name))
}
