//! Where a job works, what it is called with, and what it finds in its environment.

use super::{Attempt, Report, compare_all, reported, way};

#[test]
fn folders_that_go_or_can_not_be_used_cost_nothing() {
    compare_all(&[
        way("mkdir d; cd d; exec $RUN sh -c 'rmdir ../d; exit 3'"),
        way("mkdir d; cd d; exec $RUN sh -c 'rmdir ../d; kill -SEGV $$'"),
        way("mkdir d; cd d; exec $RUN sh -c 'mv ../d ../e; kill -ABRT $$'"),
        way("export TMPDIR=/nowhere/at/all; exec $RUN sh -c 'echo $TMPDIR; exit 3'"),
        way("export TMPDIR=/dev/null; exec $RUN sh -c 'kill -SEGV $$'"),
        way("export TMPDIR=relative; exec $RUN sh -c 'exit 3'"),
        way("export TMPDIR=; exec $RUN sh -c 'exit 3'"),
        way("mkdir t; chmod 0 t; export TMPDIR=$PWD/t; exec $RUN sh -c 'kill -SEGV $$'"),
        way("cd /; exec $RUN sh -c 'pwd; exit 3'"),
        way("mkdir 'a b'$'\\n''c'; cd a*; exec $RUN sh -c 'pwd; kill -ABRT $$'"),
        reported(
            "exec $OWN_MOUNTS bash -c 'mkdir t; mount -t tmpfs -o size=16k none t; cd t; exec $RUN dd if=/dev/zero of=big bs=1k count=64 status=none' 2>/dev/null",
            Report::AsStatus,
        ),
        reported(
            "exec $OWN_MOUNTS bash -c 'mkdir t; mount -t tmpfs -o size=16k none t; cd t; exec $RUN sh -c \"head -c 99999 /dev/zero; exit 3\" > log' 2>/dev/null",
            Report::AsStatus,
        ),
    ]);
}

/// Nothing of `/proc` can be seen: what is known is little, but the job does not notice.
#[test]
fn a_machine_without_proc_costs_nothing() {
    let jobs = ["echo out; exit 0", "echo out; echo err >&2; exit 3", "kill -SEGV $$"];
    for job in jobs {
        let script = "exec $OWN_MOUNTS bash -c 'mount -t tmpfs none /proc; exec $RUN sh -c \"$JOB\"'";
        let [bare, under] = [Attempt::bare(), Attempt::run("--quiet --no-diagnosis")].map(|attempt| {
            let mut bash = attempt.command("bash");
            bash.args(["--norc", "-c", script])
                .env("RUN", attempt.prefix().join(" "));
            let output = bash.env("JOB", job).output().expect("bash runs");
            attempt.left(output, 0)
        });
        assert_eq!(under, bare, "{job}");
    }
}

#[test]
fn odd_words_and_variables_reach_the_job() {
    compare_all(&[
        way(
            "exec $RUN python3 -c 'import sys; print(ascii(sys.argv[1:])); sys.exit(3)' $'a\\nb' $'\\xff\\xfe' '' '-' '--' '*' $'\\t' $'\\e[31m'",
        ),
        way(
            "exec $RUN python3 -c 'import sys; print(len(sys.argv[1])); sys.exit(3)' \"$(head -c 120000 /dev/zero | tr '\\0' x)\"",
        ),
        way("exec $RUN sh -c 'echo $#; exit 3' sh $(seq 20000)"),
        way(
            "for i in $(seq 8); do export BIG$i=$(head -c 120000 /dev/zero | tr '\\0' x); done; exec $RUN sh -c 'echo ${#BIG8}; exit 3'",
        ),
        way("export LANG=xx_YY.nonsense LC_ALL=xx_YY.nonsense; exec $RUN sh -c 'echo $LC_ALL; exit 3' 2>/dev/null"),
        way(
            "export TERM= COLUMNS=0 LINES=-1 NO_COLOR= CLICOLOR_FORCE=1; exec $RUN sh -c 'echo $COLUMNS$LINES; exit 3'",
        ),
        way("export RUST_LOG=trace RUST_BACKTRACE=full WHYCRASH_LOG=error; exec $RUN sh -c 'exit 3'"),
        way("export BASH_ENV=/nonexistent ENV=/nonexistent; exec $RUN sh -c 'exit 3'"),
        way("exec env -u PATH $RUN /bin/sh -c 'echo $PATH; exit 3'"),
        way("printf '#!/bin/sh\\nexit 5\\n' > tool; chmod +x tool; PATH=.:$PATH; exec $RUN tool"),
        way("printf '#!/bin/sh\\nexit 5\\n' > tool; chmod +x tool; PATH=:$PATH; exec $RUN tool"),
        way("exec env TZ=Nowhere/Nothing $RUN sh -c 'exit 3'"),
    ]);
}

