//! NCCL's own log.

use super::Parts;
use crate::model::{EventPayload, NcclWarning};
use crate::readers::text::line::Line;
use crate::readers::text::rules::Rule;
use crate::readers::text::sink::Sink;
use crate::readers::text::{Block, regex};

/// Warnings, and the unwinding path of an error (of which the first line is the origin).
pub const RULE: Rule = Rule {
    literals: &["NCCL WARN ", "NCCL INFO "],
    read,
};

/// `[time] host:pid:tid [dev] file.cc:93 (function) NCCL WARN message`; the position is there in some versions, and the
/// host is often cut off with what stands before it.
const WARN: &str = r"(?:(?P<host>[^\s:\[\]]+):(?P<pid>\d+)(?::(?P<tid>\d+))? |^)\[(?P<device>-?\d+)\] (?:[\d.:T-]+ [\d.:]+ )?(?:(?P<source>\S+:\d+) (?:\(\w+\) )?)?NCCL WARN (?P<message>.*)$";
/// The same where somebody left out who said it.
const SHORT_WARN: &str = r"^(?:(?P<source>\S+\.(?:cc|cu|h):\d+) (?:\(\w+\) )?)?NCCL WARN (?P<message>.*)$";

/// `host:pid:tid [dev] NCCL INFO file.cc:93 -> 2`.
const PATH: &str = r"(?P<host>[^\s:\[\]]+):(?P<pid>\d+):(?P<tid>\d+) \[(?P<device>-?\d+)\] NCCL INFO (?P<source>\S+:\d+) -> (?P<code>[1-9]\d*)";

fn read(line: &Line, sink: &mut Sink) -> Option<Box<dyn Block>> {
    let warned = Parts::of(regex!(WARN), line.text).or_else(|| Parts::of(regex!(SHORT_WARN), line.text));
    let (parts, message) = if let Some(parts) = warned {
        let message = parts.text("message")?;
        (parts, message)
    } else {
        let parts = Parts::of(regex!(PATH), line.text)?;
        let message = format!("{} -> {}", parts.text("source")?, parts.text("code")?);
        (parts, message)
    };
    let is_path = parts.text("code").is_some();
    let warning = NcclWarning {
        host: parts.text("host").unwrap_or_default(),
        device: parts.number("device"),
        source: parts.text("source"),
        family: if is_path { "path" } else { family(&message) }.to_owned(),
        message,
    };
    let mut origin = line.origin.clone();
    origin.pid = parts.number("pid").or(origin.pid);
    sink.event(EventPayload::NcclWarning(warning), &origin, [line.number; 2], line.text);
    None
}

fn family(message: &str) -> &'static str {
    const FAMILIES: [(&str, &str); 14] = [
        ("NET/IB", "net-ib"),
        ("ibv_", "net-ib"),
        ("IB : ", "net-ib"),
        ("NET/Socket", "net-socket"),
        ("socketProgress", "net-socket"),
        ("SocketPoll", "net-socket"),
        ("Connection", "net-socket"),
        ("shared memory", "shm"),
        ("/dev/shm", "shm"),
        ("Mismatched NCCL version", "version"),
        ("Cuda failure", "cuda"),
        ("HIP failure", "cuda"),
        ("Duplicate GPU", "duplicate-gpu"),
        ("RAS ", "ras"),
    ];
    if message.contains("failed to extend") {
        return "shm";
    }
    FAMILIES
        .iter()
        .find(|(words, _)| message.contains(words))
        .map_or("other", |(_, family)| family)
}
