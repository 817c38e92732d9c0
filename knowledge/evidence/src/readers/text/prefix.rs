//! What stands in front of a line: rank tags, worker tags, time stamps, host names.
//!
//! Several may be nested (`2026-11-21T09:53:46Z stderr F [rank0]: …`), so they are taken off one after the other.

use regex::{Captures, Regex};

use super::regex;
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
    if !may_have_prefix(first, text) {
        return None;
    }
    // What the kernel writes starts with the name of a driver or of a device.
    let may_have_host = !origin.kernel && !text.starts_with("nvidia-");
    let host = may_have_host.then_some((host_pattern(), stream_tag as Apply));
    for (pattern, apply) in candidates(first)
        .into_iter()
        .chain(host.filter(|_| first.is_ascii_lowercase()))
    {
        if pattern.is_match(text)
            && let Some(found) = pattern.captures(text)
        {
            apply(&found, origin);
            // Some prefixes are only told apart by what follows them: that stays.
            let rest = found.name("rest").map(|rest| rest.start());
            let whole = found.get(0).map(|whole| whole.end());
            return rest.or(whole).filter(|end| *end > 0);
        }
    }
    None
}

/// Whether a prefix can start so: a look at some bytes, because most lines have none and are not to pay for that.
fn may_have_prefix(first: u8, text: &str) -> bool {
    let bytes = text.as_bytes();
    let byte = |at: usize| bytes.get(at).copied().unwrap_or_default();
    let has = |range, words: &[u8]| bytes.get(range) == Some(words);
    match first {
        b'[' | b'(' | b'0'..=b'9' => true,
        b' ' => has(2..4, b": ") || has(3..5, b": "),
        b'A'..=b'Z' => {
            let levels = ["INFO ", "WARNING ", "ERROR ", "DEBUG ", "CRITICAL "];
            byte(3) == b' ' || byte(1).is_ascii_digit() || levels.iter().any(|level| text.starts_with(level))
        }
        b'a'..=b'z' => {
            let is_name = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(byte);
            let name = bytes.iter().take(64).take_while(|byte| is_name(byte)).count();
            let is_host = byte(name) == b':' || byte(name) == b' ';
            is_host && byte(name - 1).is_ascii_digit()
                || ["kern", "user", "daemon", "std", "rank"]
                    .iter()
                    .any(|word| text.starts_with(word))
        }
        _ => false,
    }
}

/// The prefixes that can start with this byte.
fn candidates(first: u8) -> Vec<(&'static Regex, Apply)> {
    match first {
        b'[' => vec![
            // torch's exception hook and torchrun: `[rank0]: Traceback …`, glog of c10d: `[rank1]:[E1003 …`.
            (regex!(r"^\[rank(\d+)\]:[ ]?"), rank_tag),
            // torchrun's tee: `[default0]:`, `[trainer3]:` (role and local rank), with no space behind.
            (regex!(r"^\[[a-z_]+\d+\]:"), stream_tag),
            // mpirun --tag-output: `[1,3]<stderr>:`, since Open MPI 5 `[job-4711@1,3]<stderr>: `.
            (regex!(r"^\[\d+,(\d+)\]<(?:stderr|stdout)>:"), rank_tag),
            (regex!(r"^\[[^\s@\]]+@\d+,(\d+)\]<(?:stderr|stdout)>: ?"), rank_tag),
            // kubectl logs --prefix: `[pod/train-0/main] `.
            (regex!(r"^\[pod/[^\s\]]+\] "), stream_tag),
            (regex!(GLOG), glog),
            (regex!(DATED), dated),
            // dmesg -T: `[Sat Nov 21 09:53:46 2026] `.
            (regex!(CTIME), ctime),
            // Kernel ring buffer: seconds since boot.
            (regex!(r"^\[ *(\d+\.\d{3,6})\] ?(?:\[ *[TC]\d+\] ?)?"), uptime),
        ],
        // Ray: `(RayTrainWorker pid=12, ip=10.0.0.1) `; vLLM: `(EngineCore_DP0 pid=12) `.
        b'(' => vec![(
            regex!(r"^\((?:[\w.:<>-]+ ?)?(?:rank=(?P<rank>\d+),? ?)?pid=(?P<pid>\d+)(?:, ip=[\d.]+)?\)[ ]?"),
            worker_tag,
        )],
        b'I' | b'W' | b'E' | b'F' | b'D' | b'C' if first.is_ascii_uppercase() => vec![
            (regex!(GLOG), glog),
            // vLLM's formatter repeats this on every line of a traceback.
            (
                regex!(r"^(?:INFO|WARNING|ERROR|DEBUG|CRITICAL) (\d\d)-(\d\d) (\d\d:\d\d:\d\d) \[[^\]]+\] ?"),
                month_day,
            ),
            (regex!(SYSLOG), syslog),
        ],
        b'A'..=b'Z' => vec![(regex!(SYSLOG), syslog)],
        b'0'..=b'9' => vec![
            (regex!(DATED), dated),
            // srun --label: the task's number.
            (regex!(r"^\d{1,5}: "), stream_tag),
            // A clock that a log viewer puts before lines that have a rank's tag.
            (regex!(r"^\d\d:\d\d:\d\d(?:[.,]\d{1,9})? (?P<rest>\[)"), nothing),
            // /dev/kmsg: `pri,sequence,microseconds,flags;`.
            (regex!(r"^\d+,\d+,(\d+),[^;]{1,20};"), kmsg),
        ],
        // dmesg -x: `kern  :warn  : `.
        b'k' | b'u' | b'd' => vec![(regex!(r"^(?:kern|user|daemon) *:[a-z]+ *: ?"), kernel_facility)],
        // What follows a date in Kubernetes' log files: `stderr F `.
        b's' => vec![(regex!(r"^std(?:out|err) [FP] "), nothing)],
        // Some loggers: `rank3: `.
        b'r' => vec![(regex!(r"^rank[ _]?(\d{1,6}): "), rank_tag)],
        // srun --label pads the numbers to the width of the highest. Rust's backtraces have four columns.
        b' ' => vec![(regex!(r"^(?: {1,2}\d| \d\d): "), stream_tag)],
        _ => Vec::new(),
    }
}

