//! Limits, priorities and rights of every kind: the job has those that it would have without us, and meets them.

use super::{Attempt, OPTIONS, Report, compare_all, reported, way};

#[test]
fn every_limit_is_the_jobs_own() {
    compare_all(&[
        way("ulimit -c 0; exec $RUN bash -c 'ulimit -aS; ulimit -aH; exit 3'"),
        way("ulimit -S -n 64; exec $RUN sh -c 'ulimit -Sn; ulimit -Hn; exit 3'"),
        way("ulimit -v 4000000; exec $RUN sh -c 'ulimit -v; exit 3'"),
        way("ulimit -d 4000000; exec $RUN sh -c 'ulimit -d; exit 3'"),
        way("ulimit -l 64; exec $RUN sh -c 'ulimit -l; exit 3'"),
        way("ulimit -m 64000; exec $RUN bash -c 'ulimit -m; exit 3'"),
        way("ulimit -i 0; exec $RUN bash -c 'ulimit -i; kill -USR1 $$'"),
        way("ulimit -q 0; exec $RUN bash -c 'ulimit -q; exit 3'"),
        way("ulimit -x 0; exec $RUN bash -c 'ulimit -x; exit 3'"),
        way("ulimit -r 0; exec $RUN bash -c 'ulimit -r; exit 3'"),
        way("ulimit -s 256; exec $RUN sh -c 'ulimit -s; exit 3'"),
        way("ulimit -s unlimited; exec $RUN sh -c 'ulimit -s; kill -ABRT $$'"),
    ]);
}

#[test]
fn a_job_that_meets_a_limit_meets_it_the_same() {
    compare_all(&[
        way("ulimit -n 20; exec $RUN python3 -c 'f = [open(\"/dev/null\") for _ in range(99)]' 2>/dev/null"),
        way("ulimit -v 4000000; exec $RUN python3 -c 'x = bytearray(1 << 33)' 2>/dev/null"),
        way("ulimit -t 1; exec $RUN python3 -c 'while True: pass'"),
        way("ulimit -S -t 1; exec $RUN bash -c 'trap \"echo out of time; exit 7\" XCPU; while :; do :; done'"),
        // No file of any size can be written, so there is no report either.
        reported(
            "ulimit -f 0; exec $RUN sh -c 'echo out; echo x > f; exit 3' 2>/dev/null",
            Report::None,
        ),
        reported("ulimit -f 0; exec $RUN sh -c 'echo out; exit 3'", Report::None),
        reported("ulimit -f 1; exec $RUN sh -c 'kill -SEGV $$'", Report::None),
        way("exec $RUN prlimit --nofile=5 python3 -c 'import os; os.dup(0); os.dup(0); os.dup(0)' 2>/dev/null"),
        way("exec $RUN bash -c 'ulimit -c 0; kill -SEGV $$'"),
        way("exec $RUN bash -c 'ulimit -s 128; f() { f; }; f' 2>/dev/null"),
    ]);
}

/// So little memory or stack is left that we can not stand beside the job: then we become it, or end like it.
#[test]
fn a_job_starts_with_little_memory() {
    const JOBS: [&str; 2] = [
        "exec $RUN sh -c 'echo out; kill -SEGV $$' 2>/dev/null",
        "$RUN seq 3000000 2>/dev/null | md5sum; echo ${PIPESTATUS[0]}",
    ];
    /// Prints faster than anybody reads, twice: what passes then is remembered when it is over.
    const FLOODS: &str = "$RUN sh -c 'head -c 40000000 /dev/zero; sleep .15; head -c 30000000 /dev/zero; sleep .15; \
                          echo end' 2>/dev/null | cksum; echo ${PIPESTATUS[0]}";
    const MORE: [usize; 8] = [0, 2000, 4000, 8000, 12_000, 16_000, 24_000, 40_000];
    let way =
        |limit: &str, kib: usize, job: &str| reported(format!("ulimit {limit} {kib}; {job}").leak(), Report::Perhaps);
    let address_space = least_memory("-v");
    let limits = [("-v", address_space), ("-d", least_memory("-d"))];
    let memory = limits
        .into_iter()
        .flat_map(|(limit, least)| MORE.map(|more| (limit, least + more)));
    let stacks = [60, 100, 200].map(|least| ("-s", least));
    let ways = memory
        .chain(stacks)
        .flat_map(|(limit, kib)| JOBS.map(|job| way(limit, kib, job)));
    // The steps from none of our processes to all of them lie close together.
    let steps = (0..720)
        .step_by(36)
        .map(|more| way("-v", address_space + more, JOBS[1]));
    let floods = (300..900)
        .step_by(24)
        .map(|more| way("-v", address_space + more, FLOODS));
    compare_all(&ways.chain(steps).chain(floods).collect::<Vec<_>>());
}

