//! What a plugin may ask for about GPUs, memory, ranks, software and causes: every answer bounded, and every piece of
//! work for it charged before it is done.

use whycrash_evidence::model::{AllocationCluster, GpuCore, MemorySnapshot, UsageCurve};

use super::bindings::{evidence, gpu, knowledge, memory, ranks};
use super::run::Run;
use super::spending;
use super::view::{PAGE, range, stop, stopped};
use super::{convert, cut};

/// Bytes of a text that may be absent.
pub(super) fn bytes(text: Option<&String>) -> usize {
    text.map_or(0, String::len)
}

pub(super) fn texts(texts: &[String]) -> usize {
    texts.iter().map(|text| text.len() + size_of::<String>()).sum()
}

pub(super) fn numbers<T>(numbers: &[T]) -> usize {
    size_of_val(numbers)
}

impl Run {
    pub(super) fn modules_of(&mut self, first: u32, count: u32) -> wasmtime::Result<Vec<evidence::Module>> {
        let report = self.case.report.clone();
        let modules = range(&report.evidence.modules, first, count).iter();
        self.page(modules.map(convert::module), |module| {
            module.path.len() + module.artifact.len() + bytes(module.build_id.as_ref()) + bytes(module.symbols.as_ref())
        })
    }

    pub(super) fn codes_of(&mut self, thread: u32, first: u32, count: u32) -> wasmtime::Result<Vec<evidence::Code>> {
        let report = self.case.report.clone();
        let thread = report.evidence.threads.get(thread as usize);
        let frames = thread.map_or(&[][..], |thread| &thread.frames);
        self.page(range(frames, first, count).iter().map(convert::code), |code| {
            bytes(code.build_id.as_ref())
        })
    }

    pub(super) fn software_called(&mut self, name: Option<String>) -> wasmtime::Result<Vec<evidence::Software>> {
        let (case, evidence) = (self.case.clone(), &self.case.report.evidence);
        let packages = evidence.context.get("packages").and_then(serde_json::Value::as_object);
        let witnesses = evidence.modules.len() + evidence.timeline.len() + evidence.gpu_cores.len();
        let looked_at = witnesses + packages.map_or(0, serde_json::Map::len);
        self.spending
            .charge((looked_at as u64).saturating_mul(spending::ENTRY))
            .map_err(stopped)?;
        let named = case.software().iter();
        let wanted = named.filter(|software| name.as_ref().is_none_or(|name| *name == software.name));
        self.page(wanted.map(convert::software), |software| {
            software.name.len() + software.version.len() + software.fact.len()
        })
    }

    pub(super) fn cores(&mut self) -> wasmtime::Result<Vec<gpu::Core>> {
        let report = self.case.report.clone();
        self.page(report.evidence.gpu_cores.iter().map(convert::gpu::core), |core| {
            let named = [
                &core.exception,
                &core.kernel,
                &core.file,
                &core.name,
                &core.architecture,
            ];
            core.artifact.len() + named.into_iter().map(|text| bytes(text.as_ref())).sum::<usize>()
        })
    }

    pub(super) fn faults(&mut self, core: u32, first: u32, count: u32) -> wasmtime::Result<Vec<gpu::Fault>> {
        let report = self.case.report.clone();
        let core: Option<&GpuCore> = report.evidence.gpu_cores.get(core as usize);
        let faults = core.map_or(&[][..], |core| &core.faults);
        self.page(range(faults, first, count).iter().map(convert::gpu::fault), |fault| {
            bytes(fault.exception.as_ref()) + bytes(fault.kernel.as_ref())
        })
    }

    pub(super) fn warps_of(&mut self, core: u32, first: u32, count: u32) -> wasmtime::Result<Vec<gpu::Warps>> {
        let report = self.case.report.clone();
        let core: Option<&GpuCore> = report.evidence.gpu_cores.get(core as usize);
        let warps = core.map_or(&[][..], |core| &core.warps);
        self.page(range(warps, first, count).iter().map(convert::gpu::warps), |warps| {
            bytes(warps.kernel.as_ref())
        })
    }

