//! Output that is written in every way that there is, and what becomes of it when its writers are killed or stopped.

use super::families::ends;
use super::{Report, compare_all, reported, way};

const CALLS: &str = "#include <errno.h>
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
static char many[1 << 18] __attribute__((aligned(4096)));";

/// A program whose output goes where the shell says.
fn writes(main: &str, to: &str, report: Report) -> super::Way {
    let compiled = ends(CALLS, main, report)
        .script
        .replace("exec $RUN ./program", &format!("$RUN ./program {to}"));
    reported(compiled.leak(), report)
}

#[test]
fn calls_of_every_kind_write_the_same() {
    let piped = |main: &str| writes(main, "| md5sum; echo ${PIPESTATUS[@]}", Report::Code(3));
    compare_all(&[
        piped(
            "int f = open(\"/proc/self/exe\", 0); off_t at = 0; dprintf(2, \"%ld\", sendfile(1, f, &at, 9000)); return 3;",
        ),
        piped(
            "memset(many, 'x', sizeof many); for (long sent = 0, n; sent < sizeof many; sent += n) { struct iovec v = {many + sent, \
             sizeof many - sent}; n = vmsplice(1, &v, 1, SPLICE_F_GIFT); if (n < 0) return 9; } return 3;",
        ),
        piped(
            "struct iovec v[1024]; for (int i = 0; i < 1024; i++) v[i] = (struct iovec){\"ab\", 2}; dprintf(2, \"%ld\", writev(1, v, 1024)); return 3;",
        ),
        piped("long n = write(1, \"\", 0); n += write(1, (void *)8, 5); dprintf(2, \"%ld %d\", n, errno); return 3;"),
        piped("dprintf(2, \"%ld\", lseek(1, 0, SEEK_CUR)); dprintf(2, \" %d\", errno); return 3;"),
        piped(
            "long n = 64 << 20; char *b = malloc(n); memset(b, 'q', n); dprintf(2, \"%ld\", write(1, b, n)); return 3;",
        ),
        writes(
            "lseek(1, 10000000, SEEK_SET); write(1, \"end\", 3); return 3;",
            "> out; stat -c '%s %b' out",
            Report::Code(3),
        ),
        writes(
            "ftruncate(1, 8192); char *p = mmap(0, 8192, 3, MAP_SHARED, 1, 0); p[8191] = 'z'; raise(SIGKILL);",
            "1<> out 2>/dev/null | cat",
            Report::Signal("SIGKILL"),
        ),
        writes(
            "pwrite(1, \"abc\", 3, 100); write(1, \"x\", 1); return 3;",
            "> out; md5sum < out",
            Report::Code(3),
        ),
    ]);
}

#[test]
fn streams_that_share_something_share_it() {
    compare_all(&[
        reported(
            "$RUN sh -c 'for i in 1 2 3; do echo o$i; echo e$i >&2; done; exit 3' >> log 2>> log; cat log",
            Report::Code(3),
        ),
        reported(
            "$RUN sh -c 'echo aaaaaaaa; echo bb >&2; exit 3' > log 2> log; cat log",
            Report::Code(3),
        ),
        reported(
            "$RUN sh -c 'echo a; echo b > /dev/stdout; echo c > /dev/stderr; exit 3' 2>&1 | cat",
            Report::Code(3),
        ),
        reported(
            "$RUN sh -c 'for w in 1 2 3 4 5 6 7 8; do (for i in $(seq 50); do printf \"%s%0900d\\n\" $w 0; done) & done; wait; exit 3' \
             | sort | md5sum",
            Report::Code(3),
        ),
        reported(
            "printf 'one\\ntwo\\n' > in; { $RUN sh -c 'read a; echo $a; exit 3'; cat; } < in",
            Report::Code(3),
        ),
        reported(
            "coproc $RUN sh -c 'read x; echo got $x; exit 3'; echo hi >&${COPROC[1]}; cat <&${COPROC[0]}",
            Report::Code(3),
        ),
        reported("$RUN sh -c 'cat $0; exit 3' <(echo inside)", Report::Code(3)),
    ]);
}