/// The KiB of memory, of this kind of limit, with which a job that does nothing runs: what the program can be loaded with,
/// and no more than a step of the heap, which the words and variables of a run may take besides.
fn least_memory(limit: &str) -> usize {
    /// By how much glibc's heap grows, and some pages.
    const STEP: usize = 160;
    /// Where stacks begin is drawn by lot for each process, which may take a page or two more.
    const LOT: usize = 8;
    let attempt = Attempt::run(OPTIONS);
    let least_for = |job: &str| {
        let does = |least: &usize| {
            let mut bash = attempt.bash(&format!("ulimit {limit} {least}; {job} 2>/dev/null"));
            bash.output().expect("bash runs").status.success()
        };
        let enough = (1000..4_000_000).step_by(1000).find(does).expect("it can be loaded");
        (enough - 1000..=enough).step_by(20).find(does).unwrap_or(enough)
    };
    let loads = least_for(&format!("{} --version", env!("CARGO_BIN_EXE_whycrash")));
    let runs = least_for("$RUN true");
    assert!(
        runs <= loads + STEP,
        "{limit}: it is loaded with {loads} KiB, and runs nothing with less than {runs}"
    );
    runs + LOT
}

/// So few descriptors are left that we can do little or nothing with them.
#[test]
fn a_job_starts_with_few_descriptors() {
    // make hands down those of its job server.
    const NONE_INHERITED: &str = "exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-";
    let scripts = [4, 5, 6, 7, 8, 10, 12, 16].map(|limit| {
        let script = format!("{NONE_INHERITED}; ulimit -n {limit}; exec $RUN sh -c 'ulimit -n; exit 0'");
        way(script.leak())
    });
    compare_all(&scripts);
}

#[test]
fn priorities_and_rights_are_the_jobs_own() {
    compare_all(&[
        way("exec chrt --batch 0 $RUN sh -c 'chrt -p $$ | cut -d: -f2; exit 3'"),
        way("exec chrt --idle 0 $RUN sh -c 'chrt -p $$ | cut -d: -f2; exit 3'"),
        way("exec taskset -c 0 $RUN sh -c 'taskset -p $$ | cut -d: -f2; exit 3'"),
        way("exec ionice -c 3 $RUN sh -c 'ionice -p $$; exit 3'"),
        way("exec nice -n 19 $RUN sh -c 'nice; kill -QUIT $$'"),
        way("echo 500 > /proc/self/oom_score_adj; exec $RUN sh -c 'cat /proc/self/oom_score_adj; exit 3'"),
        way("exec setarch -R $RUN sh -c 'cat /proc/self/personality; exit 3'"),
        way("exec setpriv --no-new-privs $RUN sh -c 'grep NoNewPrivs /proc/self/status; exit 3'"),
        way("exec $RUN grep -E '^(Cap|Seccomp|NoNew|Uid|Gid|Groups)' /proc/self/status"),
        way("umask 777; exec $RUN sh -c 'umask; exit 3'"),
        way("umask 777; exec $RUN sh -c 'kill -SEGV $$'"),
        way("echo 0x33 > /proc/self/coredump_filter; exec $RUN sh -c 'cat /proc/self/coredump_filter; exit 3'"),
        way("echo 1000 > /proc/self/timerslack_ns; exec $RUN sh -c 'cat /proc/self/timerslack_ns; exit 3'"),
    ]);
}

/// As another user, where this one may become another; elsewhere both fail in the same way.
#[test]
fn a_job_that_becomes_somebody_else_ends_the_same() {
    const BECOME: &str = "chmod 755 $PWD $PWD/..; exec $RUN setpriv --reuid=65534 --regid=65534 --clear-groups";
    let jobs = [
        "id -u; exit 3",
        "kill -SEGV $$",
        "kill -TERM $$",
        "sleep 0.2; kill -KILL $$",
    ];
    let scripts = jobs.map(|job| way(format!("{BECOME} sh -c '{job}' 2>/dev/null").leak()));
    compare_all(&scripts);
}
