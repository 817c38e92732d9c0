//! One module per artifact format, and the one place that tells them apart.

pub mod archive;
pub mod bug_report;
pub mod compression;
pub mod context;
mod data_set;
pub mod dcgm;
pub mod elastic;
pub mod elf_core;
mod encoding;
mod events;
pub mod flight_recorder;
mod foreign;
pub mod gpu_core;
pub mod holes;
pub mod input;
mod json;
mod kind;
pub mod lines;
mod log_export;
pub mod memory_snapshot;
pub mod minidump;
pub mod nccl_inspector;
pub mod nccl_ras;
pub mod notebook;
mod nvidia_smi;
mod page;
pub mod pickle;
mod protobuf;
pub mod py_spy;
mod rendered;
pub mod sanitizer_xml;
pub mod series;
pub mod text;
pub mod torchcomms_log;

use crate::model::Section;
use crate::{Artifact, ArtifactKind, Evidence, Limits, Problem};

pub use compression::Compression;
pub use input::{ALWAYS_ALLOWED_BYTES, Input, NO_MEMORY, read_problem};
pub use kind::detect;
pub use lines::Lines;

/// What reading one artifact gave.
#[derive(Debug, Default)]
pub struct Reading {
    /// What the artifact is.
    pub kind: Option<ArtifactKind>,
    /// Size of the artifact as stored, in bytes.
    pub bytes: u64,
    /// What was found.
    pub evidence: Evidence,
    /// What was wrong with it.
    pub problems: Vec<Problem>,
    /// Parts of its text that have names of their own.
    pub sections: Vec<Section>,
}

impl Reading {
    /// A reading that found nothing but this problem.
    pub fn problem(problem: Problem) -> Self {
        Self {
            problems: vec![problem],
            ..Self::default()
        }
    }
}

/// Reads one artifact, whatever it is: the kind is told from its content, compressed or not.
pub fn read(artifact: &Artifact, limits: &Limits) -> Reading {
    let input = match Input::open(artifact, limits) {
        Ok(input) => input,
        Err(error) => return Reading::problem(read_problem(&error)),
    };
    let kind = detect(input.head());
    let mut reading = dispatch(kind, artifact, &input, limits);
    // A reader may have found that it is something else.
    reading.kind.get_or_insert(kind);
    reading.bytes = input.stored_bytes();
    reading
}

fn dispatch(kind: ArtifactKind, artifact: &Artifact, input: &Input, limits: &Limits) -> Reading {
    match kind {
        ArtifactKind::ElfCore => elf_core::read(artifact, limits),
        ArtifactKind::Minidump => streamed(input, |stream| minidump::read(stream, input.name(), limits)),
        ArtifactKind::MemorySnapshot if input.head().first() != Some(&0x80) => streamed(input, |stream| {
            memory_snapshot::read(page::Data::new(stream), input.name(), limits)
        }),
        ArtifactKind::MemorySnapshot => streamed(input, |stream| memory_snapshot::read(stream, input.name(), limits)),
        ArtifactKind::FlightRecorder => streamed(input, |stream| flight_recorder::read(stream, input.name(), limits)),
        ArtifactKind::Log if py_spy::is_dump(input.head()) => py_spy::read(input, limits),
        ArtifactKind::NcclRas => nccl_ras::read(input, limits),
        ArtifactKind::NcclInspector => nccl_inspector::read(input, limits),
        ArtifactKind::TorchcommsLog => torchcomms_log::read(input, limits),
        ArtifactKind::BugReport => bug_report::read(input, limits),
        ArtifactKind::Diagnostic => dcgm::read(input, limits),
        ArtifactKind::Sanitizer => sanitizer_xml::read(input, limits),
        ArtifactKind::GpuCore => gpu_core::read(input, limits),
        ArtifactKind::Notebook => notebook::read(input, limits),
        ArtifactKind::LogExport => log_export::read(input, limits),
        ArtifactKind::Metrics => series::table::read(input, limits),
        ArtifactKind::Tfevents => series::tfevents::read(input, limits),
        ArtifactKind::WandbRun => series::wandb::read(input, limits),
        ArtifactKind::Log => text::read(input, limits),
        ArtifactKind::ElasticError => elastic::read(input, limits),
        ArtifactKind::Context => context::read(input, limits),
        ArtifactKind::Empty => empty(input),
        // Whoever reads reports unpacks it, and reads its members.
        ArtifactKind::Archive => Reading::default(),
        ArtifactKind::Unknown => unknown(input),
    }
}

/// Reads a format front to back.
fn streamed<'a>(input: &'a Input, read: impl FnOnce(input::Stream<'a>) -> Reading) -> Reading {
    match input.stream() {
        Ok(stream) => read(stream),
        Err(error) => Reading::problem(read_problem(&error)),
    }
}

/// Nothing in it, or nothing that could be decompressed.
fn empty(input: &Input) -> Reading {
    let torn = input
        .stream()
        .and_then(|mut stream| std::io::BufRead::fill_buf(&mut stream).map(|_| ()))
        .err();
    Reading::problem(match torn {
        Some(error) => read_problem(&error),
        None => Problem::new(
            "empty",
            "the artifact has no bytes: whatever should have written it did not",
        ),
    })
}

fn unknown(input: &Input) -> Reading {
    let head = input.head();
    let shown: Vec<String> = head.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    if input.is_compressed_deeper() {
        let message = "it is compressed more than twice; unpack one layer, and give what is in it";
        return Reading::problem(Problem::new("nested-compression", message));
    }
    if let Some(format) = archive::foreign_format(head) {
        let message = format!("{format}, which is not read here: it is kept as it is");
        return Reading::problem(Problem::new("unsupported-format", message));
    }
    let message = if head.starts_with(b"\x7fELF") {
        "an ELF file that is no core dump; give its folder as a source of symbols instead".to_owned()
    } else if let Some(name) = foreign::name_of(head) {
        format!("it is {name}, which tells of no crash: hand over what the job printed, or its core dump")
    } else {
        format!(
            "no reader knows this format (it starts with {}): hand over what the job printed, or its core dump",
            shown.join(" ")
        )
    };
    Reading::problem(Problem::new("unknown-format", message))
}
