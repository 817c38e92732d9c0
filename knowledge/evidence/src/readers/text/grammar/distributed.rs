//! What process groups, their watchdogs and their stores print.

use super::Parts;
use crate::model::{CollectiveMismatch, EventPayload, Rendezvous, Watchdog};
use crate::readers::text::line::Line;
use crate::readers::text::rules::Rule;
use crate::readers::text::sink::Sink;
use crate::readers::text::{Block, regex};

/// The watchdog and the heartbeat monitor.
pub const RULE: Rule = Rule {
    literals: &[
        "Watchdog caught collective operation timeout",
        "detected by watchdog at work",
        "Timeout at NCCL work",
        "watchdog got stuck for",
        "Heartbeat monitor timed out",
        "watchdog thread terminated with exception",
        "Could not acquire GIL within",
        "flight recorder dump signal from another rank",
        "we are taking the entire process down",
        "operations have failed or timed out",
        "Received a dump signal",
        "Timed out waiting ",
        "No available shared memory broadcast block",
        "waiting for remainder of ranks",
        "waiting for the remainder",
        "Termination timeout for ",
    ],
    read: read_watchdog,
};

/// Ranks that differ.
pub const MISMATCH_RULE: Rule = Rule {
    literals: &[
        "ranks that caused the desync",
        "joined but didn't finish collective",
        "but didn't join collective",
        "Detected mismatch between collectives on ranks",
        "failed to pass monitoredBarrier",
        "appears not to match sizes of the same param in process",
        "op.preamble.length <= op.nbytes",
    ],
    read: read_mismatch,
};

/// Stores, rendezvous and the connections under gloo.
pub const RENDEZVOUS_RULE: Rule = Rule {
    literals: &[
        "recvValue failed on",
        "recvVector failed on",
        "recvValueWithTimeout failed on",
        "Failed to check the \"should dump\" flag on TCPStore",
        "sendBytes failed on",
        "wait timeout after",
        "is setting up NCCL communicator",
        "client socket has timed out after",
        "client socket has failed to connect",
        "waiting for clients.",
        "server socket has failed to listen",
        "server socket cannot be initialized",
        "Socket Timeout",
        "Connection closed by peer [",
        "RendezvousConnectionError",
        "RendezvousTimeoutError",
        "RendezvousClosedError",
        "Gloo connectFullMesh failed with",
        "] Read error [",
        "] writev [",
        "connect() timed out.",
        "Error: Address already in use",
        "Error: Connection reset by peer",
        "Error: Broken pipe",
        "store based barrier",
        "EADDRINUSE",
        "stopped sending heartbeats",
        "JAX distributed service detected fatal errors",
        "Wait_for_all_tasks_to_register",
    ],
    read: read_rendezvous,
};

fn read_watchdog(line: &Line, sink: &mut Sink) -> Option<Box<dyn Block>> {
    if line.is_quoted() {
        return None;
    }
    let (rank, watchdog) = watchdog(line.text)
        .or_else(|| gloo_timeout(line.text))
        .or_else(|| xla_timeout(line.text))
        .or_else(|| stalled(line.text))?;
    let mut origin = line.origin.clone();
    origin.rank = origin.rank.or(rank);
    sink.event(
        EventPayload::Watchdog(watchdog),
        &origin,
        [line.number, line.number],
        line.text,
    );
    None
}

/// Process group and rank: `[Rank 1]`, `[PG 0 (default_pg) Rank 1]`, `[PG ID 0 PG GUID 0(default_pg) Rank 6]`.
const GROUP: &str =
    r"\[(?:PG (?:ID \d+ PG GUID )?(?P<group>[^\s(\]]+) ?(?:\((?P<description>[^)]*)\) )?)?Rank (?P<rank>\d+)\]";
/// The collective that timed out.
const WORK: &str = r"Work\w*\(SeqNum=(?P<sequence>\d+), OpType=(?P<operation>\w+),(?: NumelIn=(?P<in>\d+), NumelOut=(?P<out>\d+),)? (?:TensorShape=[^)]*?, )?Timeout\(ms\)=(?P<timeout>\d+)\)(?: ran for (?P<ran>\d+) milliseconds)?";
/// How far the rank had come.
const STATUS: &str =
    r"last enqueued(?: NCCL)? work: (?P<enqueued>-?\d+), last completed(?: NCCL)? work: (?P<completed>-?\d+)";

