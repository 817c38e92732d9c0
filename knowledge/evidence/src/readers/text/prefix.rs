//! What stands in front of a line: rank tags, worker tags, time stamps, host names.
//!
//! Several may be nested (`2026-11-21T09:53:46Z stderr F [rank0]: …`), so they are taken off one after the other.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::time::Stamp;

/// Who wrote a line, and when.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Origin {
    /// Names the stream the line belongs to among those mixed in one artifact; empty for untagged lines.
    pub stream: String,
    /// Rank.
    pub rank: Option<u32>,
    /// Process id.
    pub pid: Option<u32>,
    /// Time of the line.
    pub stamp: Option<Stamp>,
    /// True for a line the kernel wrote, going by its prefix.
    pub kernel: bool,
}

type Apply = fn(&Captures, &mut Origin);

/// Prefixes nest at most this deep.
const ROUNDS: usize = 6;

/// Splits a line into what its prefixes say and the rest.
pub fn split(line: &str) -> (Origin, &str) {
    let mut origin = Origin::default();
    let mut rest = line;
    for _ in 0..ROUNDS {
        let Some(length) = strip_one(rest, &mut origin) else {
            break;
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    (origin, rest)
}

fn strip_one(text: &str, origin: &mut Origin) -> Option<usize> {
    let first = *text.as_bytes().first()?;
    let is_host = origin.stamp.is_some() && is_before_kernel(text);
    if !is_host && !may_have_prefix(first, text) {
        return None;
    }
    let may_be = |prefix: &&Prefix| (prefix.may_be)(text.as_bytes(), origin);
    let (prefix, found) = PREFIXES
        .iter()
        .filter(may_be)
        .find_map(|prefix| Some((prefix, prefix.pattern.captures(text)?)))?;
    (prefix.apply)(&found, origin);
    // Some prefixes are only told apart by what follows them: that stays.
    let rest = found.name("rest").map(|rest| rest.start());
    let whole = found.get(0).map(|whole| whole.end());
    rest.or(whole).filter(|end| *end > 0)
}

/// Whether a prefix can start so: a look at some bytes, because most lines have none and are not to pay for that.
fn may_have_prefix(first: u8, text: &str) -> bool {
    let bytes = text.as_bytes();
    let byte = |at: usize| bytes.get(at).copied().unwrap_or_default();
    let has = |range, words: &[u8]| bytes.get(range) == Some(words);
    match first {
        b'[' | b'(' | b'0'..=b'9' => true,
        b' ' => has(2..4, b": ") || has(3..5, b": ") || is_behind_a_bar(text),
        b'A'..=b'Z' => {
            let levels = [
                "INFO ",
                "WARNING ",
                "ERROR ",
                "DEBUG ",
                "CRITICAL ",
                "DEFAULT ",
                "NOTICE ",
            ];
            byte(3) == b' '
                || byte(1) == b' '
                || byte(1).is_ascii_digit()
                || levels.iter().any(|level| text.starts_with(level))
        }
        b'a'..=b'z' => {
            let is_name = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(byte);
            let name = bytes.iter().take(64).take_while(|byte| is_name(byte)).count();
            let is_host = byte(name) == b':' || byte(name) == b' ';
            let is_role = b"./".contains(&byte(name)) && memchr::memmem::find(start(bytes), b" [").is_some();
            is_role
                || is_host && byte(name - 1).is_ascii_digit()
                || is_named_host(bytes)
                || is_named_container(bytes)
                || is_logger(bytes)
                || ["kern", "user", "daemon", "std", "rank"]
                    .iter()
                    .any(|word| text.starts_with(word))
        }
        b'{' => memchr::memmem::find(start(bytes), b".py:").is_some(),
        b'#' => text.starts_with("##[") || byte(1).is_ascii_digit(),
        _ => false,
    }
}

/// Slurm, torch and glog write into a log of a progress bar, which has not ended its line.
fn is_behind_a_bar(text: &str) -> bool {
    ["]slurmstepd: error: ", "]srun: error: ", "][rank", "]E", "]F"]
        .iter()
        .any(|words| text.contains(words))
}

/// rsyslog with dates of RFC 3339 writes the host behind them: `node7 kernel: `.
fn is_before_kernel(text: &str) -> bool {
    let host = text.find(' ').and_then(|end| text.get(end..));
    host.is_some_and(|rest| rest.starts_with(" kernel: "))
}

/// Something that may stand in front of a line.
struct Prefix {
    /// Whether the line may start with it: a look at some bytes, which keeps most patterns from being tried.
    may_be: fn(&[u8], &Origin) -> bool,
    pattern: Regex,
    apply: Apply,
}

/// All of them; the first that fits is the one.
static PREFIXES: LazyLock<Vec<Prefix>> = LazyLock::new(|| {
    let prefix = |pattern: &str, apply, may_be| Prefix {
        may_be,
        pattern: Regex::new(pattern).expect("a fixed pattern"),
        apply,
    };
    vec![
        // torch's exception hook and torchrun: `[rank0]: Traceback …`, glog of c10d: `[rank1]:[E1003 …`.
        prefix(r"^\[rank(\d+)\]:[ ]?", rank_tag, |line, _| line.starts_with(b"[rank")),
        // torchrun's tee: `[default0]:`, `[trainer3]:` (role and local rank), with no space behind.
        prefix(r"^\[[a-z_]+\d+\]:", stream_tag, |line, _| {
            in_bracket(line, |byte| byte.is_ascii_lowercase() || byte == b'_')
        }),
        // mpirun --tag-output: `[1,3]<stderr>:`, since Open MPI 5 `[job-4711@1,3]<stderr>: `.
        prefix(r"^\[\d+,(\d+)\]<(?:stderr|stdout)>:", rank_tag, |line, _| {
            in_bracket(line, |byte| byte.is_ascii_digit())
        }),
        // mpirun --timestamp-output: `Mon Mar  4 09:12:44 2024[1,3]<stderr>:`.
        prefix(
            r"^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}(?P<rest>\[\d+,\d+\]<std(?:err|out)>:)",
            nothing,
            |line, _| byte(line, 0).is_ascii_uppercase() && byte(line, 3) == b' ' && byte(line, 24) == b'[',
        ),
        // A step of `docker build`, and its seconds: `#14 9.130 `.
        prefix(r"^#\d{1,4} \d{1,6}\.\d{1,4} ", nothing, |line, _| {
            byte(line, 0) == b'#' && byte(line, 1).is_ascii_digit()
        }),
        // GitHub's and Azure's runners, behind a time.
        prefix(r"^##\[(?:error|warning|debug|section|command)\]", nothing, |line, _| {
            line.starts_with(b"##[")
        }),
        // horovodrun: `[3]<stderr>:`.
        prefix(r"^\[(\d+)\]<(?:stderr|stdout)>:", rank_tag, |line, _| {
            in_bracket(line, |byte| byte.is_ascii_digit())
        }),
        prefix(
            r"^\[[^\s@\]]+@\d+,(\d+)\]<(?:stderr|stdout)>: ?",
            rank_tag,
            |line, _| {
                in_bracket(line, |byte| !byte.is_ascii_whitespace()) && memchr::memchr(b'@', start(line)).is_some()
            },
        ),
        // The number of the rank alone: `[11]:Traceback`, and with a space behind. `[0]:` without more is torchrun's.
        prefix(
            r#"(?-u)^\[(\d{1,5})\]: ?(?P<rest>  File "|    |[!-~])"#,
            rank_tag,
            |line, _| {
                in_bracket(line, |byte| byte.is_ascii_digit()) && memchr::memmem::find(start(line), b"]:").is_some()
            },
        ),
        // What people print before a line to say which of several processes writes: `[gpu 0] `, `[worker-3]: `. Of ASCII
        // alone: with groups, the cost of a search grows with the size of the pattern.
        prefix(
            r"^\[(?i-u:rank[ :=_-]?(?P<rank>[0-9]{1,5})|(?:gpu|worker|proc|process|node|local_rank|trainer|device|r)[ :=_-]?[0-9]{1,5})\]:? ",
            named_rank,
            |line, _| in_bracket(line, |byte| byte.is_ascii_alphabetic()),
        ),
        // `ros2 launch`: the node and its number, in brackets.
        prefix(r"(?-u)^\[[a-z][a-z0-9_.]{1,60}-\d{1,4}\] ", stream_tag, |line, _| {
            in_bracket(line, |byte| byte.is_ascii_lowercase()) && memchr::memchr(b'-', start(line)).is_some()
        }),
        // DeepSpeed's launcher and pdsh: the address of the machine.
        prefix(r"^\d{1,3}(?:\.\d{1,3}){3}: ", stream_tag, |line, _| {
            byte(line, 0).is_ascii_digit() && memchr::memchr(b'.', start(line)).is_some()
        }),
        // docker compose: the container's name, which ends in a number, padded to the width of the longest.
        prefix(r"^[a-z][a-z0-9_-]*-\d+ +\| ", stream_tag, |line, _| {
            byte(line, 0).is_ascii_lowercase() && memchr::memchr(b'|', start(line)).is_some()
        }),
        // A progress bar that the next line was written behind.
        prefix(
            r"^.*[\d?](?:it/s|s/it|/s)[^\]]*\](?P<rest>(?:srun|slurmstepd): error: |\[rank\d+\]:|[EF]\d{4,8} \d\d:\d\d:\d\d\.)",
            nothing,
            |line, _| std::str::from_utf8(line).is_ok_and(is_behind_a_bar),
        ),
        // torchx: the role and the number of its replica, before what torchrun puts there.
        prefix(r"^[A-Za-z0-9_.-]+/[0-9]+ (?P<rest>\[)", nothing, |line, _| {
            byte(line, 0).is_ascii_lowercase() && memchr::memchr(b'/', start(line)).is_some()
        }),
        // Kaggle's notebooks: seconds, and the number of the line.
        prefix(r"(?-u)^\d{1,6}\.\d{1,3}s\t\d{1,7}\t", nothing, |line, _| {
            is_numbered(line, b'.') && memchr::memchr(b'\t', start(line)).is_some()
        }),
        // The number of a line of a log that was looked for with `grep -n`.
        prefix(
            r"^[0-9]{1,9}:(?P<rest>[0-9]{4}-[0-9]{2}-[0-9]{2}[T ]|\[rank|\([A-Z])",
            nothing,
            |line, _| is_numbered(line, b':'),
        ),
        // kubectl logs --prefix: `[pod/train-0/main] `. Lines of exports of logs have streams and hosts so as well.
        prefix(r"^\[(?:pod|stream|host)/[^\s\]]+\] ", stream_tag, |line, _| {
            [&b"[pod/"[..], b"[stream/", b"[host/"]
                .iter()
                .any(|start| line.starts_with(start))
        }),
        prefix(GLOG, glog, |line, _| {
            let line = line.strip_prefix(b"[").unwrap_or(line);
            is_level(line) && byte(line, 1).is_ascii_digit()
        }),
        // c10 before torch 2.4: no time.
        prefix(r"^\[[IWEF] [^\s\]:]+:\d+\] ?", glog, |line, _| {
            in_bracket(line, |byte| b"IWEF".contains(&byte)) && byte(line, 2) == b' '
        }),
        // TensorFlow and XLA, behind a date: `E external/xla/file.cc:12] `.
        prefix(r"^[IWEF] [\w./-]+\.(?:cc|cpp|cu|h):\d+\] ?", nothing, |line, _| {
            is_level(line) && byte(line, 1) == b' '
        }),
        prefix(DATED, dated, |line, _| {
            byte(line.strip_prefix(b"[").unwrap_or(line), 4) == b'-'
        }),
        prefix(SLASHED, slashed, |line, _| {
            let line = line.strip_prefix(b"[").unwrap_or(line);
            byte(line, 2) == b'/' || byte(line, 4) == b'/'
        }),
        // dmesg -T: `[Sat Nov 21 09:53:46 2026] `.
        prefix(CTIME, ctime, |line, _| {
            in_bracket(line, |byte| byte.is_ascii_uppercase())
        }),
        // The host and the program behind such a date, as `journalctl -o short-iso` has them.
        prefix(
            r"(?-u)^[\w.-]{1,64} (?P<program>[\w./@-]{1,64})\[(?P<pid>\d{1,10})\]: ",
            journal,
            |line, origin| origin.stamp.is_some() && memchr::memchr(b'[', start(line)).is_some(),
        ),
        prefix(
            r"^[\w.-]+ kernel: (?:\[ *\d+\.\d+\] ?)?",
            kernel_facility,
            |line, origin| origin.stamp.is_some() && std::str::from_utf8(line).is_ok_and(is_before_kernel),
        ),
        // The program alone, as people cut the date and the host off.
        prefix("^kernel: ", kernel_facility, |line, _| line.starts_with(b"kernel: ")),
        // dmesg -H: the minute, then what has passed since the line before: `[May19 19:57] `, `[  +0.000127] `.
        prefix(
            r"^\[(?:[A-Z][a-z]{2} ?\d{1,2} \d\d:\d\d| *\+\d{1,6}\.\d{6})\] ",
            kernel_facility,
            |line, _| in_bracket(line, |byte| byte.is_ascii_uppercase() || byte == b' ' || byte == b'+'),
        ),
        // Ray's own processes, behind a date: `E 4711 4712] logging.cc:440: `. Of ASCII alone: eighty times every letter
        // there is takes 40 ms to compile.
        prefix(
            r"^[IWEFC] (?P<pid>[0-9]{1,10}) [0-9]{1,10}\] (?:\([^() ]{1,40}\) )?[A-Za-z0-9_./-]{1,80}:[0-9]+: ?",
            ray_core,
            |line, _| is_level(line) && byte(line, 1) == b' ' && byte(line, 2).is_ascii_digit(),
        ),
        // Kernel ring buffer: seconds since boot, not since 1970.
        prefix(r"^\[ *(\d{1,9}\.\d{3,6})\] ?(?:\[ *[TC]\d+\] ?)?", uptime, |line, _| {
            in_bracket(line, |byte| byte.is_ascii_digit() || byte == b' ')
        }),
        // Ray: `(RayTrainWorker pid=12, ip=10.0.0.1) `; vLLM: `(EngineCore_DP0 pid=12) `.
        prefix(
            r"^\((?:[\w.:<>-]+ ?)?(?:rank=(?P<rank>\d+),? ?)?pid=(?P<pid>\d+)(?:, ip=[\d.]+)?\)[ ]?",
            worker_tag,
            |line, _| line.starts_with(b"("),
        ),
        // vLLM's formatter repeats this on every line of a traceback.
        prefix(
            r"^(?:INFO|WARNING|ERROR|DEBUG|CRITICAL) (\d\d)-(\d\d) (\d\d:\d\d:\d\d) (?:\[[^\]]+\]|\w+\.py:\d+\]) ?",
            month_day,
            |line, _| is_level(line) && byte(line, 1).is_ascii_uppercase(),
        ),
        prefix(SYSLOG, syslog, |line, _| {
            byte(line, 0).is_ascii_uppercase() && byte(line, 3) == b' '
        }),
        // srun --label: the task's number.
        prefix(r"^\d{1,5}: ", stream_tag, |line, _| is_numbered(line, b':')),
        // Open MPI: host and process before each line of what it says of a signal.
        prefix(
            r"^\[[\w.-]+:(?P<pid>\d{1,10})\] (?P<rest>\*\*\* |Signal: |Signal code: |Failing at address: |\[ ?\d+\] |\[\d+,\d+\]<stderr>:)",
            process_tag,
            |line, _| in_bracket(line, |byte| byte.is_ascii_alphanumeric()),
        ),
        // Launchers that name the machine and the process: `[node-14:0]: `.
        prefix(r"^\[[A-Za-z][\w.-]*:\d{1,7}\]:? ", stream_tag, |line, _| {
            in_bracket(line, |byte| byte.is_ascii_alphabetic())
        }),
        // A clock that a log viewer puts before lines that have a rank's tag.
        // Or that Jenkins and kubectl's users put before every line.
        prefix(
            r#"(?-u)^\d\d:\d\d:\d\d(?:[.,]\d{1,9} | (?P<rest>\[|  File "|    [#!-~])|  | )"#,
            nothing,
            |line, _| is_numbered(line, b':') && byte(line, 5) == b':',
        ),
        // A table that `CloudWatch` exports: milliseconds since 1970.
        prefix(r"^\d{13},", nothing, |line, _| {
            is_numbered(line, b',') && byte(line, 13) == b','
        }),
        // /dev/kmsg: `pri,sequence,microseconds,flags;`.
        prefix(r"^\d+,\d+,(\d+),[^;]{1,20};", kmsg, |line, _| is_numbered(line, b',')),
        // dmesg -x: `kern  :warn  : `.
        prefix(r"^(?:kern|user|daemon) *:[a-z]+ *: ?", kernel_facility, |line, _| {
            matches!(byte(line, 0), b'k' | b'u' | b'd')
        }),
        // Airflow, behind a date: where it logs and how grave that is. What a task's container prints has its name before it.
        prefix(
            r"(?-u)^\{\w{1,40}\.py:\d{1,5}\} (?:DEBUG|INFO|WARNING|ERROR|CRITICAL) - (?:\[[a-z0-9-]{1,63}\] )?",
            nothing,
            |line, origin| byte(line, 0) == b'{' && origin.stamp.is_some(),
        ),
        // `gcloud ai custom-jobs stream-logs`: `ERROR   2026-02-23 18:53:36 -0500       workerpool0-0   `. Whatever a worker
        // writes to its standard error is an error to it.
        prefix(
            r"(?-u)^(?:DEFAULT|DEBUG|INFO|NOTICE|WARNING|ERROR|CRITICAL) +[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8} [+-][0-9]{4} +[a-z0-9-]{1,63}   ",
            stream_tag,
            |line, _| is_level(line) && memchr::memmem::find(start(line), b" workerpool").is_some(),
        ),
        // TorchServe, behind a date: what a worker printed, `[INFO ] W-9000-model_1.0-stdout org.pytorch…WorkerLifeCycle - `.
        prefix(
            r"(?-u)^\[(?:DEBUG|INFO|WARN|ERROR) ?\] W-\d+-[!-~]{1,80}-std(?:out|err) [\w.]{1,80} - ?",
            stream_tag,
            |line, origin| byte(line, 0) == b'[' && origin.stamp.is_some(),
        ),
        // Spark, behind a date: what a task printed, of which Horovod tells the rank.
        prefix(
            r"^(?:INFO|WARN|ERROR) +(?P<rest>\[\d+\]<std(?:out|err)>:)",
            nothing,
            |line, origin| is_level(line) && origin.stamp.is_some(),
        ),
        // The name of a logger and a level, behind a date, of a program that logs what another one printed:
        // `rastervision.backend: INFO - `.
        prefix(
            r"(?-u)^[a-z][a-z0-9_]{0,40}(?:\.[A-Za-z0-9_]{1,40}){1,6}: (?:DEBUG|INFO|WARNING|ERROR|CRITICAL) - ",
            nothing,
            |line, origin| origin.stamp.is_some() && is_logger(line),
        ),
        // What follows a date in Kubernetes' log files: `stderr F `.
        prefix(r"^std(?:out|err) [FP] ", nothing, |line, _| line.starts_with(b"std")),
        // Some loggers: `rank3: `.
        prefix(r"^rank[ _]?(\d{1,6}): ", rank_tag, |line, _| line.starts_with(b"rank")),
        // srun --label pads the numbers to the width of the highest. Rust's backtraces have four columns.
        prefix(r"^(?: {1,2}\d| \d\d): ", stream_tag, |line, _| line.starts_with(b" ")),
        // The host, as pdsh (and so `DeepSpeed`) puts it before every line, `worker-5: `; the container, as Docker
        // Compose does, `trainer-1  | `. A name that ends in a number, so that it is not taken for `error: `. What the
        // kernel writes starts with the name of a driver or of a device.
        prefix(
            r"^[a-z][a-z0-9_-]{0,62}\d(?:: | {1,16}\| )",
            stream_tag,
            |line, origin| byte(line, 0).is_ascii_lowercase() && !origin.kernel && !line.starts_with(b"nvidia-"),
        ),
        // The same where the name does not end in a number: then what follows has to be of a program in Python.
        prefix(
            r#"(?-u)^[a-z][a-z0-9]{0,30}(?:[.-][a-z0-9]{1,30}){1,6}: (?P<rest>Traceback \(most|  File "|    [!-~]|[A-Za-z_.]{0,60}(?:Error|Exception|Interrupt|Exit)(?::|$)|\[\d{4}-|\d{4}-\d\d-\d\d|\[rank\d)"#,
            stream_tag,
            |line, origin| is_named_host(line) && !origin.kernel,
        ),
        // Docker Compose's container without a number, padded to the width of the longest name.
        prefix(
            r#"(?-u)^[a-z][a-z0-9_.-]{1,62} {1,30}\| (?P<rest>Traceback \(most|  File "|    [ !-~]|[A-Za-z_.]{0,60}(?:Error|Exception|Interrupt|Exit)(?::|$)|The above exception was|During handling of the|INFO|WARN|ERROR|CRITICAL|\[?\d{4}-\d\d-\d\d|$)"#,
            stream_tag,
            |line, origin| is_named_container(line) && !origin.kernel,
        ),
    ]
});

/// `meeting_worker   | `: one name before the first bar.
fn is_named_container(line: &[u8]) -> bool {
    let is_of_name = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_.-".contains(byte);
    let name = start(line).iter().take_while(|byte| is_of_name(byte)).count();
    let behind = line.get(name..).unwrap_or_default();
    let padding = behind.iter().take_while(|byte| **byte == b' ').count();
    name > 1 && padding > 0 && behind.get(padding) == Some(&b'|')
}

/// `rastervision.backend: INFO - `.
fn is_logger(line: &[u8]) -> bool {
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.".contains(byte);
    let name = start(line).iter().take_while(|byte| is_of_name(byte)).count();
    let behind = line.get(name..).unwrap_or_default();
    behind.starts_with(b": ") && behind.get(2).is_some_and(u8::is_ascii_uppercase)
}

/// `trainer-b: `, `node7.cluster: `: a name that has parts, as those of machines have and words of messages have not.
fn is_named_host(line: &[u8]) -> bool {
    let is_of_name = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-".contains(byte);
    let name = start(line).iter().take_while(|byte| is_of_name(byte)).count();
    let has_parts = start(line).iter().take(name).any(|byte| b".-".contains(byte));
    has_parts && line.get(name..name + 2) == Some(b": ")
}

fn byte(line: &[u8], at: usize) -> u8 {
    line.get(at).copied().unwrap_or_default()
}

/// As much of a line as a tag may take.
fn start(line: &[u8]) -> &[u8] {
    line.get(..line.len().min(128)).unwrap_or_default()
}

/// Whether a line starts with a bracket, and then like this.
fn in_bracket(line: &[u8], then: fn(u8) -> bool) -> bool {
    byte(line, 0) == b'[' && then(byte(line, 1))
}

/// Whether a line starts with the first letter of a level.
fn is_level(line: &[u8]) -> bool {
    b"IWEFDC".contains(&byte(line, 0))
}

/// Whether a line starts with a number, and then this.
fn is_numbered(line: &[u8], then: u8) -> bool {
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0 && byte(line, digits) == then
}

/// `[E1003 18:37:01.832146912 File.cpp:607] `, `W1121 09:53:46.407000 29074 path/api.py:1028] `. Written so that each
/// byte tells which part it belongs to: then one pass finds the parts, several times faster.
/// absl writes seconds since 1970 before it is set up: `E0000 00:00:1738697930.202924`.
const GLOG: &str = r"(?x-u) ^ \[? [IWEF] (?P<date>\d{3,4}) [\ ] (?P<clock>\d\d:\d\d:\d{2,10}\.\d{1,9}) [\ \t]+
    (?: (?P<pid>\d+) [\ \t]+ )? [A-Za-z_./<-] [!-9;-\\^-~]* : \d+ \] [\ ]?";
/// `[Sat Nov 21 09:53:46 2026] `.
const CTIME: &str =
    r"^\[[A-Z][a-z]{2} (?P<month>[A-Z][a-z]{2}) +(?P<day>\d{1,2}) (?P<clock>\d\d:\d\d:\d\d) (?P<year>\d{4})\] ?";

/// ISO 8601 and Python logging: `2026-11-21 09:53:46,123 `, `[2026-11-21T09:53:46.123+00:00] `.
const DATED: &str = r"^\[?(?P<date>\d{4}-\d\d-\d\d)(?:[T_ ]|, )(?P<clock>\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)(?: ?(?P<zone>Z|UTC|[+-]\d\d:?\d\d))?\]?(?: -| \||,|:)? ?";
/// Dates of the United States, as the examples of transformers set them, and of Go and Paddle:
/// `07/18/2023 07:22:09 - `, `2023/07/18 07:22:09 `.
const SLASHED: &str = r"(?-u)^\[?(?:(?P<month>\d\d)/(?P<day>\d\d)/(?P<year>\d{4})|(?P<first>\d{4})/(?P<second>\d\d)/(?P<third>\d\d)) (?P<clock>\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)\]?(?: -|,|:)? ?";
/// `Nov 21 09:53:46 host kernel: `, `Nov 21 09:53:46 host python[123]: `.
const SYSLOG: &str = r"^(?P<month>[A-Z][a-z]{2}) +(?P<day>\d{1,2}) (?P<clock>\d\d:\d\d:\d\d(?:\.\d+)?) (?P<host>\S+) (?P<program>[\w./@-]+?)(?:\[(?P<pid>\d+)\])?: ?";

fn number(found: &Captures, name: &str) -> Option<u32> {
    found.name(name)?.as_str().parse().ok()
}

fn text<'a>(found: &'a Captures, name: &str) -> &'a str {
    found.name(name).map_or("", |m| m.as_str())
}

