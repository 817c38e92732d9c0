//! Answers as JSON: a record is the list of its members.

use serde_json::{Value, json};
use whycrash_plugin::{
    Artifact, Code, Domain, Event, Frame, Line, Module, Retry, Software, Thread, gpu, history, knowledge, memory, ranks,
};

/// What a call answers.
pub(crate) trait Answer {
    /// As JSON.
    fn value(self) -> Value;
}

/// A list of them.
pub(crate) fn lists<T: Answer>(answers: Vec<T>) -> Value {
    answers.into_iter().map(Answer::value).collect()
}

/// What a text of JSON says; nothing where there is none, which is told apart from a null.
pub(crate) fn parsed(text: Option<String>) -> Value {
    let said = text.map(|text| serde_json::from_str(&text).unwrap_or_else(|_| json!("no JSON")));
    match said {
        Some(Value::Null) => json!("a null"),
        Some(said) => said,
        None => Value::Null,
    }
}

fn wide(number: u64) -> Value {
    json!(number.to_string())
}

fn maybe(number: Option<u64>) -> Value {
    number.map_or(Value::Null, wide)
}

fn pair(pair: Option<(u64, u64)>) -> Value {
    pair.map_or(Value::Null, |(first, second)| json!([wide(first), wide(second)]))
}

fn grid(place: Option<gpu::Dimensions>) -> Value {
    place.map_or(Value::Null, |(x, y, z)| json!([x, y, z]))
}

macro_rules! answers {
    ($($record:path: $told:ident => [$($member:expr),* $(,)?];)*) => {$(
        impl Answer for $record {
            fn value(self) -> Value {
                let $told = self;
                Value::Array(vec![$(json!($member)),*])
            }
        }
    )*};
}

answers! {
    Artifact: of => [of.name, of.kind, wide(of.bytes), wide(of.lines)];
    Line: of => [of.artifact, wide(of.number), of.text];
    Thread: of => [of.id, of.name, of.rank, of.pid, of.crashed, of.artifact, of.frames, wide(of.omitted)];
    Frame: of => [
        of.kind, of.function, of.file, of.line, of.module, maybe(of.address), of.inline, of.trust, of.signal,
    ];
    Event: of => [
        of.number, of.kind, parsed(Some(of.detail).filter(|detail| !detail.is_empty())), of.text, of.artifact,
        pair(of.lines), of.rank, of.pid, of.time, of.primary, of.survived,
    ];
    Code: of => [of.build_id, maybe(of.offset), pair(of.lines)];
    Module: of => [of.path, of.build_id, wide(of.first), wide(of.end), of.symbols, of.artifact];
    Software: of => [of.name, of.version, of.fact];
    gpu::Core: of => [
        of.artifact, of.device, of.exception, of.kernel, maybe(of.offset), of.file, of.line, grid(of.block),
        grid(of.thread), grid(of.grid_size), grid(of.block_size), of.name, of.architecture,
    ];
    gpu::Fault: of => [
        of.exception, of.sm, of.warp, of.lane, grid(of.block), grid(of.thread), of.kernel, maybe(of.offset),
    ];
    gpu::Warps: of => [of.kernel, maybe(of.offset), wide(of.count), wide(of.faulted)];
    memory::Snapshot: of => [
        of.artifact, of.device, wide(of.reserved), wide(of.allocated), wide(of.active), wide(of.requested),
        wide(of.inactive), wide(of.largest_inactive), wide(of.pending_free), wide(of.private_pools),
        wide(of.segments), wide(of.blocks), wide(of.events), wide(of.peak_allocated), wide(of.peak_active),
        of.expandable_segments, wide(of.failed_requests), wide(of.blocks_kept), wide(of.events_kept),
    ];
    memory::FailedRequest: of => [
        wide(of.requested), wide(of.device_free), wide(of.allocated), wide(of.reserved), wide(of.stream),
        wide(of.usable_inactive), wide(of.largest_usable), wide(of.trace_event), of.frames,
    ];
    memory::Cluster: of => [
        wide(of.bytes), wide(of.blocks), of.growth.into_iter().map(wide).collect::<Value>(), of.frames,
    ];
    memory::Pool: of => [
        wide(of.stream), pair(of.private_pool), of.size_class, wide(of.reserved), wide(of.allocated),
        wide(of.pending_free), wide(of.inactive), wide(of.largest_inactive),
    ];
    memory::Stretch: of => [wide(of.event), maybe(of.time_us), wide(of.least), wide(of.most)];
    memory::Block: of => [
        wide(of.address), wide(of.bytes), wide(of.requested), state(of.state), wide(of.stream), pair(of.private_pool),
        of.frames, of.fact,
    ];
    memory::Entry: of => [
        wide(of.number), action(of.action), wide(of.address), wide(of.bytes), wide(of.stream), pair(of.private_pool),
        maybe(of.time_us), of.frames, of.fact,
    ];
    ranks::Overview: of => [of.recorded, of.unrecorded, of.culprits, of.circle, of.behind_once, of.verdicts];
    ranks::Verdict: of => [
        of.number, of.group, of.group_description, wide(of.sequence), of.kind, of.ranks, of.entered, of.operation,
        of.detail, of.time, of.point_to_point, of.frames,
    ];
    history::Conclusion: of => [of.cause, of.title, of.confidence, of.plugin];
    history::EarlierReport: of => [of.id, of.title, of.received, lists(of.conclusions), of.fact];
    history::OtherReport: of => [
        of.id, of.title, of.received, of.group, of.host, of.ranks, of.signal, of.exception, of.fact,
    ];
    knowledge::Cause: of => [
        of.id, of.also, of.severity, domain(of.domain), retry(of.retry), of.tags, of.members, of.leads_to,
        of.last_resort,
    ];
}

fn state(state: memory::BlockState) -> &'static str {
    match state {
        memory::BlockState::Allocated => "allocated",
        memory::BlockState::PendingFree => "pending-free",
        memory::BlockState::Inactive => "inactive",
    }
}

fn action(action: memory::Action) -> &'static str {
    match action {
        memory::Action::Alloc => "alloc",
        memory::Action::FreeRequested => "free-requested",
        memory::Action::FreeCompleted => "free-completed",
        memory::Action::SegmentAlloc => "segment-alloc",
        memory::Action::SegmentFree => "segment-free",
        memory::Action::SegmentMap => "segment-map",
        memory::Action::SegmentUnmap => "segment-unmap",
        memory::Action::Failed => "failed",
        memory::Action::Other => "other",
    }
}

fn domain(domain: Domain) -> &'static str {
    match domain {
        Domain::Program => "program",
        Domain::Data => "data",
        Domain::Environment => "environment",
        Domain::Framework => "framework",
        Domain::Hardware => "hardware",
        Domain::Network => "network",
        Domain::Operator => "operator",
        Domain::Unknown => "unknown",
    }
}

fn retry(retry: Retry) -> &'static str {
    match retry {
        Retry::Again => "retry",
        Retry::Elsewhere => "retry-elsewhere",
        Retry::ChangeFirst => "change-first",
        Retry::AskOwner => "ask-owner",
        Retry::Unknown => "unknown",
    }
}
