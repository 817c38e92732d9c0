//! The report as a plugin reads it: every answer bounded, and every piece of work for it charged before it is done.

use std::io;
use std::sync::Arc;

use wasmtime::component::Resource;
use whycrash_reading::Text;

use super::bindings::{PluginImports, evidence, gpu, history, knowledge, memory, ranks, types};
use super::pattern::{PATTERN_BYTES, Pattern, Searcher};
use super::run::Run;
use super::spending::{self, Stopped};
use super::{KnownTable, ReportHandle, clean, convert, cut};

/// Entries that one call returns at most, whatever it asks for.
pub(super) const PAGE: usize = 4096;

impl PluginImports for Run {
    fn log(&mut self, line: String) -> wasmtime::Result<()> {
        self.call(line.len())?;
        self.log_calls += 1;
        if self.log_calls > self.limits.log_calls {
            return Err(stop(format!("it logged more than {} lines", self.limits.log_calls)));
        }
        let line = clean::line(&cut(&line, self.limits.log_line_bytes));
        if self.log.len() < self.limits.log_lines {
            self.log.push(line.clone());
        }
        self.last_line = Some(line);
        Ok(())
    }

    fn recognise_tables(&mut self) -> wasmtime::Result<Vec<String>> {
        self.call(0)?;
        let knowledge = self.knowledge.clone();
        self.tables(&knowledge.tables, |_| true)
    }
}

impl types::Host for Run {}
impl evidence::Host for Run {}
impl gpu::Host for Run {}
impl history::Host for Run {}
impl knowledge::Host for Run {}
impl memory::Host for Run {}
impl ranks::Host for Run {}

impl evidence::HostReport for Run {
    fn artifacts(&mut self, _: Resource<ReportHandle>) -> wasmtime::Result<Vec<evidence::Artifact>> {
        self.call(0)?;
        let report = self.case.report.clone();
        let artifacts = report.head.artifacts.iter();
        self.page(
            artifacts.map(|artifact| convert::artifact(&report, artifact)),
            |artifact| artifact.name.len() + artifact.kind.len(),
        )
    }

    fn fact(&mut self, _: Resource<ReportHandle>, path: String) -> wasmtime::Result<Option<String>> {
        self.call(path.len())?;
        let (value, looked_through) = self.case.weighed_fact(&path);
        self.spending.charge_bytes(looked_through).map_err(stopped)?;
        self.json(value)
    }

    fn lines(
        &mut self,
        _: Resource<ReportHandle>,
        artifact: String,
        first: u64,
        count: u32,
    ) -> wasmtime::Result<Vec<evidence::Line>> {
        self.call(artifact.len())?;
        let report = self.case.report.clone();
        let Some(text) = report.text(&artifact) else {
            return Ok(Vec::new());
        };
        let first = first.max(1);
        let last = first
            .saturating_add(u64::from(count).min(PAGE as u64))
            .saturating_sub(1);
        let (mut lines, all) = (Vec::new(), text.lines().map_err(|error| ended(&artifact, error))?);
        let (spending, read_left) = (self.spending.clone(), &mut self.read_left);
        let limit = self.limits.read_bytes;
        if count > 0 {
            let read = all.walk(first, last, &|bytes| spending.pace(bytes), |number, line| {
                let line = convert::line(&artifact, number, String::from_utf8_lossy(line).into_owned());
                pay(read_left, limit, size_of::<evidence::Line>() + line_bytes(&line)).map_err(io::Error::other)?;
                lines.push(line);
                Ok(true)
            });
            read.map_err(|error| ended(&artifact, error))?;
        }
        Ok(lines)
    }

    fn search(
        &mut self,
        _: Resource<ReportHandle>,
        artifact: Option<String>,
        pattern: String,
        limit: u32,
    ) -> wasmtime::Result<Result<Vec<evidence::Line>, String>> {
        self.call(artifact.as_ref().map_or(0, String::len))?;
        let report = self.case.report.clone();
        let pattern = match self.pattern(&pattern)? {
            Ok(pattern) => pattern,
            Err(flaw) => return Ok(Err(cut(&flaw, self.limits.text_bytes))),
        };
        let limit = (limit as usize).min(PAGE);
        let mut searcher = pattern.searcher();
        let mut hits = Vec::new();
        let is_wanted = |name: &str| artifact.as_ref().is_none_or(|wanted| wanted == name);
        for text in report.texts.iter().filter(|text| is_wanted(text.artifact())) {
            self.search_text(text, &mut searcher, limit, &mut hits)?;
        }
        Ok(Ok(hits))
    }

