//! Jobs whose processes, threads and sessions are not what one expects.

use super::{Report, compare_all, reported, way};

#[test]
fn those_left_behind_are_left_alone() {
    compare_all(&[
        reported(
            "$RUN sh -c '(setsid sh -c \"sleep 0.3; echo late\") & exit 3' | cat; echo ${PIPESTATUS[0]}",
            Report::Code(3),
        ),
        reported(
            "$RUN sh -c '(setsid sleep 0.3 >/dev/null 2>&1) & exit 3' | cat; echo end",
            Report::Code(3),
        ),
        way("exec $RUN sh -c '(exec >&- 2>&-; sleep 0.3; echo late > made) & sleep 0.6; kill -ABRT $$'"),
        way("exec $RUN setsid sh -c 'sleep 0.2; kill -SEGV $$'"),
        way("exec $RUN sh -c 'trap \"\" TERM; (sleep 0.3; kill -TERM $$; sleep 0.2; kill -INT $$) & sleep 9; exit 5'"),
        way("exec $RUN python3 -c 'import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(0.2)
        print(open(f\"/proc/{os.getppid()}/comm\").read().strip(), flush=True)
    os._exit(0)
os.wait(); time.sleep(0.5); os._exit(9)'"),
        way("exec $RUN python3 -c 'import os; os.setpgid(0, 0); os.kill(0, 15)'"),
        way("exec $RUN python3 -c 'import os; os.setpgid(0, 0); os.killpg(0, 9)'"),
        way("exec $RUN python3 -c 'import os; [os.fork() or os._exit(0) for _ in range(50)]; os._exit(4)'"),
    ]);
}

#[test]
fn children_made_in_every_way_end_the_same() {
    compare_all(&[
        way(
            "exec $RUN python3 -c 'import os; p = os.posix_spawn(\"/bin/sh\", [\"sh\", \"-c\", \"kill -BUS $$\"], {}); print(os.waitpid(p, 0)[1] & 127); os._exit(6)'",
        ),
        way(
            "exec $RUN python3 -c 'import subprocess; subprocess.run([\"sh\", \"-c\", \"kill -FPE $$\"], check=True)' 2>/dev/null",
        ),
        way("exec $RUN bash -c 'for i in {1..200}; do (exit $((i % 7))) & done; wait; exit 4'"),
        way(
            "exec $RUN bash -c 'coproc cat; echo through >&\"${COPROC[1]}\"; read -r x <&\"${COPROC[0]}\"; echo $x; exit 4'",
        ),
        way("exec $RUN bash -c 'exec -a odd-name sh -c \"echo \\$0; cat /proc/\\$\\$/comm; exit 3\"'"),
        way("(exec -a odd $RUN sh -c 'exit 3')"),
        reported(
            "exec $RUN sh -c 'sh -c \"exit 7\"; echo $?; sh -c \"kill -9 \\$\\$\"; echo $?' 2>/dev/null",
            Report::None,
        ),
        way("exec $RUN timeout -s KILL 0.3 sleep 60"),
        way("exec $RUN timeout 1 sh -c 'trap \"echo told; exit 3\" TERM; sleep 5 & wait'"),
        reported(
            "{ timeout -k 0.4 1.2 $RUN sh -c 'trap \"\" TERM; sleep 5'; } 2>/dev/null; echo $?",
            Report::None,
        ),
        way("exec $RUN unshare -fp sh -c 'kill -SEGV $$; exit 3' 2>/dev/null"),
        way("exec $RUN unshare -rm sh -c 'mount -t tmpfs none /proc; exit 3' 2>/dev/null"),
    ]);
}

/// Programs in C, by what stands in `main`.
fn in_c(parts: &str, main: &str) -> super::Way {
    let script = format!(
        "cc -w -pthread -x c -o program - <<'C'
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
{parts}
int main(void) {{ {main} }}
C
exec $RUN ./program"
    );
    way(script.leak())
}

/// With what its report says.
pub fn ends(parts: &str, main: &str, report: Report) -> super::Way {
    super::Way {
        report,
        ..in_c(parts, main)
    }
}

#[test]
fn threads_and_handlers_end_a_job_the_same() {
    const LATER: &str = "static void *later(void *x) { usleep(200000); _exit(9); }";
    const FAULT: &str = "static void *fault(void *x) { usleep(100000); *(volatile int *)8 = 1; }";
    const BECOME: &str = "static void *become(void *x) { execl(\"/bin/sh\", \"sh\", \"-c\", \"exit 8\", NULL); }";
    const AGAIN: &str = "static void again(int s) { signal(s, SIG_DFL); raise(s); }";
    const START: &str = "pthread_t t; pthread_create(&t, 0,";
    compare_all(&[
        ends(LATER, &format!("{START} later, 0); pthread_exit(0);"), Report::Code(9)),
        ends(
            FAULT,
            &format!("{START} fault, 0); pthread_exit(0);"),
            Report::Signal("SIGSEGV"),
        ),
        ends(
            FAULT,
            &format!("{START} fault, 0); pause();"),
            Report::Signal("SIGSEGV"),
        ),
        ends(BECOME, &format!("{START} become, 0); pause();"), Report::Code(8)),
        ends(
            "static void *last(void *x) { usleep(100000); return 0; }",
            &format!("{START} last, 0); pthread_exit(0);"),
            Report::None,
        ),
        ends(
            AGAIN,
            "signal(SIGSEGV, again); *(volatile int *)8 = 1;",
            Report::Signal("SIGSEGV"),
        ),
        ends(
            "static void out(int s) { _exit(70 + s); }",
            "signal(SIGSEGV, out); *(volatile int *)8 = 1;",
            Report::Code(81),
        ),
        ends(
            "static void out(int s) { _exit(7); }",
            "signal(SIGALRM, out); alarm(1); pause();",
            Report::Code(7),
        ),
        ends(
            "static void deep(int n) { volatile char s[65536]; s[0] = n; deep(n + 1); s[1] = s[0]; }",
            "deep(0);",
            Report::Signal("SIGSEGV"),
        ),
        ends(
            "",
            "sigset_t all; sigfillset(&all); sigprocmask(SIG_BLOCK, &all, 0); *(volatile int *)8 = 1;",
            Report::Signal("SIGSEGV"),
        ),
        ends(
            "",
            "signal(SIGSEGV, SIG_IGN); *(volatile int *)8 = 1;",
            Report::Signal("SIGSEGV"),
        ),
        ends("", "__builtin_trap();", Report::Signal("SIGILL")),
        ends("", "volatile int zero = 0; return 77 / zero;", Report::Signal("SIGFPE")),
        ends(
            "",
            "char *p = mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); *p = 1;",
            Report::Signal("SIGSEGV"),
        ),
        ends("", "((void (*)(void))0)();", Report::Signal("SIGSEGV")),
        ends("", "free((void *)8);", Report::Signal("SIGSEGV")),
    ]);
}

#[test]
fn children_beside_and_instead_of_the_job_are_not_taken_for_it() {
    compare_all(&[
        // A brother of the job, and so a child of whoever started it.
        ends(
            "",
            "if (syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0) == 0) _exit(7); usleep(200000); return 3;",
            Report::Code(3),
        ),
        ends(
            "",
            "if (syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0) == 0) raise(SIGSEGV); sleep(1); return 3;",
            Report::Code(3),
        ),
        ends(
            "",
            "if (vfork() == 0) _exit(5); usleep(100000); return 3;",
            Report::Code(3),
        ),
        ends(
            "",
            "if (vfork() == 0) { execl(\"/bin/sh\", \"sh\", \"-c\", \"kill -SEGV $$\", NULL); _exit(1); } int s; wait(&s); return WTERMSIG(s);",
            Report::Code(11),
        ),
        ends(
            "",
            "int p = fork(); if (p == 0) { ptrace(PTRACE_TRACEME, 0, 0, 0); raise(SIGSTOP); *(volatile int *)8 = 1; } \
             int s; waitpid(p, &s, 0); ptrace(PTRACE_CONT, p, 0, 0); waitpid(p, &s, 0); kill(p, SIGKILL); return WSTOPSIG(s);",
            Report::Code(11),
        ),
        ends("", "exit(256 + 4);", Report::Code(4)),
        ends("", "exit(-1);", Report::Code(255)),
        ends("", "exit(512);", Report::None),
        ends(
            "static void late(void) { _exit(12); }",
            "atexit(late); return 0;",
            Report::Code(12),
        ),
        ends(
            "static void late(void) { abort(); }",
            "atexit(late); return 0;",
            Report::Signal("SIGABRT"),
        ),
    ]);
}

#[test]
fn a_job_that_is_stopped_ends_the_same() {
    // Runs a job that writes its number down and stops, waits until it has, and does something about it.
    let stopped = |stop: &str, then: &str, report| {
        let script = format!(
            "{{ $RUN sh -c 'echo $$ > new; mv new pid; kill -{stop} $$; exit 6' & run=$!; until [ -e pid ]; do sleep 0.05; done; \
             job=$(cat pid); until grep -q 'State:.T' /proc/$job/status; do sleep 0.05; done; sleep 0.3; \
             {then}; wait $run; }} 2>/dev/null; echo $?; rm pid"
        );
        reported(script.leak(), report)
    };
    compare_all(&[
        stopped("STOP", "kill -KILL $job", Report::Signal("SIGKILL")),
        stopped("STOP", "kill -CONT $job", Report::Code(6)),
        stopped("STOP", "kill -TERM $job; kill -CONT $job", Report::Signal("SIGTERM")),
        stopped("STOP", "kill -KILL $run", Report::None),
    ]);
}

/// Whoever traces what is started sees it end as the job does.
#[test]
fn under_a_tracer_a_job_ends_the_same() {
    const TRACER: &str = "import ctypes, os, sys
libc = ctypes.CDLL(None)
child = os.fork()
if child == 0:
    libc.ptrace(0, 0, None, None)
    os.execvp(sys.argv[1], sys.argv[1:])
while True:
    _, status = os.waitpid(child, 0)
    if not os.WIFSTOPPED(status):
        break
    signal = os.WSTOPSIG(status)
    libc.ptrace(7, child, None, ctypes.c_void_p(0 if signal == 5 else signal))
print(status)";
    let scripts = ["exit 3", "kill -SEGV $$", "kill -TERM $$", "exit 0"].map(|job| {
        let report = match job {
            "exit 3" => Report::Code(3),
            "exit 0" => Report::None,
            _ if job.contains("SEGV") => Report::Signal("SIGSEGV"),
            _ => Report::Signal("SIGTERM"),
        };
        reported(format!("python3 -c '{TRACER}' $RUN sh -c '{job}'").leak(), report)
    });
    compare_all(&scripts);
}
