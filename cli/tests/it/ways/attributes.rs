//! What a process may change about itself: whatever it is, the job ends as it would without us.

use super::families::ends;
use super::{Report, compare_all, reported, way};

const PRCTL: &str = "#include <sys/prctl.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <linux/filter.h>
#include <sys/resource.h>
static void refuse(int call, unsigned how) {
  struct sock_filter filter[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, how),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {4, filter};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}";

#[test]
fn a_job_that_shuts_itself_in_ends_the_same() {
    compare_all(&[
        ends(
            PRCTL,
            "prctl(PR_SET_SECCOMP, 1); syscall(SYS_getpid);",
            Report::Signal("SIGKILL"),
        ),
        ends(
            PRCTL,
            "prctl(PR_SET_SECCOMP, 1); syscall(SYS_exit, 3);",
            Report::Code(3),
        ),
        ends(
            PRCTL,
            "refuse(SYS_getppid, SECCOMP_RET_KILL_PROCESS); syscall(SYS_getppid);",
            Report::Signal("SIGSYS"),
        ),
        ends(
            PRCTL,
            "refuse(SYS_getppid, SECCOMP_RET_TRAP); syscall(SYS_getppid);",
            Report::Signal("SIGSYS"),
        ),
        ends(
            PRCTL,
            "refuse(SYS_openat, SECCOMP_RET_ERRNO | EACCES); *(volatile int *)8 = 1;",
            Report::Signal("SIGSEGV"),
        ),
        // Nobody may look into it, or dump its core.
        ends(
            PRCTL,
            "prctl(PR_SET_DUMPABLE, 0); *(volatile int *)8 = 1;",
            Report::Signal("SIGSEGV"),
        ),
        ends(
            PRCTL,
            "prctl(PR_SET_CHILD_SUBREAPER, 1); if (fork() == 0) { fork(); _exit(0); } return 4;",
            Report::Code(4),
        ),
        ends(PRCTL, "prctl(PR_SET_PDEATHSIG, SIGTERM); return 5;", Report::Code(5)),
        ends(PRCTL, "ptrace(PTRACE_TRACEME, 0, 0, 0); return 5;", Report::Code(5)),
        ends(
            PRCTL,
            "mlockall(MCL_CURRENT | MCL_FUTURE); abort();",
            Report::Signal("SIGABRT"),
        ),
    ]);
}

/// What `/proc` says of a process begins with this name, which is the job's to choose.
#[test]
fn a_job_with_an_odd_name_ends_the_same() {
    let names = [
        ") R 1 1 1 (",
        "a\\nState:\\tT (stopped)",
        "\\xff\\xfe",
        "\\033[31m",
        "",
        ")))))))))))))))",
    ];
    let ways = names.map(|name| {
        ends(
            PRCTL,
            format!("prctl(PR_SET_NAME, \"{name}\"); usleep(50000); if (fork() == 0) raise(SIGBUS); wait(0); abort();")
                .leak(),
            Report::Signal("SIGABRT"),
        )
    });
    compare_all(&ways);
}

#[test]
fn a_job_that_takes_its_own_limits_away_ends_the_same() {
    let limited = |limit: &str, then: &str, report| {
        ends(
            PRCTL,
            format!("struct rlimit none = {{0, 0}}; setrlimit({limit}, &none); {then}").leak(),
            report,
        )
    };
    compare_all(&[
        limited(
            "RLIMIT_NOFILE",
            "return 3 + (open(\"/dev/null\", 0) >= 0);",
            Report::Code(3),
        ),
        limited(
            "RLIMIT_FSIZE",
            "signal(SIGXFSZ, SIG_IGN); FILE *f = fopen(\"f\", \"w\"); fputc(1, f); return 3 + (fflush(f) == 0);",
            Report::Code(3),
        ),
        limited("RLIMIT_AS", "return 3 + (malloc(1 << 28) != 0);", Report::Code(3)),
        limited("RLIMIT_STACK", "abort();", Report::Signal("SIGABRT")),
        limited("RLIMIT_CPU", "for (;;) {}", Report::AsStatus),
        limited("RLIMIT_NPROC", "return 3;", Report::Code(3)),
        limited("RLIMIT_CORE", "abort();", Report::Signal("SIGABRT")),
        limited("RLIMIT_SIGPENDING", "raise(SIGUSR1);", Report::Signal("SIGUSR1")),
    ]);
}

#[test]
fn a_job_that_leaves_everything_behind_ends_the_same() {
    const DAEMON: &str = "import os, sys
def leave():
    if os.fork(): os._exit(0)
    os.setsid()
    if os.fork(): os._exit(0)
";
    compare_all(&[
        way("exec $RUN python3 -c 'import os; os.closerange(0, 1024); os._exit(3)'"),
        way("exec $RUN python3 -c 'import os; os.closerange(0, 1024); os.abort()'"),
        way("exec $RUN python3 -c 'import os; os.closerange(3, 1024); print(1, flush=True); os.kill(os.getpid(), 7)'"),
        way("exec $RUN python3 -c 'import os; os.setsid() if os.getpgrp() != os.getpid() else 0; os.kill(0, 15)'"),
        way("exec $RUN python3 -c 'import os; os.chdir(\"/\"); os.chroot(\"/\"); os.umask(0o777); os.abort()'"),
        reported(
            format!(
                "$RUN python3 -c '{DAEMON}leave()
leave()
os.closerange(0, 3)
open(\"made\", \"w\")' ; until [ -e made ]; do sleep 0.05; done; sleep 0.1"
            )
            .leak(),
            Report::None,
        ),
        way("exec $RUN unshare -fpmuin --mount-proc sh -c 'kill -SEGV $$; exit 3' 2>/dev/null"),
        way("exec $RUN chroot / sh -c 'kill -SEGV $$'"),
        way("exec $RUN flock -x $HOME sh -c 'kill -SEGV $$'"),
        way("exec $RUN flock -x .. sh -c 'exit 3'"),
    ]);
}

/// The job has more rights than we have: it is its own.
#[test]
fn a_job_that_becomes_its_files_owner_ends_the_same() {
    const AS_NOBODY: &str = "chmod 777 $PWD $PWD/..; cp $(command -v bash) own; chmod 4755 own; \
        exec setpriv --reuid=65534 --regid=65534 --clear-groups $RUN ./own -p -c";
    let jobs = ["echo $EUID; exit 3", "kill -SEGV $$", "sleep 0.2; kill -TERM $$"];
    let ways = jobs.map(|job| {
        reported(
            format!("{{ {AS_NOBODY} '{job}'; }} 2>/dev/null").leak(),
            Report::AsStatus,
        )
    });
    compare_all(&ways);
}
