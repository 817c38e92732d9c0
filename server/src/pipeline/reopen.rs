//! Has reports read again when symbols come for binaries on their stacks.
//!
//! One task does this for all symbols, in the order they came, some reports at a time: the queue keeps room for new
//! reports, and what is left when the process ends is taken up at the next start.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use whycrash_evidence::Evidence;

use super::Stores;
use crate::store::{Arrival, ModuleUse, ReportId, Result};

/// Reports that are queued together.
const BATCH: u32 = 200;
/// How long to wait for room in the queue, or for a store that failed.
const PAUSE: Duration = Duration::from_secs(1);
/// Binaries that are noted of one report.
const MODULES: usize = 4096;

/// What stacks lead through, with whether better symbols could be had than the evidence was made with. Symbols for
/// other binaries would change nothing.
pub fn modules_of(evidence: &Evidence) -> Vec<ModuleUse> {
    let frames = evidence.threads.iter().flat_map(|thread| &thread.frames);
    let on_stacks: std::collections::HashSet<&str> = frames.filter_map(|frame| frame.module.as_deref()).collect();
    let used = evidence
        .modules
        .iter()
        .filter(|module| on_stacks.contains(module.path.as_str()));
    let ids = used.flat_map(|module| {
        let source = module.symbols.as_deref();
        let knows_lines = matches!(source, Some("debug-file" | "symbol-file"));
        let build_id = module.build_id.iter().map(move |id| (id, source != Some("debug-file")));
        let debug_id = module.debug_id.iter().map(move |id| (id, !knows_lines));
        build_id.chain(debug_id)
    });
    let mut modules: Vec<ModuleUse> = ids
        .map(|(id, lacks_symbols)| ModuleUse {
            id: id.to_ascii_lowercase(),
            lacks_symbols,
        })
        .take(MODULES)
        .collect();
    modules.sort();
    modules.dedup();
    modules
}

/// Queues the reports of every arrival there is, and of those to come.
#[derive(Debug)]
pub struct Reopener {
    /// Where reports, jobs and arrivals are.
    pub stores: Stores,
    /// Wakes workers.
    pub wake: Arc<Notify>,
    /// Jobs that may wait; half of them are left to new reports.
    pub queued_jobs: u64,
}

impl Reopener {
    /// Works until it is dropped.
    pub async fn run(self) {
        loop {
            match self.queue_all().await {
                Ok(()) => self.stores.arrivals.came.notified().await,
                Err(error) => {
                    tracing::warn!(%error, "can not queue reports that new symbols are for; trying again");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    async fn queue_all(&self) -> Result<()> {
        while let Some(arrival) = self.stores.modules.next_arrival().await? {
            let reports = self.queue(&arrival).await?;
            self.stores.modules.end_arrival(&arrival).await?;
            tracing::info!(
                module = arrival.module,
                reports,
                "reports are read again with new symbols"
            );
        }
        Ok(())
    }

    async fn queue(&self, arrival: &Arrival) -> Result<u64> {
        let (mut last, mut sum) = (None::<ReportId>, 0);
        self.stores.arrivals.add(&arrival.module);
        loop {
            self.wait_for_room().await?;
            let ids = self.stores.modules.reports_of(arrival, last.as_ref(), BATCH).await?;
            for id in &ids {
                self.stores.jobs.enqueue(id, u64::MAX).await?;
                self.stores.records.reopen(id).await?;
            }
            self.wake.notify_waiters();
            sum += ids.len() as u64;
            let Some(end) = ids.last() else { return Ok(sum) };
            last = Some(end.clone());
        }
    }

    async fn wait_for_room(&self) -> Result<()> {
        while self.stores.jobs.counts().await?.queued > self.queued_jobs / 2 {
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
    }
}
