//! The report as a plugin reads it: every answer bounded and paid for from the run's allowance.

use regex::bytes::RegexBuilder;
use wasmtime::component::Resource;

use super::ReportHandle;
use super::bindings::{PluginImports, evidence, types};
use super::convert;
use super::run::Run;

/// Entries that one call returns at most, whatever it asks for.
const PAGE: usize = 4096;

impl PluginImports for Run {
    fn log(&mut self, line: String) -> wasmtime::Result<()> {
        self.log_calls += 1;
        if self.log_calls > self.limits.log_calls {
            return Err(stop(format!("it logged more than {} lines", self.limits.log_calls)));
        }
        if self.log.len() < self.limits.log_lines {
            self.log.push(cut(&line, self.limits.log_line_bytes));
        }
        Ok(())
    }

    fn recognise_tables(&mut self) -> wasmtime::Result<Vec<String>> {
        let tables = self.tables.clone();
        self.pay(tables.iter().map(String::len).sum())?;
        Ok(tables.to_vec())
    }
}

impl types::Host for Run {}
impl evidence::Host for Run {}

impl evidence::HostReport for Run {
    fn artifacts(&mut self, _: Resource<ReportHandle>) -> wasmtime::Result<Vec<evidence::Artifact>> {
        let case = self.case.clone();
        self.page(case.artifacts.iter().map(convert::artifact), |artifact| {
            artifact.name.len() + artifact.kind.len()
        })
    }

    fn fact(&mut self, _: Resource<ReportHandle>, path: String) -> wasmtime::Result<Option<String>> {
        let value = self.case.fact(&path);
        self.json(value)
    }

    fn lines(
        &mut self,
        _: Resource<ReportHandle>,
        artifact: String,
        first: u64,
        count: u32,
    ) -> wasmtime::Result<Vec<evidence::Line>> {
        let case = self.case.clone();
        let Some(text) = case.artifact(&artifact).and_then(|artifact| artifact.text.as_ref()) else {
            return Ok(Vec::new());
        };
        let first = first.max(1);
        let last = first
            .saturating_add(u64::from(count).min(PAGE as u64))
            .saturating_sub(1);
        let lines = text.range(first, last).map_err(|error| unreadable(&artifact, &error))?;
        self.page(
            (first..)
                .zip(lines)
                .map(|(number, text)| convert::line(&artifact, number, text)),
            line_bytes,
        )
    }

    fn search(
        &mut self,
        _: Resource<ReportHandle>,
        artifact: Option<String>,
        pattern: String,
        limit: u32,
    ) -> wasmtime::Result<Result<Vec<evidence::Line>, String>> {
        let regex = RegexBuilder::new(&pattern)
            .size_limit(self.limits.pattern_bytes)
            .dfa_size_limit(self.limits.pattern_bytes)
            .build();
        let regex = match regex {
            Ok(regex) => regex,
            Err(error) => return Ok(Err(cut(&error.to_string(), self.limits.text_bytes))),
        };
        let case = self.case.clone();
        let limit = (limit as usize).min(PAGE);
        let mut hits = Vec::new();
        let wanted = case
            .artifacts
            .iter()
            .filter(|one| artifact.as_ref().is_none_or(|name| *name == one.head.name));
        for (head, text) in wanted.filter_map(|one| Some((&one.head, one.text.as_ref()?))) {
            if hits.len() >= limit {
                break;
            }
            self.pay_search(head.bytes)?;
            let found = text
                .search(&regex, 1, limit - hits.len())
                .map_err(|error| unreadable(&head.name, &error))?;
            hits.extend(
                found
                    .into_iter()
                    .map(|(number, line)| convert::line(&head.name, number, line)),
            );
        }
        self.page(hits, line_bytes).map(Ok)
    }

    fn threads(
        &mut self,
        _: Resource<ReportHandle>,
        first: u32,
        count: u32,
    ) -> wasmtime::Result<Vec<evidence::Thread>> {
        let case = self.case.clone();
        let threads = range(&case.evidence.threads, first, count).iter().map(convert::thread);
        self.page(threads, |thread| thread.id.len() + thread.artifact.len())
    }

