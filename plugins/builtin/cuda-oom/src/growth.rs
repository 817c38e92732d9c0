//! What a log's own figures of memory tell of the time before a request failed.

use whycrash_plugin::{Diagnosis, Finding, Line, Place, Report, cite};

use crate::request::Request;

/// Lines before the failure that are looked at, and figures among them that make a series.
const LINES: u32 = 2048;
const FIGURES: usize = 6;
/// Parts of a series that are compared, and lines of the failure's stack.
const PARTS: usize = 8;
const STACK: u32 = 64;

/// What `PyTorch` warns of once.
const CREATES_GRAPH: &str = r"Using backward\(\) with create_graph=True will create a reference cycle";

/// A figure of allocated memory in a line, and what stands before it.
struct Figure<'a> {
    line: &'a Line,
    label: String,
    /// As the line has it.
    shown: String,
    mebibytes: f64,
}

/// Figures that rose all the time, and by about as much: something is kept in each step. Where the statement that failed
/// stores what it makes, that is where.
pub fn judge(report: &Report, request: &Request) -> Option<Diagnosis> {
    let proof = request.proof.first()?;
    let Place::Line(told) = &proof.at else { return None };
    let first = told.first.saturating_sub(u64::from(LINES)).max(1);
    let lines = report.lines(&proof.artifact, first, LINES);
    let figures: Vec<Figure> = lines
        .iter()
        .filter(|line| line.number < told.first)
        .filter_map(figure)
        .collect();
    let label = &figures.last()?.label;
    let series: Vec<&Figure> = figures.iter().filter(|figure| figure.label == *label).collect();
    let (start, end) = (series.first()?, series.last()?);
    if !rises_steadily(&series) {
        return None;
    }
    let stack = report.lines(
        &proof.artifact,
        told.first.saturating_sub(u64::from(STACK)).max(1),
        STACK,
    );
    let kept = stack
        .iter()
        .rfind(|line| line.number < told.first && stores(&line.text));
    let warned = report
        .search(Some(&proof.artifact), CREATES_GRAPH, 1)
        .ok()
        .and_then(|lines| lines.into_iter().next());
    let (cause, confidence, why) = match kept {
        _ if warned.is_some() => (
            "leak-create-graph-cycle",
            0.82,
            "`backward(create_graph=True)` makes each gradient and its parameter hold each other, as PyTorch warned",
        ),
        Some(_) => (
            "leak-tensor-container",
            0.74,
            "the statement that failed stores what it makes in a container",
        ),
        None => (
            "leak-loss-history",
            0.6,
            "something of every step is kept, most often a loss or an output with its graph",
        ),
    };
    let finding = Finding::new(cause, confidence)
        .because(format!(
            "The log's own figures of memory rose from {} to {} in about equal steps until nothing was left: {why}.",
            start.shown, end.shown
        ))
        .cite(cite::line(start.line))
        .cite(cite::line(end.line))
        .cite_all(warned.as_ref().or(kept).map(cite::line))
        .cite(proof.clone());
    Some(Diagnosis::from(finding).collect(
        "what holds the memory that grows",
        "torch.cuda.memory._record_memory_history() for some steps and torch.cuda.memory._dump_snapshot(\"snapshot.pickle\"): which line's \
         blocks become more with every step",
        ["leak-create-graph-cycle", "leak-gc-cycle", "leak-loss-history", "leak-tensor-container"],
    ))
}

/// The series is compared in parts, so that a step that freed something in between does not matter.
fn rises_steadily(series: &[&Figure]) -> bool {
    if series.len() < FIGURES {
        return false;
    }
    let parts: Vec<f64> = series
        .chunks(series.len().div_ceil(PARTS))
        .map(|part| part.iter().map(|figure| figure.mebibytes).fold(0.0, f64::max))
        .collect();
    let (Some(start), Some(end)) = (parts.first(), parts.last()) else {
        return false;
    };
    let risen = end - start;
    let enough = risen / (parts.len() as f64 * 3.0);
    risen > start / 2.0
        && parts
            .windows(2)
            .all(|pair| pair[1] > pair[0] && pair[1] - pair[0] >= enough)
}

/// `cuda alloc 13.41 GiB`, `max mem: 21507`, `memory_allocated=3.2GB`: without a unit, mebibytes.
fn figure(line: &Line) -> Option<Figure<'_>> {
    const WORDS: [&str; 3] = ["alloc", "mem", "vram"];
    let lower = line.text.to_ascii_lowercase();
    let word = WORDS.iter().filter_map(|word| lower.find(word)).min()?;
    let rest = lower.get(word..)?;
    let at = rest.find(|letter: char| letter.is_ascii_digit())?;
    let (label, figure) = rest.split_at(at);
    if label.len() > 40 {
        return None;
    }
    let end = figure
        .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
        .unwrap_or(figure.len());
    let (number, unit) = figure.split_at(end);
    let (scale, unit) = match unit.trim_start() {
        unit if unit.starts_with('g') => (1024.0, "GiB"),
        unit if unit.starts_with('k') || unit.starts_with('%') => return None,
        _ => (1.0, "MiB"),
    };
    let number = number.trim_end_matches('.');
    Some(Figure {
        line,
        label: label.to_owned(),
        shown: format!("{number} {unit}"),
        mebibytes: number.parse::<f64>().ok()? * scale,
    })
}

/// A statement that puts what it makes into a container.
fn stores(source: &str) -> bool {
    source.starts_with("    ")
        && [".append(", ".extend(", ".add(", ".put("]
            .iter()
            .any(|call| source.contains(call))
}
