//! The files of a report, counted: what there is and what is wrong with it, in a line.

use std::collections::BTreeMap;

use indicatif::HumanBytes;
use whycrash_evidence::ArtifactKind;
use whycrash_plugin_host::ArtifactHead;

use super::page::{columns, cut, grouped};

/// Files that are named in a line, where all of them fit.
const NAMED: usize = 4;

/// The files by name where they are few, and by kind where they are many; with what is wrong with them.
pub fn files(artifacts: &[ArtifactHead], room: usize) -> String {
    let named: Vec<String> = artifacts.iter().take(NAMED + 1).map(named).collect();
    let line = named.join(" · ");
    if artifacts.len() <= NAMED && columns(&line) <= room {
        return line;
    }
    cut(&counted(artifacts), room)
}

fn named(artifact: &ArtifactHead) -> String {
    let about = format!("{} {}", artifact.name, HumanBytes(artifact.bytes));
    match artifact.problems.first() {
        Some(problem) => format!("{about} ({})", problem.code),
        None => about,
    }
}

/// `2,001 files: 1,998 logs, 2 core dumps, 1 unknown; 3 with problems: 2 truncated, 1 unknown-format`.
fn counted(artifacts: &[ArtifactHead]) -> String {
    let kinds = tally(artifacts.iter().map(|artifact| artifact.kind).map(kind_name));
    let kinds = kinds
        .into_iter()
        .map(|(kind, count)| plural(&kind, count))
        .collect::<Vec<_>>()
        .join(", ");
    let damaged: Vec<&ArtifactHead> = artifacts
        .iter()
        .filter(|artifact| !artifact.problems.is_empty())
        .collect();
    let problems = tally(
        damaged
            .iter()
            .filter_map(|artifact| artifact.problems.first())
            .map(|one| one.code.clone()),
    );
    let problems = problems
        .into_iter()
        .map(|(code, count)| format!("{} {code}", grouped(count)));
    let problems = match damaged.len() {
        0 => String::new(),
        1 => format!("; 1 with a problem: {}", problems.collect::<Vec<_>>().join(", ")),
        some => format!(
            "; {} with problems: {}",
            grouped(some),
            problems.collect::<Vec<_>>().join(", ")
        ),
    };
    let files = if artifacts.len() == 1 {
        "1 file".to_owned()
    } else {
        format!("{} files", grouped(artifacts.len()))
    };
    format!("{files}: {kinds}{problems}")
}

/// How often each occurs, the most frequent first.
fn tally(words: impl Iterator<Item = String>) -> Vec<(String, usize)> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    words.for_each(|word| *counts.entry(word).or_default() += 1);
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}

/// A kind as people call it.
fn kind_name(kind: ArtifactKind) -> String {
    match kind {
        ArtifactKind::ElfCore => "core dump".to_owned(),
        ArtifactKind::GpuCore => "GPU core dump".to_owned(),
        _ => {
            let name = serde_json::to_value(kind).ok();
            name.as_ref()
                .and_then(|name| name.as_str())
                .unwrap_or("unknown")
                .replace('-', " ")
        }
    }
}

fn plural(kind: &str, count: usize) -> String {
    let has_plural = count != 1 && !["unknown", "empty", "context"].contains(&kind);
    format!("{} {kind}{}", grouped(count), if has_plural { "s" } else { "" })
}

/// The artifacts that were not looked into, each with the reason.
pub fn unread(artifacts: &[ArtifactHead]) -> impl Iterator<Item = (&str, &str)> {
    artifacts.iter().filter_map(|artifact| {
        let problem = artifact.problems.iter().find(|problem| problem.leaves_unread());
        let tells = artifact.kind.is_text() && problem.is_none();
        let problem = problem.or(artifact.problems.first().filter(|_| !tells))?;
        Some((artifact.name.as_str(), problem.message.as_str()))
    })
}

#[cfg(test)]
mod tests {
    use whycrash_evidence::{ArtifactKind, Problem};
    use whycrash_plugin_host::ArtifactHead;

    use super::files;

    fn head(name: &str, kind: ArtifactKind, problems: &[&str]) -> ArtifactHead {
        ArtifactHead {
            name: name.to_owned(),
            kind,
            bytes: 2048,
            sha256: String::new(),
            problems: problems
                .iter()
                .map(|code| Problem::new(code, "what happened"))
                .collect(),
            archive: None,
            sections: Vec::new(),
        }
    }

    #[test]
    fn few_files_are_named_and_many_are_counted() {
        let few = [
            head("core", ArtifactKind::ElfCore, &["truncated"]),
            head("a.log", ArtifactKind::Log, &[]),
        ];
        assert_eq!(files(&few, 80), "core 2.00 KiB (truncated) · a.log 2.00 KiB");
        let mut many: Vec<ArtifactHead> = (0..1998).map(|_| head("r.log", ArtifactKind::Log, &[])).collect();
        many.push(head("core", ArtifactKind::ElfCore, &["truncated"]));
        many.push(head("core.2", ArtifactKind::ElfCore, &["truncated", "no-threads"]));
        many.push(head("x.bin", ArtifactKind::Unknown, &["unknown-format"]));
        assert_eq!(
            files(&many, 200),
            "2,001 files: 1,998 logs, 2 core dumps, 1 unknown; 3 with problems: 2 truncated, 1 unknown-format"
        );
        assert_eq!(files(&many, 30), "2,001 files: 1,998 logs, 2 co…");
    }
}