    fn threads(
        &mut self,
        _: Resource<ReportHandle>,
        first: u32,
        count: u32,
    ) -> wasmtime::Result<Vec<evidence::Thread>> {
        self.call(0)?;
        let report = self.case.report.clone();
        let threads = range(&report.evidence.threads, first, count)
            .iter()
            .map(convert::thread);
        self.page(threads, |thread| thread.id.len() + thread.artifact.len())
    }

    fn frames(
        &mut self,
        _: Resource<ReportHandle>,
        thread: u32,
        first: u32,
        count: u32,
    ) -> wasmtime::Result<Vec<evidence::Frame>> {
        self.call(0)?;
        let report = self.case.report.clone();
        let frames = report
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
        self.call(kind.as_ref().map_or(0, String::len))?;
        let case = self.case.clone();
        // Each event before the first that is wanted is looked at too.
        self.spending
            .charge(case.report.evidence.timeline.len() as u64)
            .map_err(stopped)?;
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
        self.call(0)?;
        let report = self.case.report.clone();
        self.page(report.evidence.memory_snapshots.iter().map(convert::json), String::len)
    }

    fn collectives(&mut self, _: Resource<ReportHandle>, rank: Option<u32>) -> wasmtime::Result<Vec<String>> {
        self.call(0)?;
        let report = self.case.report.clone();
        let verdicts = report
            .evidence
            .collectives
            .iter()
            .flat_map(|collectives| &collectives.verdicts);
        let wanted = verdicts.filter(|verdict| rank.is_none_or(|rank| verdict.ranks.contains(&rank)));
        self.page(wanted.map(convert::json), String::len)
    }

    fn context(&mut self, _: Resource<ReportHandle>, path: String) -> wasmtime::Result<Option<String>> {
        self.call(path.len())?;
        let value = self.case.context(&path);
        self.json(value)
    }

    fn count(&mut self, _: Resource<ReportHandle>, of: String) -> wasmtime::Result<u32> {
        self.call(of.len())?;
        Ok(self.case.count(&of) as u32)
    }

    fn codes(
        &mut self,
        _: Resource<ReportHandle>,
        thread: u32,
        first: u32,
        count: u32,
    ) -> wasmtime::Result<Vec<evidence::Code>> {
        self.call(0)?;
        self.codes_of(thread, first, count)
    }

    fn modules(
        &mut self,
        _: Resource<ReportHandle>,
        first: u32,
        count: u32,
    ) -> wasmtime::Result<Vec<evidence::Module>> {
        self.call(0)?;
        self.modules_of(first, count)
    }

    fn software(
        &mut self,
        _: Resource<ReportHandle>,
        name: Option<String>,
    ) -> wasmtime::Result<Vec<evidence::Software>> {
        self.call(name.as_ref().map_or(0, String::len))?;
        self.software_called(name)
    }

    fn gpu_cores(&mut self, _: Resource<ReportHandle>) -> wasmtime::Result<Vec<gpu::Core>> {
        self.call(0)?;
        self.cores()
    }

    fn gpu_faults(
        &mut self,
        _: Resource<ReportHandle>,
        core: u32,
        first: u32,
        count: u32,
    ) -> wasmtime::Result<Vec<gpu::Fault>> {
        self.call(0)?;
        self.faults(core, first, count)
    }

    fn gpu_warps(
        &mut self,
        _: Resource<ReportHandle>,
        core: u32,
        first: u32,
        count: u32,
    ) -> wasmtime::Result<Vec<gpu::Warps>> {
        self.call(0)?;
        self.warps_of(core, first, count)
    }

    fn memory_summaries(&mut self, _: Resource<ReportHandle>) -> wasmtime::Result<Vec<memory::Snapshot>> {
        self.call(0)?;
        self.snapshots_of()
    }

    fn failed_request(
        &mut self,
        _: Resource<ReportHandle>,
        snapshot: u32,
    ) -> wasmtime::Result<Option<memory::FailedRequest>> {
        self.call(0)?;
        self.failed(snapshot)
    }

