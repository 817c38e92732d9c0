//! Goes through the reports of previews, one preview after the other.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use whycrash_plugin_host::Panel;

use super::{PreviewError, look, reopened};
use crate::services::Services;
use crate::store::{PreviewRecord, PreviewState, Result};

/// How long it waits for a new preview without being woken.
const POLL: Duration = Duration::from_secs(5);
/// The pause after something went wrong that may go well another time.
const TROUBLE: Duration = Duration::from_secs(2);
/// Reports noted together.
const BATCH: u32 = 64;
/// How long a batch waits, at most, while reports wait that somebody has sent.
const YIELD: Duration = Duration::from_secs(1);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Runs previews, for as long as the server does.
pub async fn run(services: Arc<Services>) {
    let mut panel = None;
    loop {
        match step(&services, &mut panel).await {
            Ok(true) => {}
            // A time-out is as good a reason to look again as a wake-up.
            Ok(false) => drop(timeout(POLL, services.tried.wake.notified()).await),
            Err(error) => {
                tracing::warn!(%error, "a preview can not go on now; it will be tried again");
                sleep(TROUBLE).await;
            }
        }
    }
}

/// The plugins of the preview that runs.
type Opened = Option<(u64, Arc<Panel>)>;

/// Looks at the next reports of the first preview that runs; false where none does.
async fn step(services: &Services, opened: &mut Opened) -> Result<bool> {
    let previews = services.stores.previews.previews().await?;
    let running = previews
        .iter()
        .rev()
        .find(|preview| preview.state == PreviewState::Running);
    let Some(preview) = running else {
        *opened = None;
        return Ok(false);
    };
    let panel = match opened.as_ref().filter(|(number, _)| *number == preview.number) {
        Some((_, panel)) => Arc::clone(panel),
        None => match reopened(services, preview).await {
            Ok(trial) => Arc::clone(&opened.insert((preview.number, Arc::new(trial.panel))).1),
            Err(PreviewError::Store(error)) => return Err(error),
            Err(error) => return fail(services, preview, &error).await,
        },
    };
    batch(services, preview, &panel).await?;
    Ok(true)
}

async fn batch(services: &Services, preview: &PreviewRecord, panel: &Arc<Panel>) -> Result<()> {
    let stores = &services.stores;
    let ids = stores.previews.not_looked_at(preview.number, BATCH).await?;
    if ids.is_empty() {
        let (from, to) = (PreviewState::Running, PreviewState::Ready);
        stores.previews.move_preview(preview.number, from, to, None).await?;
        return Ok(());
    }
    give_way(services).await?;
    let rate = services.config.workers.previews_per_second;
    let pause = Duration::from_secs(ids.len() as u64)
        .checked_div(rate)
        .unwrap_or_default();
    let next = Instant::now() + pause;
    let looked: Vec<_> = stream::iter(ids)
        .map(|id| look::look(stores, panel, id))
        .buffer_unordered(services.config.workers.count())
        .try_collect()
        .await?;
    stores.previews.note(preview.number, &looked).await?;
    sleep_until(next).await;
    Ok(())
}

/// Reports that somebody has sent come first.
async fn give_way(services: &Services) -> Result<()> {
    let until = Instant::now() + YIELD;
    while Instant::now() < until && services.stores.jobs.counts().await?.queued > 0 {
        sleep(LOOK_AGAIN).await;
    }
    Ok(())
}

async fn fail(services: &Services, preview: &PreviewRecord, error: &PreviewError) -> Result<bool> {
    let (from, to, reason) = (PreviewState::Running, PreviewState::Failed, error.to_string());
    let previews = &services.stores.previews;
    previews.move_preview(preview.number, from, to, Some(&reason)).await
}