fn watchdog(text: &str) -> Option<(Option<u32>, Watchdog)> {
    let family = family(text)?;
    let group = Parts::of(regex!(GROUP), text);
    let work = Parts::of(regex!(WORK), text);
    let status = Parts::of(regex!(STATUS), text);
    let at_work = Parts::of(regex!(r"at (?:NCCL )?work(?: sequence id)?: (?P<sequence>\d+)"), text);
    let of_work = |name| work.as_ref().and_then(|parts| parts.number(name));
    let of_status = |name| status.as_ref().and_then(|parts| parts.number(name));
    let watchdog = Watchdog {
        family: family.to_owned(),
        group: group.as_ref().and_then(|parts| parts.text("group")),
        description: group.as_ref().and_then(|parts| parts.text("description")),
        sequence: of_work("sequence").or_else(|| at_work.and_then(|parts| parts.number("sequence"))),
        operation: work.as_ref().and_then(|parts| parts.text("operation")),
        elements_in: of_work("in"),
        elements_out: of_work("out"),
        timeout_ms: of_work("timeout"),
        ran_ms: of_work("ran"),
        last_enqueued: of_status("enqueued"),
        last_completed: of_status("completed"),
    };
    Some((group.and_then(|parts| parts.number("rank")), watchdog))
}

/// gloo has no watchdog; the rank that waits says so: `[…/unbound_buffer.cc:84] Timed out waiting 1800000ms for recv
/// operation to complete`.
fn gloo_timeout(text: &str) -> Option<(Option<u32>, Watchdog)> {
    let parts = Parts::of(
        regex!(r"Timed out waiting (?P<timeout>\d+)ms for (?P<operation>\w+) operation to complete"),
        text,
    )?;
    let watchdog = Watchdog {
        family: "timeout".to_owned(),
        operation: parts.text("operation"),
        timeout_ms: parts.number("timeout"),
        ..Watchdog::default()
    };
    Some((None, watchdog))
}

/// XLA's threads, one a device, meet before each collective: ``Termination timeout for `first call to collective operation
/// 190; run_id=…` of 40 seconds exceeded``.
fn xla_timeout(text: &str) -> Option<(Option<u32>, Watchdog)> {
    let parts = Parts::of(
        regex!(r"Termination timeout for `(?P<operation>[^`;]+)[^`]*` of (?P<seconds>\d+) seconds exceeded"),
        text,
    )?;
    let watchdog = Watchdog {
        family: "timeout".to_owned(),
        operation: Some(format!("XLA {}", parts.text("operation")?)),
        timeout_ms: parts
            .number::<u64>("seconds")
            .and_then(|seconds| seconds.checked_mul(1000)),
        ..Watchdog::default()
    };
    Some((None, watchdog))
}

/// Horovod says every minute that some ranks wait for others, and goes on when those come; vLLM that its workers have not
/// taken what it wrote for them.
fn stalled(text: &str) -> Option<(Option<u32>, Watchdog)> {
    let parts = Parts::of(
        regex!(
            r"(?:waiting for (?:the )?remainder(?: of ranks)? for more than|No available shared memory broadcast block found in) (?P<seconds>\d+) seconds"
        ),
        text,
    )?;
    let watchdog = Watchdog {
        family: "stalled".to_owned(),
        ran_ms: parts
            .number::<u64>("seconds")
            .map(|seconds| seconds.saturating_mul(1000)),
        ..Watchdog::default()
    };
    Some((None, watchdog))
}

fn family(text: &str) -> Option<&'static str> {
    const FAMILIES: [(&str, &str); 10] = [
        // This one quotes the timeout it ends by, so it comes first.
        ("watchdog thread terminated with exception", "teardown"),
        ("Watchdog caught collective operation timeout", "timeout"),
        ("watchdog got stuck for", "stuck"),
        ("Heartbeat monitor timed out", "stuck"),
        ("Could not acquire GIL within", "gil"),
        ("dump signal", "dump-signal"),
        ("detected by watchdog at work", "failure"),
        ("Timeout at NCCL work", "failure"),
        ("we are taking the entire process down", "teardown"),
        ("operations have failed or timed out", "teardown"),
    ];
    FAMILIES
        .iter()
        .find(|(words, _)| text.contains(words))
        .map(|(_, family)| *family)
}