    fn clusters(
        &mut self,
        _: Resource<ReportHandle>,
        snapshot: u32,
        at: memory::Moment,
        first: u32,
        count: u32,
    ) -> wasmtime::Result<Vec<memory::Cluster>> {
        self.call(0)?;
        self.clusters_at(snapshot, at, first, count)
    }

    fn pools(
        &mut self,
        _: Resource<ReportHandle>,
        snapshot: u32,
        first: u32,
        count: u32,
    ) -> wasmtime::Result<Vec<memory::Pool>> {
        self.call(0)?;
        self.pools_of(snapshot, first, count)
    }

    fn usage(
        &mut self,
        _: Resource<ReportHandle>,
        snapshot: u32,
        first: u64,
        end: u64,
        count: u32,
    ) -> wasmtime::Result<Vec<memory::Stretch>> {
        self.call(0)?;
        self.usage_of(snapshot, first, end, count)
    }

    fn blocks(
        &mut self,
        _: Resource<ReportHandle>,
        snapshot: u32,
        address: u64,
        count: u32,
    ) -> wasmtime::Result<Vec<memory::Block>> {
        self.call(0)?;
        self.blocks_of(snapshot, address, count)
    }

    fn trace(
        &mut self,
        _: Resource<ReportHandle>,
        snapshot: u32,
        first: u64,
        count: u32,
    ) -> wasmtime::Result<Vec<memory::Entry>> {
        self.call(0)?;
        self.trace_of(snapshot, first, count)
    }

    fn earlier(
        &mut self,
        _: Resource<ReportHandle>,
        first: u32,
        count: u32,
    ) -> wasmtime::Result<Vec<history::EarlierReport>> {
        self.call(0)?;
        self.earlier_reports(first, count)
    }

    fn incident(
        &mut self,
        _: Resource<ReportHandle>,
        first: u32,
        count: u32,
    ) -> wasmtime::Result<Vec<history::OtherReport>> {
        self.call(0)?;
        self.incident_reports(first, count)
    }

    fn rank_overview(&mut self, _: Resource<ReportHandle>) -> wasmtime::Result<Option<ranks::Overview>> {
        self.call(0)?;
        self.overview()
    }

    fn rank_verdicts(
        &mut self,
        _: Resource<ReportHandle>,
        rank: Option<u32>,
        first: u32,
        count: u32,
    ) -> wasmtime::Result<Vec<ranks::Verdict>> {
        self.call(0)?;
        self.verdicts_of(rank, first, count)
    }

    fn cause(&mut self, _: Resource<ReportHandle>, id: String) -> wasmtime::Result<Option<knowledge::Cause>> {
        self.call(id.len())?;
        self.documented(&id)
    }

    fn recognise_tables(&mut self, _: Resource<ReportHandle>) -> wasmtime::Result<Vec<String>> {
        self.call(0)?;
        let (case, knowledge) = (self.case.clone(), self.knowledge.clone());
        // Each is looked at, and so is each event, if only the first time.
        let looked_at = case.report.evidence.timeline.len() + knowledge.tables.len();
        self.spending
            .charge((looked_at as u64).saturating_mul(spending::ENTRY))
            .map_err(stopped)?;
        let shown = case.shown();
        self.tables(&knowledge.tables, |table| shown.may_have(&table.sign))
    }

    fn advise(&mut self, _: Resource<ReportHandle>, advice: knowledge::Advice) -> wasmtime::Result<()> {
        self.call(advice.cause.len() + advice.because.as_ref().map_or(0, String::len))?;
        self.advised(advice)
    }

    fn drop(&mut self, _: Resource<ReportHandle>) -> wasmtime::Result<()> {
        Ok(())
    }
}

impl Run {
    /// Charges a call, and what came with it.
    fn call(&self, bytes: usize) -> wasmtime::Result<()> {
        self.spending.charge(spending::CALL).map_err(stopped)?;
        self.spending.charge_bytes(bytes).map_err(stopped)
    }

    /// Takes what an answer weighs from the run's allowance.
    pub(super) fn pay(&mut self, bytes: usize) -> wasmtime::Result<()> {
        self.spending.charge_bytes(bytes).map_err(stopped)?;
        pay(&mut self.read_left, self.limits.read_bytes, bytes).map_err(stopped)
    }