    pub(super) fn snapshots_of(&mut self) -> wasmtime::Result<Vec<memory::Snapshot>> {
        let report = self.case.report.clone();
        let case = self.case.clone();
        let snapshots = (0..).zip(&report.evidence.memory_snapshots);
        let told = snapshots.map(|(number, snapshot)| {
            let detail = case.memory_detail(number).map(|(_, detail)| detail);
            convert::memory::snapshot(snapshot, detail)
        });
        self.page(told, |snapshot| snapshot.artifact.len())
    }

    pub(super) fn failed(&mut self, snapshot: u32) -> wasmtime::Result<Option<memory::FailedRequest>> {
        let report = self.case.report.clone();
        let snapshot: Option<&MemorySnapshot> = report.evidence.memory_snapshots.get(snapshot as usize);
        let request = snapshot.and_then(|snapshot| snapshot.oom.as_ref());
        self.pay(request.map_or(1, |request| texts(&request.frames)))?;
        Ok(request.map(convert::memory::failed_request))
    }

    pub(super) fn clusters_at(
        &mut self,
        snapshot: u32,
        at: memory::Moment,
        first: u32,
        count: u32,
    ) -> wasmtime::Result<Vec<memory::Cluster>> {
        let report = self.case.report.clone();
        let snapshot: Option<&MemorySnapshot> = report.evidence.memory_snapshots.get(snapshot as usize);
        let clusters: &[AllocationCluster] = match (snapshot, at) {
            (None, _) => &[],
            (Some(snapshot), memory::Moment::End) => &snapshot.clusters,
            (Some(snapshot), memory::Moment::Peak) => snapshot.peak.as_ref().map_or(&[], |peak| &peak.clusters),
        };
        let clusters = range(clusters, first, count).iter();
        self.page(clusters.map(convert::memory::cluster), |cluster| {
            texts(&cluster.frames) + numbers(&cluster.growth)
        })
    }

    pub(super) fn pools_of(&mut self, snapshot: u32, first: u32, count: u32) -> wasmtime::Result<Vec<memory::Pool>> {
        let report = self.case.report.clone();
        let snapshot: Option<&MemorySnapshot> = report.evidence.memory_snapshots.get(snapshot as usize);
        let pools = snapshot.map_or(&[][..], |snapshot| &snapshot.pools);
        self.page(range(pools, first, count).iter().map(convert::memory::pool), |pool| {
            pool.size_class.len()
        })
    }

    pub(super) fn usage_of(
        &mut self,
        snapshot: u32,
        first: u64,
        end: u64,
        count: u32,
    ) -> wasmtime::Result<Vec<memory::Stretch>> {
        let report = self.case.report.clone();
        let snapshot: Option<&MemorySnapshot> = report.evidence.memory_snapshots.get(snapshot as usize);
        let Some((snapshot, overview)) = snapshot.and_then(|snapshot| Some((snapshot, snapshot.usage.as_ref()?)))
        else {
            return Ok(Vec::new());
        };
        let mut curves = report.evidence.memory_curves.iter();
        let curve = curves.find(|curve| curve.device == snapshot.device && curve.artifact == snapshot.artifact);
        let levels = curve.into_iter().flat_map(|curve| &curve.levels).chain([overview]);
        let most = (count as usize).min(PAGE);
        let mut coarsest = overview.clone();
        for level in levels {
            self.spending.charge(spending::ENTRY).map_err(stopped)?;
            if rows(level, first, end).len() <= most {
                coarsest = level.clone();
                break;
            }
        }
        while rows(&coarsest, first, end).len() > most && coarsest.len() > 1 {
            self.spending
                .charge((coarsest.len() as u64).saturating_mul(spending::ENTRY))
                .map_err(stopped)?;
            coarsest = coarsest.halved();
        }
        let rows = rows(&coarsest, first, end).take(most);
        self.page(rows.filter_map(|row| convert::memory::stretch(&coarsest, row)), |_| 0)
    }

    pub(super) fn overview(&mut self) -> wasmtime::Result<Option<ranks::Overview>> {
        let report = self.case.report.clone();
        let collectives = report.evidence.collectives.as_ref();
        self.pay(collectives.map_or(1, |told| {
            let lists = [
                &told.ranks,
                &told.ranks_without_recorder,
                &told.culprits,
                &told.circle,
                &told.behind_once,
            ];
            lists.into_iter().map(|ranks| numbers(ranks)).sum()
        }))?;
        Ok(collectives.map(convert::ranks::overview))
    }