fn read_mismatch(line: &Line, sink: &mut Sink) -> Option<Box<dyn Block>> {
    if line.is_quoted() {
        return None;
    }
    let (family, ranks, sequence) = mismatch(line.text)?;
    let detail = line.text.trim().to_owned();
    let what = CollectiveMismatch {
        family: family.to_owned(),
        ranks,
        sequence,
        detail,
    };
    sink.event(
        EventPayload::CollectiveMismatch(what),
        &line.origin,
        [line.number, line.number],
        line.text,
    );
    None
}

fn mismatch(text: &str) -> Option<(&'static str, Vec<u32>, Option<u64>)> {
    if let Some(parts) = Parts::of(
        regex!(
            r"\[(?P<ranks>[\d, ]+)\] (?:joined but didn't finish collective #(?P<joined>\d+)|finished collective #\d+, but didn't join collective #(?P<missed>\d+))"
        ),
        text,
    ) {
        let sequence = parts.number("joined").or_else(|| parts.number("missed"));
        return Some(("desync", numbers(&parts.text("ranks")?), sequence));
    }
    if text.contains("ranks that caused the desync") {
        return Some(("desync", Vec::new(), None));
    }
    if text.contains("Detected mismatch between collectives on ranks") {
        let ranks = regex!(r"Rank (\d+) is running").captures_iter(text);
        let ranks = ranks.filter_map(|found| found.get(1)?.as_str().parse().ok()).collect();
        let sequence = Parts::of(regex!(r"SequenceNumber=(?P<n>\d+)"), text).and_then(|parts| parts.number("n"));
        return Some(("fingerprint", ranks, sequence));
    }
    if let Some(parts) = Parts::of(
        regex!(r"Ranks? (?P<ranks>[\d, ]+?) failed to pass monitoredBarrier"),
        text,
    ) {
        return Some(("monitored-barrier", numbers(&parts.text("ranks")?), None));
    }
    if let Some(parts) = Parts::of(
        regex!(r"\[(?P<rank>\d+)\]: params\[\d+\] in this process with sizes"),
        text,
    ) {
        return Some(("parameter-shape", parts.number("rank").into_iter().collect(), None));
    }
    text.contains("op.preamble.length <= op.nbytes")
        .then(|| ("gloo-size", Vec::new(), None))
}

fn numbers(list: &str) -> Vec<u32> {
    list.split([',', ' '])
        .filter_map(|number| number.parse().ok())
        .collect()
}

fn read_rendezvous(line: &Line, sink: &mut Sink) -> Option<Box<dyn Block>> {
    if line.is_quoted() {
        return None;
    }
    let rendezvous = rendezvous(line.text)?;
    sink.event(
        EventPayload::Rendezvous(rendezvous),
        &line.origin,
        [line.number, line.number],
        line.text,
    );
    None
}

