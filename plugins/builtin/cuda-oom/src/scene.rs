//! Where in the program memory ran out, when it is the program itself that fills the device.

use whycrash_plugin::facts::CudaOom;
use whycrash_plugin::{Citation, Finding, Frame, Line, Report, Told, cite};

use crate::messages::ended;
use crate::request::Request;
use crate::size::{GIB, size};

/// Lines above a message: Python may mark a part of the source on a line of its own.
const ABOVE: u64 = 2;

/// Frames of a stack that are looked at.
const FRAMES: usize = 128;

/// A place in a program that asks for memory in a way of its own.
struct Place {
    cause: &'static str,
    /// Bytes that a request of it has at least.
    least: u64,
    why: &'static str,
    is_here: fn(&Frame) -> bool,
    /// What a traceback shows of its source, where the function's name says nothing.
    line: Option<fn(&str) -> bool>,
}

/// What is more exact stands first.
const PLACES: [Place; 2] = [
    Place {
        cause: "oom-optimizer-state-step1",
        least: 0,
        why: "The optimizer was making its state, which it does at its first step: the state has to fit beside everything else",
        is_here: makes_state,
        line: None,
    },
    Place {
        cause: "oom-logits-spike",
        least: GIB / 4,
        why: "The request is of the logits or of the loss over them: batch times sequence times vocabulary",
        is_here: is_of_logits,
        line: Some(shows_logits),
    },
];

/// The more exact cause, where the stack of the request shows one.
pub fn exact(report: &Report, request: &Request) -> Option<Finding> {
    let mut places = PLACES.iter().filter(|place| request.requested >= place.least);
    let found = places.find_map(|place| {
        Some((
            place,
            frame(report, place.is_here).or_else(|| line(report, request, place.line))?,
        ))
    });
    let (place, (citation, name)) = found?;
    let because = format!(
        "{}: {} were asked for in `{name}`, and {} are free.",
        place.why,
        size(request.requested),
        size(request.free.unwrap_or(0))
    );
    Some(Finding::new(place.cause, 0.93).because(because).cite(citation))
}

/// It happened in evaluation. Whether that recorded a graph only a snapshot knows.
pub fn in_evaluation(report: &Report) -> Option<Finding> {
    let (citation, name) = frame(report, is_of_evaluation)?;
    let is_guarded = frame(report, is_without_graph).is_some();
    if let Some(line) = shown_graph(report).filter(|_| !is_guarded) {
        let finding = Finding::new("oom-eval-no-nograd", 0.97).because(format!(
            "Memory ran out in `{name}`, and what it computes has a graph there: \"{}\".",
            line.text.trim()
        ));
        return Some(finding.cite(citation).cite(cite::line(&line)));
    }
    (!is_guarded).then(|| {
        Finding::new("oom-eval-no-nograd", 0.5)
            .because(format!(
                "Memory ran out in `{name}`. If no_grad or inference_mode is not in force there, every forward pass keeps what a backward pass \
                 would need."
            ))
            .cite(citation)
    })
}

/// A line of evaluation in which a tensor was printed with what a backward pass would call.
fn shown_graph(report: &Report) -> Option<Line> {
    const GRAPH: &str = r"(?i)\b(?:val|valid|validation|eval|evaluation|test|testing)\b.*\bgrad_fn=<";
    report.search(None, GRAPH, 1).ok()?.into_iter().next()
}

/// The first frame of a crashed Python stack that is of this place.
fn frame(report: &Report, is_here: fn(&Frame) -> bool) -> Option<(Citation, String)> {
    report.walks().take_while(|walk| walk.thread.crashed).find_map(|walk| {
        let mut frames = walk.frames().take(FRAMES);
        let (index, frame) = frames.find(|(_, frame)| frame.kind == "python" && is_here(frame))?;
        Some((walk.cite(index, &frame), frame.function.clone().unwrap_or_default()))
    })
}

/// The source that a traceback shows right above the request, where it is of this place.
fn line(report: &Report, request: &Request, is_here: Option<fn(&str) -> bool>) -> Option<(Citation, String)> {
    let is_here = is_here?;
    let told: Vec<Told<CudaOom>> = report.told();
    let told = told
        .iter()
        .find(|told| ended(&told.event) && told.detail.requested == request.requested)?;
    let (message, _) = told.event.lines?;
    let first = message.saturating_sub(ABOVE).max(1);
    let above = report.lines(&told.event.artifact, first, u32::try_from(message - first).unwrap_or(0));
    let line = above.into_iter().rev().find(|line| is_here(&line.text))?;
    Some((cite::line(&line), line.text.trim().to_owned()))
}

/// `logits = self.lm_head(hidden)`, `logits = logits.float()`.
fn shows_logits(source: &str) -> bool {
    let Some((name, value)) = source.split_once(" = ") else {
        return false;
    };
    let is_head = ["lm_head(", "output_layer(", "embed_out("]
        .iter()
        .any(|head| value.contains(head));
    let is_cast = value.contains("logits") && [".float()", ".to("].iter().any(|cast| value.contains(cast));
    name.contains("logits") && (is_head || is_cast)
}

fn makes_state(frame: &Frame) -> bool {
    let function = frame.function.as_deref().unwrap_or_default();
    [
        "_init_group",
        "init_state",
        "_init_state",
        "initialize_optimizer_states",
        "_initialize_optimizer_states",
        "initialize_state",
        "get_state_buffer",
    ]
    .contains(&function)
}

fn is_of_logits(frame: &Frame) -> bool {
    let function = frame.function.as_deref().unwrap_or_default();
    let of_loss = [
        "cross_entropy",
        "log_softmax",
        "ForCausalLMLoss",
        "fixed_cross_entropy",
        "vocab_parallel_cross_entropy",
        "compute_log_probs",
        "selective_log_softmax",
        "logprobs_from_logits",
    ];
    of_loss.contains(&function)
        || function.contains("log_probs_and_entropy")
        || function.contains("lm_head")
        || function.contains("compute_logits")
}

fn is_of_evaluation(frame: &Frame) -> bool {
    let function = frame.function.as_deref().unwrap_or_default();
    [
        "evaluate",
        "validate",
        "evaluation_loop",
        "eval_step",
        "validation_step",
        "prediction_step",
        "run_validation",
    ]
    .contains(&function)
}

/// The decorator of `no_grad` and `inference_mode` is on the stack.
fn is_without_graph(frame: &Frame) -> bool {
    frame.function.as_deref() == Some("decorate_context")
}
