//! Tells what an artifact is from its first bytes.

use memchr::memmem;

use super::page::data_head;
use super::series::{table, tfevents, wandb};
use super::{archive, bug_report, dcgm, log_export, nccl_inspector, nccl_ras, notebook, sanitizer_xml, torchcomms_log};
use crate::ArtifactKind;

/// What the artifact is whose first decompressed bytes are `head`.
pub fn detect(head: &[u8]) -> ArtifactKind {
    match head {
        [] => ArtifactKind::Empty,
        [0x7f, b'E', b'L', b'F', ..] => elf(head),
        [b'M', b'D', b'M', b'P', ..] => ArtifactKind::Minidump,
        [0x80, 2..=5, ..] => pickle(head),
        _ if wandb::is_run(head) => ArtifactKind::WandbRun,
        _ if tfevents::is_events(head) => ArtifactKind::Tfevents,
        _ if archive::form(head).is_some() => ArtifactKind::Archive,
        _ if archive::foreign_format(head).is_some() => ArtifactKind::Unknown,
        _ => {
            let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
            let known = json(text).or_else(|| page(text));
            known.unwrap_or_else(|| {
                if bug_report::is_report(text) {
                    ArtifactKind::BugReport
                } else if torchcomms_log::is_log(text) {
                    ArtifactKind::TorchcommsLog
                } else if !is_text(head) {
                    ArtifactKind::Unknown
                } else if log_export::is_export(text) {
                    ArtifactKind::LogExport
                } else if table::is_table(text) {
                    ArtifactKind::Metrics
                } else {
                    ArtifactKind::Log
                }
            })
        }
    }
}

/// `e_type` of a core file (elf(5)).
const ET_CORE: u16 = 4;
/// `e_machine` of a GPU's core file (`EM_CUDA`).
const EM_CUDA: u16 = 190;

fn elf(head: &[u8]) -> ArtifactKind {
    let big_endian = head.get(5) == Some(&2);
    let half = |at: usize| {
        let bytes = [*head.get(at)?, *head.get(at + 1)?];
        Some(if big_endian {
            u16::from_be_bytes(bytes)
        } else {
            u16::from_le_bytes(bytes)
        })
    };
    match (half(16), half(18)) {
        (Some(ET_CORE), Some(EM_CUDA)) => ArtifactKind::GpuCore,
        (Some(ET_CORE), _) => ArtifactKind::ElfCore,
        _ => ArtifactKind::Unknown,
    }
}

fn contains_any(head: &[u8], keys: &[&str]) -> bool {
    keys.iter().any(|key| memmem::find(head, key.as_bytes()).is_some())
}

/// Both pickles are dictionaries with string keys; which keys come first depends on the writer, so any of those
/// that only one of the two formats has decides.
fn pickle(head: &[u8]) -> ArtifactKind {
    if contains_any(
        head,
        &[
            "pg_config",
            "pg_status",
            "collective_seq_id",
            "comm_lib_version",
            "nccl_version",
        ],
    ) {
        ArtifactKind::FlightRecorder
    } else if contains_any(
        head,
        &[
            "device_traces",
            "segments",
            "allocator_settings",
            "segment_type",
            "active_allocated",
            "external_annotations",
        ],
    ) {
        ArtifactKind::MemorySnapshot
    } else {
        ArtifactKind::Unknown
    }
}

/// A page with a memory snapshot in it, or what a sanitizer wrote; any other page is text.
fn page(text: &[u8]) -> Option<ArtifactKind> {
    if sanitizer_xml::is_output(text) {
        return Some(ArtifactKind::Sanitizer);
    }
    let data = data_head(text)?;
    (matches!(data.as_slice(), [0x80, 2..=5, ..]) && pickle(&data) == ArtifactKind::MemorySnapshot)
        .then_some(ArtifactKind::MemorySnapshot)
}

/// JSON formats with a reader of their own; any other JSON is text.
fn json(text: &[u8]) -> Option<ArtifactKind> {
    if text.first() != Some(&b'{') {
        return None;
    }
    if notebook::is_notebook(text) {
        Some(ArtifactKind::Notebook)
    } else if contains_any(text, &["\"whycrash_context\""]) {
        Some(ArtifactKind::Context)
    } else if contains_any(text, &["\"pg_config\"", "\"pg_status\"", "\"collective_seq_id\""]) {
        Some(ArtifactKind::FlightRecorder)
    } else if contains_any(text, &["\"extraInfo\"", "\"py_callstack\""]) || is_plain_elastic_error(text) {
        Some(ArtifactKind::ElasticError)
    } else if dcgm::is_report(text) {
        Some(ArtifactKind::Diagnostic)
    } else if nccl_ras::is_answer(text) {
        Some(ArtifactKind::NcclRas)
    } else if nccl_inspector::is_log(text) {
        Some(ArtifactKind::NcclInspector)
    } else {
        None
    }
}

/// Some writers of `error.json` put a plain string in `message`, with a top-level `timestamp`.
fn is_plain_elastic_error(text: &[u8]) -> bool {
    let Ok(serde_json::Value::Object(members)) = serde_json::from_slice(text) else {
        return false;
    };
    members.contains_key("message")
        && members.contains_key("timestamp")
        && members
            .keys()
            .all(|key| ["message", "timestamp", "errorCode", "error_code"].contains(&key.as_str()))
}

/// NULs in a row that are a hole in a text, and no bytes of another format.
const HOLE: usize = 16;

/// Text has hardly any control bytes. A few do occur: colours, bells, the NULs that a crashed file system leaves. Many
/// NULs in a row are a hole: the log was truncated while its program wrote on.
pub(super) fn is_text(head: &[u8]) -> bool {
    let (mut bytes, mut control) = (0, 0);
    for run in head.chunk_by(|one, next| (*one == 0) == (*next == 0)) {
        if run.first() == Some(&0) && run.len() >= HOLE {
            continue;
        }
        bytes += run.len();
        control += run.iter().filter(|byte| is_control(**byte)).count();
    }
    let high = head.utf8_chunks().map(|chunk| chunk.invalid().len()).sum::<usize>();
    bytes > 0 && control * 20 <= bytes && high * 5 <= bytes
}

fn is_control(byte: u8) -> bool {
    matches!(byte, 0..=0x06 | 0x0e..=0x1a | 0x1c..=0x1f | 0x7f)
}
