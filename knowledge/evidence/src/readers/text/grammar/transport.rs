//! Libraries that move data between nodes, beside NCCL: UCX and libfabric.

use super::Parts;
use crate::model::{EventPayload, NcclWarning};
use crate::readers::text::line::Line;
use crate::readers::text::rules::Rule;
use crate::readers::text::sink::Sink;
use crate::readers::text::{Block, regex};

/// What they call an error.
pub const RULE: Rule = Rule {
    literals: &[" UCX ", "Transport retry count exceeded", "<warn> err: "],
    read,
};

/// `[1764000000.12] [host:4711:0] ib_mlx5_log.c:177  UCX  ERROR message`; releases before 1.10 leave the level out of
/// what they abort with: `[host:4711:0:4711] ib_mlx5_log.c:139  Transport retry count exceeded on mlx5_0:1/IB …`.
const UCX: &str = r"(?x) ^(?:\[\d+\.\d+\]\ )? \[(?P<host>[^\s:\[\]]+):(?P<pid>\d+)\s*(?::\w+)+\s*\] \s+ (?P<source>[\w.-]+:\d+) \s+
    (?: (?:UCX\s+(?:ERROR|FATAL)|FATAL:)\s+(?P<message>\S.*) | (?P<retried>Transport\ retry\ count\ exceeded\ .*) )$";

/// `libfabric:4711:1764000000::efa:cq:efa_rdm_txe_handle_error():737<warn> err: 107, message: …`. What is merely odd is
/// a warning too, and has no `err:`.
const FABRIC: &str =
    r"^libfabric:(?P<pid>\d+):\d+:[^:]*:[\w,]+:\w+:(?P<source>\w+\(\):\d+)<warn> err: \d+, (?P<message>message: .+)$";

fn read(line: &Line, sink: &mut Sink) -> Option<Box<dyn Block>> {
    if line.is_quoted() {
        return None;
    }
    let (family, parts) = Parts::of(regex!(UCX), line.text)
        .map(|parts| ("ucx", parts))
        .or_else(|| Some(("libfabric", Parts::of(regex!(FABRIC), line.text)?)))?;
    let warning = NcclWarning {
        host: parts.text("host").unwrap_or_default(),
        source: parts.text("source"),
        message: parts.text("message").or_else(|| parts.text("retried"))?,
        family: family.to_owned(),
        device: None,
    };
    let mut origin = line.origin.clone();
    origin.pid = parts.number("pid").or(origin.pid);
    sink.event(EventPayload::NcclWarning(warning), &origin, [line.number; 2], line.text);
    None
}