    /// The pattern, compiled; paid for once in a run, whether or not another plugin asked for it before.
    fn pattern(&mut self, pattern: &str) -> wasmtime::Result<Result<Arc<Pattern>, String>> {
        // What is too long is not compiled.
        if pattern.len() <= PATTERN_BYTES && !self.patterns.contains(pattern) {
            self.spending
                .charge((pattern.len() as u64).saturating_mul(spending::PATTERN_BYTE))
                .map_err(stopped)?;
            self.patterns.insert(pattern.to_owned());
        }
        Ok(self.case.patterns.get(pattern, self.limits.pattern_bytes))
    }

    /// Adds lines of a text that match until there are as many as wanted.
    fn search_text(
        &mut self,
        text: &Text,
        searcher: &mut Searcher<'_>,
        limit: usize,
        hits: &mut Vec<evidence::Line>,
    ) -> wasmtime::Result<()> {
        if hits.len() >= limit {
            return Ok(());
        }
        let name = text.artifact();
        let lines = text.lines().map_err(|error| ended(name, error))?;
        let (spending, read_left) = (self.spending.clone(), &mut self.read_left);
        let read_bytes = self.limits.read_bytes;
        let searched = lines.walk(1, u64::MAX, &|bytes| spending.pace(bytes), |number, line| {
            if searcher.is_match(line, &spending).map_err(io::Error::other)? {
                let line = convert::line(name, number, String::from_utf8_lossy(line).into_owned());
                pay(read_left, read_bytes, size_of::<evidence::Line>() + line_bytes(&line))
                    .map_err(io::Error::other)?;
                hits.push(line);
            }
            Ok(hits.len() < limit)
        });
        searched.map_err(|error| ended(name, error))
    }

    /// Collects at most a page of entries, paying for each before the next is made.
    pub(super) fn page<T>(
        &mut self,
        entries: impl IntoIterator<Item = T>,
        weight: impl Fn(&T) -> usize,
    ) -> wasmtime::Result<Vec<T>> {
        let mut page = Vec::new();
        for entry in entries.into_iter().take(PAGE) {
            self.spending.charge(spending::ENTRY).map_err(stopped)?;
            self.pay(size_of::<T>() + weight(&entry))?;
            page.push(entry);
        }
        Ok(page)
    }

    /// Those of the recognise tables that are wanted.
    fn tables(
        &mut self,
        all: &[Arc<KnownTable>],
        wanted: impl Fn(&KnownTable) -> bool,
    ) -> wasmtime::Result<Vec<String>> {
        let tables: Vec<&Arc<KnownTable>> = all.iter().filter(|table| wanted(table)).collect();
        self.pay(tables.iter().map(|table| table.json.len()).sum())?;
        Ok(tables.into_iter().map(|table| table.json.clone()).collect())
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

pub(super) fn range<T>(list: &[T], first: u32, count: u32) -> &[T] {
    let start = (first as usize).min(list.len());
    let end = start.saturating_add((count as usize).min(PAGE)).min(list.len());
    &list[start..end]
}

/// Takes what an answer weighs from what is left.
fn pay(left: &mut usize, limit: usize, bytes: usize) -> Result<(), Stopped> {
    *left = left
        .checked_sub(bytes)
        .ok_or_else(|| Stopped(format!("it read more than {limit} bytes of evidence")))?;
    Ok(())
}

/// Why reading an artifact ended: the run's allowance did, or the file can not be read, which is no fault of the
/// plugin.
fn ended(artifact: &str, error: io::Error) -> wasmtime::Error {
    match error.downcast::<Stopped>() {
        Ok(why) => stopped(why),
        Err(error) => wasmtime::Error::new(HostFailure(format!(
            "the artifact {artifact:?} can not be read any more: {error}"
        ))),
    }
}

/// Something that the host could not do, through no fault of the plugin.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct HostFailure(pub(super) String);

pub(super) fn stop(words: String) -> wasmtime::Error {
    stopped(Stopped(words))
}

pub(super) fn stopped(why: Stopped) -> wasmtime::Error {
    wasmtime::Error::new(why)
}