/// `[E1003 18:37:01.832146912 File.cpp:607] `, `W1121 09:53:46.407000 29074 path/api.py:1028] `. c10 does not pad the
/// month: `[E626 …` is of June. Before torch 2.4 it left the time out: `[E File.cpp:607] `.
const GLOG: &str = r"^(?:\[?[IWEF](?P<month>\d{1,2})(?P<day>\d\d) (?P<clock>\d\d:\d\d:\d\d\.\d{1,9})\s+(?:(?P<pid>\d+)\s+)?|\[[IWEF] )(?P<file>[^\s\]]+:\d+)\] ?";
/// `[Sat Nov 21 09:53:46 2026] `.
const CTIME: &str =
    r"^\[[A-Z][a-z]{2} (?P<month>[A-Z][a-z]{2}) +(?P<day>\d{1,2}) (?P<clock>\d\d:\d\d:\d\d) (?P<year>\d{4})\] ?";

/// The host, as pdsh (and so `DeepSpeed`) puts it before every line, `worker-5: `; the container, as Docker Compose does,
/// `trainer-1  | `. A name that ends in a number, so that it is not taken for `error: `.
fn host_pattern() -> &'static Regex {
    regex!(r"^[a-z][a-z0-9_-]{0,62}\d(?:: | {1,16}\| )")
}

/// ISO 8601 and Python logging: `2026-11-21 09:53:46,123 `, `[2026-11-21T09:53:46.123+00:00] `.
const DATED: &str = r"^\[?(?P<date>\d{4}-\d\d-\d\d)[T_ ](?P<clock>\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)(?: ?(?P<zone>Z|[+-]\d\d:?\d\d))?\]?(?: -| \||,|:)? ?";
/// `Nov 21 09:53:46 host kernel: `, `Nov 21 09:53:46 host python[123]: `.
const SYSLOG: &str = r"^(?P<month>[A-Z][a-z]{2}) +(?P<day>\d{1,2}) (?P<clock>\d\d:\d\d:\d\d(?:\.\d+)?) (?P<host>\S+) (?P<program>[\w./@-]+?)(?:\[(?P<pid>\d+)\])?: ?";

fn number(found: &Captures, name: &str) -> Option<u32> {
    found.name(name)?.as_str().parse().ok()
}

fn text<'a>(found: &'a Captures, name: &str) -> &'a str {
    found.name(name).map_or("", |m| m.as_str())
}

fn tag(origin: &mut Origin, name: &str) {
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
    tag(origin, found.get(0).map_or("", |whole| whole.as_str().trim_end()));
}

fn worker_tag(found: &Captures, origin: &mut Origin) {
    origin.rank = number(found, "rank").or(origin.rank);
    origin.pid = number(found, "pid");
    stream_tag(found, origin);
}

fn glog(found: &Captures, origin: &mut Origin) {
    origin.pid = number(found, "pid").or(origin.pid);
    if found.name("clock").is_some() {
        origin.stamp = Stamp::without_year(number(found, "month"), number(found, "day"), text(found, "clock"));
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
