//! What a plugin's runs cost, and whether it is worth running again.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::diagnosis::{Outcome, PluginRun};

/// How a plugin's runs went. Shared by all diagnoses, and kept when plugins are loaded again
/// from the same bytes.
#[derive(Debug, Default)]
pub(crate) struct Health(Mutex<Runs>);

/// The runs of a plugin since it was installed, as far as the program that runs it was told of earlier ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = PluginRuns)]
#[serde(default)]
pub struct Runs {
    /// Those that were in order.
    pub ok: u64,
    /// Those that failed.
    pub failed: u64,
    /// Reports that it was not run on, for what it needs was absent, or because it is set aside.
    pub skipped: u64,
    /// Those that the host could not do.
    pub unavailable: u64,
    /// Fuel of all of them.
    pub fuel: u64,
    /// The most fuel that one took.
    pub most_fuel: u64,
    /// The most memory that one used, in bytes.
    pub most_memory: u64,
    /// Milliseconds of processor time of all of them.
    pub millis: u64,
    /// Why the last one failed that did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<String>,
    /// How many failed, or cost most of what a run may, one after the other up to now.
    pub strikes: u32,
    /// What the last of these was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_strike: Option<String>,
}

impl Health {
    /// That of a plugin whose runs went like this before.
    pub(crate) fn after(runs: Runs) -> Self {
        Self(Mutex::new(runs))
    }

    /// Notes how a run ended, and whether it cost most of what a run may, in words.
    pub(crate) fn note(&self, run: &PluginRun, costly: Option<String>) {
        let mut runs = self.locked();
        runs.add(run);
        let strike = match run.outcome {
            Outcome::Failed => run.reason.clone().or_else(|| Some("it failed".to_owned())),
            Outcome::Ok => costly,
            Outcome::Skipped | Outcome::Unavailable => return,
        };
        runs.strikes = strike.as_ref().map_or(0, |_| runs.strikes.saturating_add(1));
        runs.last_strike = strike;
    }

    /// Its runs so far.
    pub(crate) fn runs(&self) -> Runs {
        self.locked().clone()
    }

    /// Why the plugin is set aside, if so many strikes in a row are enough for that.
    pub(crate) fn set_aside(&self, enough: u32) -> Option<String> {
        let runs = self.locked();
        (enough > 0 && runs.strikes >= enough).then(|| {
            format!(
                "it is set aside after {} runs in a row that failed or cost too much, the last because {}; \
                 it runs again when somebody enables it, or publishes another version",
                runs.strikes,
                runs.last_strike.as_deref().unwrap_or("it failed")
            )
        })
    }

    /// Lets the plugin run again, whatever its last runs were like.
    pub(crate) fn forgive(&self) {
        let mut runs = self.locked();
        runs.strikes = 0;
        runs.last_strike = None;
    }

    fn locked(&self) -> MutexGuard<'_, Runs> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Runs {
    fn add(&mut self, run: &PluginRun) {
        let count = match run.outcome {
            Outcome::Ok => &mut self.ok,
            Outcome::Failed => &mut self.failed,
            Outcome::Skipped => &mut self.skipped,
            Outcome::Unavailable => &mut self.unavailable,
        };
        *count += 1;
        self.fuel = self.fuel.saturating_add(run.fuel);
        self.most_fuel = self.most_fuel.max(run.fuel);
        self.most_memory = self.most_memory.max(run.memory);
        self.millis += run.millis.unwrap_or_default().ceil() as u64;
        if run.outcome == Outcome::Failed {
            self.last_failure.clone_from(&run.reason);
        }
    }
}
