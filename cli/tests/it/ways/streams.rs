//! Standard streams of every kind, in every state.

use super::{Report, compare_all, reported, way};

#[test]
fn exit_codes_come_out_the_same() {
    compare_all(&[
        way("exec $RUN true"),
        way("exec $RUN false"),
        way("exec $RUN sh -c 'exit 2'"),
        way("exec $RUN sh -c 'exit 42'"),
        way("exec $RUN sh -c 'exit 126'"),
        way("exec $RUN sh -c 'exit 127'"),
        way("exec $RUN sh -c 'exit 128'"),
        way("exec $RUN sh -c 'exit 130'"),
        way("exec $RUN sh -c 'exit 137'"),
        way("exec $RUN sh -c 'exit 139'"),
        way("exec $RUN sh -c 'exit 255'"),
        way("exec $RUN sh -c 'echo out; echo err >&2; exit 3'"),
        way("exec $RUN python3 -c 'raise SystemExit(\"words\")'"),
        way("exec $RUN python3 -c 'import os; os._exit(77)'"),
        way("exec $RUN python3 -c 'raise ValueError(5)'"),
        way("exec $RUN python3 -c 'import threading; threading.Thread(target=lambda: 1/0).start()'"),
        way("exec $RUN bash -c 'set -e; false; echo not reached'"),
    ]);
}

#[test]
fn closed_streams_stay_closed() {
    compare_all(&[
        way("exec $RUN sh -c 'echo out' >&-"),
        way("exec $RUN sh -c 'echo out; exit 5' >&-"),
        way("exec $RUN sh -c 'echo err >&2; echo $?; exit 5' 2>&-"),
        way("exec $RUN sh -c 'echo err >&2; echo out; exit 5' >&- 2>&-"),
        way("exec $RUN sh -c 'read line; echo $?; exit 4' <&-"),
        way("exec $RUN sh -c 'cat; exit 9' <&- >&- 2>&-"),
        way("exec $RUN ls /proc/self/fd <&-"),
        way("exec $RUN ls /proc/self/fd 2>&-"),
        way("exec $RUN python3 -c 'import sys; print(sys.stdin, sys.stderr); sys.exit(3)' <&- 2>&-"),
        way("exec $RUN python3 -c 'print(1)' >&-"),
        way("exec $RUN sh -c 'kill -SEGV $$' >&- 2>&-"),
        way("exec $RUN sh -c 'kill -SEGV $$' <&- >&- 2>&-"),
    ]);
}

#[test]
fn devices_are_the_jobs_own() {
    compare_all(&[
        way("exec $RUN sh -c 'echo out; exit 5' > /dev/full"),
        way("exec $RUN sh -c 'echo err >&2; exit 5' 2> /dev/full"),
        way("exec $RUN python3 -c 'print(1)' > /dev/full"),
        way("exec $RUN python3 -c 'raise ValueError' 2> /dev/full"),
        way("exec $RUN sh -c 'kill -ABRT $$' > /dev/full 2>&1"),
        way("exec $RUN sh -c 'echo lost; exit 6' > /dev/null 2>&1"),
        way("exec $RUN stat -L -c '%F %t' /proc/self/fd/2 2> /dev/null"),
        way("exec $RUN stat -L -c '%F %t' /proc/self/fd/0 < /dev/zero"),
        way("exec $RUN python3 -c 'import os, sys; sys.stderr.write(str(os.fstat(1)[:3])); sys.exit(1)' > /dev/zero"),
        way("exec $RUN dd if=/dev/zero bs=1M count=64 status=none > /dev/null"),
    ]);
}