fn tag(origin: &mut Origin, name: &str) {
    // mpirun tags each piece that a process writes, and one line may be several.
    if origin.stream.split(' ').any(|known| known == name) {
        return;
    }
    if !origin.stream.is_empty() {
        origin.stream.push(' ');
    }
    origin.stream.push_str(name);
}

fn rank_tag(found: &Captures, origin: &mut Origin) {
    origin.rank = found.get(1).and_then(|rank| rank.as_str().parse().ok());
    stream_tag(found, origin);
}

fn stream_tag(found: &Captures, origin: &mut Origin) {
    tag(origin, before_rest(found));
}

/// What a prefix is, without what only told it apart.
fn before_rest<'a>(found: &'a Captures) -> &'a str {
    let whole = found.get(0).map_or("", |whole| whole.as_str());
    let rest = found.name("rest").map_or(whole.len(), |rest| rest.start());
    whole.get(..rest).unwrap_or_default().trim_end()
}

/// `c10d`'s messages start so as well, and have their rank from here.
fn named_rank(found: &Captures, origin: &mut Origin) {
    origin.rank = number(found, "rank").or(origin.rank);
    stream_tag(found, origin);
}

fn worker_tag(found: &Captures, origin: &mut Origin) {
    origin.rank = number(found, "rank").or(origin.rank);
    origin.pid = number(found, "pid");
    stream_tag(found, origin);
}