    pub(super) fn verdicts_of(
        &mut self,
        rank: Option<u32>,
        first: u32,
        count: u32,
    ) -> wasmtime::Result<Vec<ranks::Verdict>> {
        let report = self.case.report.clone();
        let collectives = report.evidence.collectives.iter();
        let verdicts = collectives.flat_map(|collectives| &collectives.verdicts).enumerate();
        // Each is asked which ranks it is about.
        let looked_at: usize = verdicts.clone().map(|(_, verdict)| verdict.ranks.len() + 1).sum();
        self.spending.charge(looked_at as u64).map_err(stopped)?;
        let wanted = verdicts.filter(|(_, verdict)| rank.is_none_or(|rank| verdict.ranks.contains(&rank)));
        let page = wanted.skip(first as usize).take((count as usize).min(PAGE));
        self.page(
            page.map(|(number, verdict)| convert::ranks::verdict(number, verdict)),
            |verdict| {
                let words = [
                    &verdict.group,
                    &verdict.group_description,
                    &verdict.kind,
                    &verdict.operation,
                    &verdict.detail,
                ];
                words.into_iter().map(String::len).sum::<usize>()
                    + bytes(verdict.time.as_ref())
                    + numbers(&verdict.ranks)
                    + numbers(&verdict.entered)
                    + texts(&verdict.frames)
            },
        )
    }

    pub(super) fn documented(&mut self, id: &str) -> wasmtime::Result<Option<knowledge::Cause>> {
        let knowledge = self.knowledge.clone();
        // Every page is asked whether it answers for the id.
        let pages = knowledge.catalog.causes().len() as u64;
        self.spending
            .charge(pages.saturating_mul(spending::ENTRY))
            .map_err(stopped)?;
        let cause = knowledge.catalog.get(id).map(convert::knowledge::cause);
        self.pay(cause.as_ref().map_or(1, |cause| {
            let lists = [&cause.also, &cause.tags, &cause.members, &cause.leads_to];
            cause.id.len() + lists.into_iter().map(|list| texts(list)).sum::<usize>()
        }))?;
        Ok(cause)
    }

    pub(super) fn advised(&mut self, advice: knowledge::Advice) -> wasmtime::Result<()> {
        self.advice.retain(|earlier| earlier.cause != advice.cause);
        if self.advice.len() >= self.limits.findings {
            let most = self.limits.findings;
            return Err(stop(format!("it gave advice about more than {most} causes")));
        }
        let most = self.limits.text_bytes;
        let texts = [Some(&advice.cause), advice.because.as_ref()];
        if let Some(text) = texts.into_iter().flatten().find(|text| text.len() > most) {
            return Err(stop(format!(
                "it gave advice of {} bytes, more than the {most} that are allowed: {:?}…",
                text.len(),
                cut(text, 80)
            )));
        }
        self.advice.push(advice);
        Ok(())
    }
}

/// The rows of a curve that tell of these trace entries.
fn rows(curve: &UsageCurve, first: u64, end: u64) -> std::ops::Range<usize> {
    let from = curve.event.partition_point(|event| *event <= first).saturating_sub(1);
    let to = curve.event.partition_point(|event| *event < end);
    if first < end { from..to.max(from) } else { from..from }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_of_a_trace_is_told_by_the_rows_that_reach_into_it() {
        let curve = UsageCurve {
            event: vec![0, 10, 20, 30],
            ..UsageCurve::default()
        };
        for (first, end, told) in [
            (0, 40, 0..4),
            (10, 20, 1..2),
            (15, 16, 1..2),
            (15, 21, 1..3),
            (35, 36, 3..4),
            (20, 20, 2..2),
            (30, 5, 3..3),
            (u64::MAX, u64::MAX, 3..3),
        ] {
            assert_eq!(rows(&curve, first, end), told, "{first} to {end}");
        }
        assert_eq!(rows(&UsageCurve::default(), 0, 10), 0..0);
    }
}