/// As inetd(8) and its like start a service: one socket is all three streams, read and written through any of them.
#[test]
fn a_socket_that_is_all_streams_is_the_jobs() {
    const SERVER: &str = "import socket, subprocess, sys
ours, theirs = socket.socketpair()
service = subprocess.Popen(sys.argv[1:], stdin=theirs, stdout=theirs, stderr=theirs)
theirs.close()
ours.sendall(b\"question\")
got = b\"\"
while part := ours.recv(100): got += part
print(got, service.wait())
sys.exit(3)";
    const SERVICE: &str = "import os, socket
stream = socket.socket(fileno=0)
question = stream.recv(99)
os.write(1, b\"one \"); os.write(0, b\"two \"); os.write(1, b\"three \"); os.write(2, question)
stream.shutdown(socket.SHUT_WR)
os._exit(3)";
    compare_all(&[way(
        format!("exec python3 -c '{SERVER}' $RUN python3 -c '{SERVICE}'").leak()
    )]);
}

/// A socket that is standard output alone may be asked, answered, shut and sent descriptors through as well.
#[test]
fn a_socket_leads_both_ways() {
    const SERVER: &str = "import array, os, socket, subprocess, sys
ours, theirs = socket.socketpair()
exec(sys.argv[1])
service = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL, stdout=theirs)
theirs.close()
got = []
while True:
    part, ancillary, _, _ = ours.recvmsg(100, socket.CMSG_SPACE(32))
    descriptors = array.array(\"i\")
    for _, _, data in ancillary: descriptors.frombytes(data)
    got += [part] + [os.read(descriptor, 9) for descriptor in descriptors]
    if not part: break
exec(sys.argv[1].partition(\"#\")[2])
print(got, service.wait())
sys.exit(3)";
    const SERVICE: &str = "import os, socket, sys
stream = socket.socket(fileno=1)
exec(sys.argv[1])
os._exit(3)";
    let talk = |server: &str, service: &str| {
        way(format!("exec python3 -c '{SERVER}' '{server}' $RUN python3 -c '{SERVICE}' '{service}'").leak())
    };
    compare_all(&[
        talk("ours.send(b\"question\")", "stream.send(stream.recv(9))"),
        talk("", "socket.send_fds(stream, [b\"one\"], [os.memfd_create(\"x\"), 0])"),
        talk(
            "#ours.send(b\"late\")",
            "stream.send(b\"q\"); stream.shutdown(socket.SHUT_WR); os.write(2, stream.recv(9))",
        ),
        talk(
            "ours.shutdown(socket.SHUT_WR)",
            "stream.send(b\"[%s]\" % stream.recv(9))",
        ),
        talk(
            "theirs.shutdown(socket.SHUT_RD)",
            "stream.send(b\"[%s]\" % stream.recv(9))",
        ),
        talk(
            "ours.shutdown(socket.SHUT_WR)",
            "os.write(1, b\"x\"); stream.shutdown(socket.SHUT_RDWR)",
        ),
    ]);
}

/// What the job has printed is its reader's, whoever is killed or stopped after that.
#[test]
fn output_outlives_those_who_wrote_it() {
    const STOPS: &str = "import os, select, signal, subprocess, sys, time
job = subprocess.Popen(sys.argv[1:], process_group=0, stdout=subprocess.PIPE)
os.read(job.stdout.fileno(), 1)
os.killpg(job.pid, signal.SIGSTOP)
time.sleep(0.3)
os.kill(job.pid, signal.SIGCONT)
print(len(job.stdout.read()), job.wait())";
    const PRINTS: &str = "import sys, time; print(1, flush=True); time.sleep(0.8); print(\"y\" * 200000); sys.exit(4)";
    compare_all(&[
        reported(
            "setsid -w $RUN sh -c 'seq 9000; kill -9 0' 2>/dev/null | md5sum",
            Report::None,
        ),
        reported(
            "setsid -w $RUN sh -c 'seq 9000; kill -9 0' 2>/dev/null | (sleep 0.5; md5sum)",
            Report::None,
        ),
        reported(
            "{ setsid -w $RUN sh -c 'echo out; echo err >&2; kill -9 0'; } 2>&1 | cat | grep -v Killed",
            Report::None,
        ),
        reported(
            "setsid -w $RUN sh -c 'seq 9000; kill 0' 2>/dev/null | md5sum",
            Report::Signal("SIGTERM"),
        ),
        reported(
            "{ timeout -s KILL 1.5 $RUN sh -c 'seq 9000; sleep 9'; } 2>/dev/null | md5sum",
            Report::None,
        ),
        reported(
            format!("python3 -c '{STOPS}' $RUN python3 -c '{PRINTS}'").leak(),
            Report::Code(4),
        ),
    ]);
}