fn ray_core(found: &Captures, origin: &mut Origin) {
    origin.pid = number(found, "pid").or(origin.pid);
}

fn process_tag(found: &Captures, origin: &mut Origin) {
    origin.pid = number(found, "pid").or(origin.pid);
    stream_tag(found, origin);
}

fn glog(found: &Captures, origin: &mut Origin) {
    origin.pid = number(found, "pid").or(origin.pid);
    if let Some(date) = number(found, "date").filter(|date| *date > 0) {
        // c10 does not pad the month: `[E626 …` is of June.
        origin.stamp = Stamp::without_year(Some(date / 100), Some(date % 100), text(found, "clock"));
    }
    // A line of its own: it never continues what the same rank printed before it.
    tag(origin, "glog");
}

fn month_day(found: &Captures, origin: &mut Origin) {
    let part = |index| found.get(index).and_then(|m| m.as_str().parse().ok());
    origin.stamp = Stamp::without_year(part(1), part(2), found.get(3).map_or("", |m| m.as_str()));
}

fn dated(found: &Captures, origin: &mut Origin) {
    let zone = found.name("zone").map(|zone| zone.as_str());
    origin.stamp = Some(Stamp::dated(text(found, "date"), text(found, "clock"), zone));
}

fn slashed(found: &Captures, origin: &mut Origin) {
    let date = match found.name("year") {
        Some(year) => format!("{}-{}-{}", year.as_str(), text(found, "month"), text(found, "day")),
        None => format!(
            "{}-{}-{}",
            text(found, "first"),
            text(found, "second"),
            text(found, "third")
        ),
    };
    origin.stamp = Some(Stamp::dated(&date, text(found, "clock"), None));
}