#[test]
fn files_are_the_jobs_own() {
    compare_all(&[
        way("exec $RUN sh -c 'echo out; echo err >&2; exit 7' > out.txt 2> err.txt"),
        way("echo before > log; exec $RUN sh -c 'echo out; echo err >&2; exit 7' >> log 2>&1"),
        way("exec $RUN sh -c 'echo 12345; exit 7' 1<> log"),
        way("echo data > in; exec $RUN sh -c 'cat; exit 7' < in"),
        way("echo one > in; echo two >> in; (head -c 4; exec $RUN sh -c 'cat; exit 7') < in"),
        way("exec $RUN sh -c 'echo out; exit 7' 1< /dev/null"),
        way("ulimit -f 8; exec $RUN dd if=/dev/zero of=big bs=1024 count=64 status=none"),
        way("ulimit -f 8; exec $RUN sh -c 'dd if=/dev/zero bs=1024 count=64 status=none; exit 3' > big"),
        way("exec $RUN sh -c 'rm log; echo to nowhere; exit 3' > log"),
        way("exec $RUN sh -c 'echo long text; : > log; exit 3' > log"),
    ]);
}

/// A lease is given to whom the file is open for alone.
#[test]
fn a_job_may_take_leases_on_its_output() {
    const LEASE: &str = "import fcntl, os, sys
try:
    fcntl.fcntl(1, fcntl.F_SETLEASE, int(sys.argv[1]))
    held = fcntl.fcntl(1, fcntl.F_GETLEASE)
except OSError as error:
    held = error
os.write(1, b\"out\")
os._exit(3 if str(held) == sys.argv[1] else 4)";
    compare_all(&[
        way(format!("exec $RUN python3 -c '{LEASE}' 1 > log").leak()),
        way(format!("exec $RUN python3 -c '{LEASE}' 1 > log 2>&1").leak()),
        way(format!("exec $RUN python3 -c '{LEASE}' 0 1< /etc/passwd").leak()),
    ]);
}

#[test]
fn pipes_pass_everything_and_end_when_they_should() {
    compare_all(&[
        reported("$RUN yes | head -1; echo ${PIPESTATUS[0]}", Report::None),
        reported(
            "$RUN sh -c 'sleep 0.2; echo late; echo $? >&2; exit 3' | true; echo ${PIPESTATUS[0]}",
            Report::None,
        ),
        reported(
            "trap '' PIPE; $RUN sh -c 'sleep 0.2; echo late; exit 3' | true; echo ${PIPESTATUS[0]}",
            Report::Code(3),
        ),
        reported(
            "trap '' PIPE; $RUN yes | head -1; echo ${PIPESTATUS[0]}",
            Report::Code(1),
        ),
        reported("$RUN seq 200000 | md5sum", Report::None),
        reported("$RUN seq 2000000 | tail -1", Report::None),
        reported("$RUN head -c 300000000 /dev/zero | md5sum", Report::None),
        reported("$RUN sh -c 'seq 100000; exit 9' | (sleep 0.3; md5sum)", Report::Code(9)),
        reported(
            "$RUN sh -c 'echo out; echo err >&2; kill -SEGV $$' 2>&1 | cat",
            Report::Signal("SIGSEGV"),
        ),
        reported(
            "$RUN sh -c 'i=0; while [ $i -lt 100 ]; do echo o$i; echo e$i >&2; i=$((i+1)); done' 2>&1 | md5sum",
            Report::None,
        ),
        reported("echo input | $RUN sh -c 'cat; exit 8'; echo $?", Report::Code(8)),
        reported("seq 100000 | $RUN head -1; echo ${PIPESTATUS[0]}", Report::None),
        reported(
            "$RUN sh -c 'exec >&-; sleep 0.1; exit 2' | cat; echo end",
            Report::Code(2),
        ),
        reported(
            "mkfifo f; (cat f; rm f) & $RUN sh -c 'echo through; exit 2' > f; wait",
            Report::Code(2),
        ),
        reported("$RUN sh -c '(sleep 0.3; echo late) & echo early' | cat", Report::None),
        reported("x=$($RUN sh -c 'echo caught; exit 6'); echo \"$x $?\"", Report::Code(6)),
    ]);
}

/// A pipe that the job does not wait for, output without lines, and bytes that are no text.
#[test]
fn odd_output_arrives_whole() {
    const NEVER_WAITS: &str = "import os
os.set_blocking(1, False)
rest = bytes(range(256)) * 8192
while rest:
    try:
        rest = rest[os.write(1, rest):]
    except BlockingIOError:
        pass
os._exit(3)";
    compare_all(&[
        reported(
            format!("$RUN python3 -c '{NEVER_WAITS}' | (sleep 0.2; md5sum); echo ${{PIPESTATUS[0]}}").leak(),
            Report::Code(3),
        ),
        reported(
            "$RUN sh -c \"seq 300000 | tr '\\n' '\\0'; kill -ABRT \\$\\$\" | md5sum",
            Report::Signal("SIGABRT"),
        ),
        reported(
            "$RUN sh -c 'head -c 90000000 /dev/zero | tr \"\\0\" x; exit 3' | md5sum",
            Report::Code(3),
        ),
        reported(
            "$RUN sh -c 'head -c 90000000 /dev/zero; (sleep 0.3; echo late) & exit 3' | md5sum",
            Report::Code(3),
        ),
        reported(
            "$RUN sh -c 'yes | head -c 50000000; sleep 0.3; echo slow; exit 3' | tail -c 5",
            Report::Code(3),
        ),
    ]);
}

#[test]
fn a_stream_is_of_the_kind_that_it_was() {
    const KIND: &str = "import os, socket, stat, sys, fcntl
m = os.fstat(1).st_mode
room = fcntl.fcntl(1, 1032) if stat.S_ISFIFO(m) else 0
kind = socket.socket(fileno=os.dup(1)).type if stat.S_ISSOCK(m) else 0
journal = os.environ.get('JOURNAL_STREAM') == f'{os.fstat(1).st_dev}:{os.fstat(1).st_ino}'
sys.stderr.write(f'{stat.S_ISFIFO(m)} {stat.S_ISSOCK(m)} {stat.S_ISREG(m)} {os.isatty(1)} {room} {kind} {journal} ')
sys.stderr.write(f'{fcntl.fcntl(1, fcntl.F_GETFL) & (os.O_NONBLOCK | os.O_DIRECT | os.O_ACCMODE)}\\n')
sys.exit(5)";
    for give in [
        "r, w = os.pipe()",
        "a, b = socket.socketpair(); w = b.fileno()",
        "r, w = os.pipe(); os.set_blocking(w, False)",
        "r, w = os.pipe(); fcntl.fcntl(w, 1031, 1 << 19)",
        "r, w = os.pipe2(os.O_DIRECT)",
        "os.mkfifo('f'); w = os.open('f', os.O_RDWR)",
        "a, b = socket.socketpair(type=socket.SOCK_SEQPACKET); w = b.fileno()",
        "a, b = socket.socketpair(type=socket.SOCK_DGRAM); w = b.fileno()",
        "a, b = socket.socketpair(); w = b.fileno(); os.environ['JOURNAL_STREAM'] = f'{os.fstat(w).st_dev}:{os.fstat(w).st_ino}'",
        "s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); c = socket.create_connection(s.getsockname()); w = c.fileno()",
        "w = os.open('/dev/null', os.O_RDWR)",
    ] {
        let program = format!(
            "import fcntl, os, socket, subprocess, sys\n{give}\nsys.exit(subprocess.run(sys.argv[1:], stdout=w).returncode)"
        );
        let said = ["", "--quiet --no-diagnosis"].map(|options| {
            let attempt = if options.is_empty() {
                super::Attempt::bare()
            } else {
                super::Attempt::run(options)
            };
            let mut python = attempt.command("python3");
            python
                .args(["-c", &program])
                .args(attempt.prefix())
                .args(["python3", "-c", KIND]);
            let output = python.output().expect("python3 runs");
            attempt.left(output, 0)
        });
        let [bare, under] = said;
        assert_eq!(under, bare, "{give}");
        assert!(bare.stderr.contains("e "), "{give}: {}", bare.stderr);
    }
}