/// Order, repetitions and malformed entries: a program may look at its environment as it is.
#[test]
fn the_environment_is_the_same_byte_for_byte() {
    const MALFORMED: &str = "cc -w -x c -o odd - <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
extern char **environ;
int main(int count, char **words) {
  char **old = environ, *new[4096];
  int n = 0;
  new[n++] = \"ZEBRA=first\"; new[n++] = \"no equals sign\"; new[n++] = \"TWICE=1\"; new[n++] = \"=empty name\";
  while (*old && n < 4000) new[n++] = *old++;
  new[n++] = \"TWICE=2\"; new[n++] = \"ALPHA=last\"; new[n] = 0;
  execve(words[1], words + 1, new);
  return 99;
}
C
exec ./odd ${RUN:-$(command -v env)} $(command -v sh) -c";
    const SHOW: &str = "tr \"\\\\0\" \"\\\\n\" < /proc/$$/environ | grep -avE \"^(RUN|_|HOME|PYTHONFAULTHANDLER|CUDA_LOG_FILE|TORCH_FR_)\"; exit 3";
    compare_all(&[way(format!("{MALFORMED} '{SHOW}'").leak())]);
}

#[test]
fn locks_and_pipes_that_a_job_inherits_are_free_when_it_has_ended() {
    compare_all(&[
        reported(
            "exec 9> lock; flock 9; $RUN sh -c 'exit 3'; exec 9>&-; flock -n lock echo free",
            Report::Code(3),
        ),
        reported(
            "exec 9> lock; flock 9; { $RUN sh -c 'kill -SEGV $$'; } 2>/dev/null; exec 9>&-; flock -n lock echo free",
            Report::Signal("SIGSEGV"),
        ),
        reported(
            "(flock 9; $RUN sh -c 'flock -n lock true || echo taken; exit 3') 9> lock; echo $?",
            Report::Code(3),
        ),
        reported(
            "mkfifo f; (cat f; echo > ended) & $RUN sh -c 'echo x >&7; exec 7>&-; for i in $(seq 50); do [ -e ended ] && break; sleep 0.1; done; ls ended; exit 3' 7> f; wait; rm -f f ended",
            Report::Code(3),
        ),
        reported(
            "{ yes; echo $? > ended; } | $RUN sh -c 'head -c 2; exec <&-; for i in $(seq 50); do [ -e ended ] && break; sleep 0.1; done; cat ended; exit 3'; rm -f ended",
            Report::Code(3),
        ),
        reported(
            "$RUN sh -c 'echo one; exit 3' >> log & $RUN true; wait; echo two >> log; cat log",
            Report::Code(3),
        ),
        way("exec $RUN sh -c 'echo x; exit 3' 1< . 2>/dev/null"),
        way("exec $RUN sh -c 'cat; exit 3' < . 2>/dev/null"),
        way("mkfifo f; exec 8<> f; exec $RUN sh -c 'echo through; read -r x <&8; echo $x > got; exit 3' > f 8< f"),
        way("exec $RUN sh -c 'exit 3' 250< /etc/passwd"),
        reported(
            "(sleep 0.2; exit 0) | $RUN sh -c 'cat; exit 4'; echo $?",
            Report::Code(4),
        ),
        reported(
            "$RUN sh -c 'echo a; exec 2>&1 1>&-; echo b >&2; exit 2' 2>&1 | cat; echo end",
            Report::Code(2),
        ),
    ]);
}