/// The kernel's own lines, with the clock of the machine that `dmesg -T` ran on.
fn ctime(found: &Captures, origin: &mut Origin) {
    let Some(month) = month(text(found, "month")) else {
        return;
    };
    let day = number(found, "day").unwrap_or_default();
    let date = format!("{}-{month:02}-{day:02}", text(found, "year"));
    origin.stamp = Some(Stamp::dated(&date, text(found, "clock"), None));
    origin.kernel = true;
}

fn month(name: &str) -> Option<u32> {
    let index = MONTHS.iter().position(|month| *month == name)?;
    u32::try_from(index + 1).ok()
}

fn syslog(found: &Captures, origin: &mut Origin) {
    let month = month(text(found, "month"));
    origin.stamp = Stamp::without_year(month, number(found, "day"), text(found, "clock"));
    origin.kernel = text(found, "program") == "kernel";
    origin.pid = number(found, "pid").or(origin.pid);
    if !origin.kernel {
        tag(origin, &format!("{}[{}]", text(found, "program"), text(found, "pid")));
    }
}

fn journal(found: &Captures, origin: &mut Origin) {
    origin.pid = number(found, "pid").or(origin.pid);
    tag(origin, &format!("{}[{}]", text(found, "program"), text(found, "pid")));
}

fn uptime(found: &Captures, origin: &mut Origin) {
    origin.kernel = true;
    if origin.stamp.is_none() {
        origin.stamp = found.get(1).and_then(|seconds| Stamp::uptime(seconds.as_str()));
    }
}

fn kmsg(found: &Captures, origin: &mut Origin) {
    origin.kernel = true;
    let seconds = found
        .get(1)
        .and_then(|micros| micros.as_str().parse::<f64>().ok())
        .map(|micros| micros / 1e6);
    origin.stamp = seconds.and_then(|seconds| Stamp::uptime(&seconds.to_string()));
}

fn kernel_facility(_: &Captures, origin: &mut Origin) {
    origin.kernel = true;
}

fn nothing(_: &Captures, _: &mut Origin) {}

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];
