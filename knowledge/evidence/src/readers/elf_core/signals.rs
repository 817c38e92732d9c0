//! Names of signals and of their codes, as signal(7) and sigaction(2) have them on Linux.

/// Name of a signal number on x86-64 and aarch64.
pub fn signal_name(number: i32) -> String {
    const NAMES: [&str; 32] = [
        "0",
        "SIGHUP",
        "SIGINT",
        "SIGQUIT",
        "SIGILL",
        "SIGTRAP",
        "SIGABRT",
        "SIGBUS",
        "SIGFPE",
        "SIGKILL",
        "SIGUSR1",
        "SIGSEGV",
        "SIGUSR2",
        "SIGPIPE",
        "SIGALRM",
        "SIGTERM",
        "SIGSTKFLT",
        "SIGCHLD",
        "SIGCONT",
        "SIGSTOP",
        "SIGTSTP",
        "SIGTTIN",
        "SIGTTOU",
        "SIGURG",
        "SIGXCPU",
        "SIGXFSZ",
        "SIGVTALRM",
        "SIGPROF",
        "SIGWINCH",
        "SIGIO",
        "SIGPWR",
        "SIGSYS",
    ];
    let known = usize::try_from(number).ok().and_then(|index| NAMES.get(index));
    known.map_or_else(|| format!("signal {number}"), |name| (*name).to_owned())
}

pub(super) const SIGILL: i32 = 4;
pub(super) const SIGTRAP: i32 = 5;
pub(super) const SIGBUS: i32 = 7;
pub(super) const SIGFPE: i32 = 8;
pub(super) const SIGSEGV: i32 = 11;
/// `si_code` of a fault that the kernel can not tell the address of.
pub(super) const SI_KERNEL: i32 = 0x80;
/// `si_code` of SIGSEGV: the mapping does not allow the access.
pub(super) const SEGV_ACCERR: i32 = 2;

/// Name of a signal's code.
pub fn code_name(signal: i32, code: i32) -> String {
    let particular: &[&str] = match signal {
        SIGILL => &[
            "ILL_ILLOPC",
            "ILL_ILLOPN",
            "ILL_ILLADR",
            "ILL_ILLTRP",
            "ILL_PRVOPC",
            "ILL_PRVREG",
            "ILL_COPROC",
            "ILL_BADSTK",
            "ILL_BADIADDR",
        ],
        SIGTRAP => &["TRAP_BRKPT", "TRAP_TRACE", "TRAP_BRANCH", "TRAP_HWBKPT", "TRAP_UNK"],
        SIGBUS => &[
            "BUS_ADRALN",
            "BUS_ADRERR",
            "BUS_OBJERR",
            "BUS_MCEERR_AR",
            "BUS_MCEERR_AO",
        ],
        SIGFPE => &[
            "FPE_INTDIV",
            "FPE_INTOVF",
            "FPE_FLTDIV",
            "FPE_FLTOVF",
            "FPE_FLTUND",
            "FPE_FLTRES",
            "FPE_FLTINV",
            "FPE_FLTSUB",
        ],
        SIGSEGV => &["SEGV_MAPERR", "SEGV_ACCERR", "SEGV_BNDERR", "SEGV_PKUERR"],
        _ => &[],
    };
    let index = usize::try_from(code).ok().and_then(|code| code.checked_sub(1));
    if let Some(name) = index.and_then(|index| particular.get(index)) {
        return (*name).to_owned();
    }
    let general = match code {
        0 => "SI_USER",
        SI_KERNEL => "SI_KERNEL",
        -1 => "SI_QUEUE",
        -2 => "SI_TIMER",
        -3 => "SI_MESGQ",
        -4 => "SI_ASYNCIO",
        -5 => "SI_SIGIO",
        -6 => "SI_TKILL",
        _ => return format!("code {code}"),
    };
    general.to_owned()
}