fn rendezvous(text: &str) -> Option<Rendezvous> {
    let found = |operation: &str, peer, reason: String| {
        Some(Rendezvous {
            operation: operation.to_owned(),
            peer,
            reason,
        })
    };
    // `recvValue failed on SocketImpl(fd=76, addr=…, remote=[host]:port): Connection reset by peer`
    if let Some(parts) = Parts::of(
        regex!(
            r"(?P<call>recvValue(?:WithTimeout)?|recvVector|sendBytes) failed on SocketImpl\(fd=-?\d+(?:, addr=[^,]*)?(?:, remote=(?P<peer>[^)]*))?\): (?P<reason>.+?)\s*$"
        ),
        text,
    ) {
        let operation = if parts.text("call")? == "sendBytes" {
            "send"
        } else {
            "receive"
        };
        return found(operation, parts.text("peer"), parts.text("reason")?);
    }
    // Each watchdog asks the store from time to time whether it should dump its recorder.
    if let Some(parts) = Parts::of(
        regex!(r#"Failed to check the "should dump" flag on TCPStore, .*?with error: (?P<reason>.+?)\s*$"#),
        text,
    ) {
        return found("receive", None, parts.text("reason")?);
    }
    // Before its first collective, a rank gets NCCL's id from the one that makes it: `[3] is setting up NCCL communicator
    // and retrieving ncclUniqueId from [0] via c10d key-value store by key '0', but store->get('0') got error: Socket
    // Timeout`. Older versions have "retreiving".
    if let Some(parts) = Parts::of(
        regex!(
            r"is setting up NCCL communicator and retr(?:ie|ei)ving ncclUniqueId from \[(?P<rank>\d+)\] .*? got error: (?P<reason>.*(?:[Tt]imeout|[Tt]imed out).*)"
        ),
        text,
    ) {
        return found(
            "wait",
            parts.text("rank").map(|rank| format!("rank {rank}")),
            parts.text("reason")?,
        );
    }
    if let Some(parts) = Parts::of(regex!(r"(?P<reason>wait timeout after \d+ms, keys: .*)"), text) {
        return found("wait", None, parts.text("reason")?);
    }
    if let Some(parts) = Parts::of(
        regex!(
            r"(?P<reason>client socket has (?:timed out after \S+ while trying to connect to|failed to connect to)(?: any network address of)? \(?(?P<peer>[^)]*?)\)?\.?)$"
        ),
        text,
    ) {
        return found("connect", parts.text("peer"), parts.text("reason")?);
    }
    if let Some(parts) = Parts::of(
        regex!(r"(?P<reason>Timed out after \S+ seconds waiting for clients\..*)"),
        text,
    ) {
        return found("join", None, parts.text("reason")?);
    }
    if let Some(parts) = Parts::of(
        regex!(
            r"server socket (?:has failed to listen|cannot be initialized) on (?:any local network(?: address)?|\[?(?P<peer>\S+?)\]?)(?P<reason>(?:[. ].*)?)$"
        ),
        text,
    ) {
        return found(
            "listen",
            parts.text("peer"),
            parts.text("reason")?.trim_start_matches(['.', ' ']).to_owned(),
        );
    }
    if let Some(parts) = Parts::of(regex!(r"Connection closed by peer \[(?P<peer>[^\]]+\]:\d+)"), text) {
        return found(
            "receive",
            parts.text("peer").map(|peer| peer.replace(']', "")),
            "Connection closed by peer".to_owned(),
        );
    }
    // gloo: `[…/pair.cc:589] Read error [10.0.0.2]:25266: Connection reset by peer`, `writev […]:1: Broken pipe`.
    if let Some(parts) = Parts::of(
        regex!(r"\] (?P<call>Read error|writev) \[(?P<peer>[^\]]+\]:\d+): (?P<reason>.+?)\s*$"),
        text,
    ) {
        let operation = if parts.text("call")? == "writev" {
            "send"
        } else {
            "receive"
        };
        let peer = parts.text("peer").map(|peer| peer.replace(']', ""));
        return found(operation, peer, parts.text("reason")?);
    }
    if let Some(parts) = Parts::of(regex!(r"Gloo connectFullMesh failed with (?P<reason>.+?)\s*$"), text) {
        return found("connect", None, parts.text("reason")?);
    }
    // The store before torch 1.11 has only the system's words.
    if let Some(parts) = Parts::of(
        regex!(
            r"^(?:RuntimeError|(?:torch\.distributed\.)?Dist\w+Error): (?P<reason>(?P<listen>Address already in use)|(?P<receive>Connection reset by peer)|(?P<send>Broken pipe)|(?P<connect>connect\(\) timed out\..*))\.?\s*$"
        ),
        text,
    ) {
        let operation = ["listen", "receive", "send", "connect"]
            .into_iter()
            .find(|name| parts.text(name).is_some())?;
        return found(operation, None, parts.text("reason")?);
    }
    if let Some(parts) = Parts::of(regex!(r"\b(?:bind|listen)\b.{0,80}?(?P<reason>EADDRINUSE.*)"), text) {
        return found("listen", None, parts.text("reason")?);
    }
    // JAX's coordination service, when it gave up waiting for all tasks.
    if let Some(parts) = Parts::of(
        regex!(r"(?P<reason>Barrier timed out\. Id: \S*Wait_for_all_tasks_to_register\S*)"),
        text,
    ) {
        return found("join", None, parts.text("reason")?);
    }
    // JAX's coordination service, of a task that it does not hear from any more.
    if let Some(parts) = Parts::of(
        regex!(
            r"(?P<reason>(?:tasks are unhealthy \(stopped sending heartbeats\)|JAX distributed service detected fatal errors).*)"
        ),
        text,
    ) {
        return found("receive", None, parts.text("reason")?);
    }
    // `Timed out initializing process group in store based barrier on rank: 3, for key: … (world_size=4,
    // worker_count=3, …)`
    if let Some(parts) = Parts::of(
        regex!(r"(?P<reason>Timed out initializing process group in store based barrier .*)"),
        text,
    ) {
        return found("join", None, parts.text("reason")?);
    }
    let parts = Parts::of(
        regex!(r"(?P<reason>(?:Rendezvous(?:Connection|Timeout|Closed)Error\b|Socket Timeout).*)"),
        text,
    )?;
    found("connect", None, parts.text("reason")?)
}