    fn frames(
        &mut self,
        _: Resource<ReportHandle>,
        thread: u32,
        first: u32,
        count: u32,
    ) -> wasmtime::Result<Vec<evidence::Frame>> {
        let case = self.case.clone();
        let frames = case
            .evidence
            .threads
            .get(thread as usize)
            .map_or(&[][..], |thread| &thread.frames);
        self.page(range(frames, first, count).iter().map(convert::frame), |frame| {
            [&frame.function, &frame.file, &frame.module]
                .into_iter()
                .flatten()
                .map(String::len)
                .sum()
        })
    }

    fn events(
        &mut self,
        _: Resource<ReportHandle>,
        kind: Option<String>,
        first: u32,
        count: u32,
    ) -> wasmtime::Result<Vec<evidence::Event>> {
        let case = self.case.clone();
        let events = case
            .events(kind.as_deref())
            .skip(first as usize)
            .take((count as usize).min(PAGE))
            .map(|(kind, event)| convert::event(kind, event));
        self.page(events, |event| {
            event.detail.len() + event.text.len() + event.artifact.len()
        })
    }

    fn memory_snapshots(&mut self, _: Resource<ReportHandle>) -> wasmtime::Result<Vec<String>> {
        let case = self.case.clone();
        self.page(case.evidence.memory_snapshots.iter().map(convert::json), String::len)
    }

    fn collectives(&mut self, _: Resource<ReportHandle>, rank: Option<u32>) -> wasmtime::Result<Vec<String>> {
        let case = self.case.clone();
        let verdicts = case
            .evidence
            .collectives
            .iter()
            .flat_map(|collectives| &collectives.verdicts);
        let wanted = verdicts.filter(|verdict| rank.is_none_or(|rank| verdict.ranks.contains(&rank)));
        self.page(wanted.map(convert::json), String::len)
    }

    fn context(&mut self, _: Resource<ReportHandle>, path: String) -> wasmtime::Result<Option<String>> {
        let value = self.case.context(&path);
        self.json(value)
    }

    fn drop(&mut self, _: Resource<ReportHandle>) -> wasmtime::Result<()> {
        Ok(())
    }
}

impl Run {
    /// Takes what an answer weighs from the run's allowance.
    fn pay(&mut self, bytes: usize) -> wasmtime::Result<()> {
        match self.read_left.checked_sub(bytes) {
            Some(left) => {
                self.read_left = left;
                Ok(())
            }
            None => Err(stop(format!(
                "it read more than {} bytes of evidence",
                self.limits.read_bytes
            ))),
        }
    }

    /// Takes the search of a text of this size from the run's allowance.
    fn pay_search(&mut self, bytes: u64) -> wasmtime::Result<()> {
        match self.search_left.checked_sub(bytes) {
            Some(left) => {
                self.search_left = left;
                Ok(())
            }
            None => Err(stop(format!(
                "it searched more than {} bytes of text",
                self.limits.search_bytes
            ))),
        }
    }

    /// Collects at most a page of entries, paying for each before the next is made.
    fn page<T>(
        &mut self,
        entries: impl IntoIterator<Item = T>,
        weight: impl Fn(&T) -> usize,
    ) -> wasmtime::Result<Vec<T>> {
        let mut page = Vec::new();
        for entry in entries.into_iter().take(PAGE) {
            self.pay(size_of::<T>() + weight(&entry))?;
            page.push(entry);
        }
        Ok(page)
    }

    fn json(&mut self, value: Option<serde_json::Value>) -> wasmtime::Result<Option<String>> {
        let text = value.map(|value| value.to_string());
        self.pay(text.as_ref().map_or(1, String::len))?;
        Ok(text)
    }
}

fn line_bytes(line: &evidence::Line) -> usize {
    line.artifact.len() + line.text.len()
}

fn range<T>(list: &[T], first: u32, count: u32) -> &[T] {
    let start = (first as usize).min(list.len());
    let end = start.saturating_add((count as usize).min(PAGE)).min(list.len());
    &list[start..end]
}

fn unreadable(artifact: &str, error: &std::io::Error) -> wasmtime::Error {
    stop(format!("the artifact {artifact:?} can not be read any more: {error}"))
}

fn stop(words: String) -> wasmtime::Error {
    wasmtime::Error::msg(words)
}

/// The beginning of a text: at most so many bytes, never half a character.
pub(crate) fn cut(text: &str, bytes: usize) -> String {
    text[..text.floor_char_boundary(bytes)].to_owned()
}
