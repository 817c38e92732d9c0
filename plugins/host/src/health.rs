//! Whether a plugin is worth running again.

use std::sync::{Mutex, PoisonError};

/// How a plugin's last runs went. Shared by all diagnoses, and kept when plugins are loaded again from the same bytes.
#[derive(Debug, Default)]
pub(crate) struct Health(Mutex<Strikes>);

#[derive(Debug, Default)]
struct Strikes {
    in_a_row: u32,
    last: String,
}

impl Health {
    /// Notes a run that was in order.
    pub(crate) fn well(&self) {
        self.strikes().in_a_row = 0;
    }

    /// Notes a run that failed, or cost most of what a run may, and why.
    pub(crate) fn strike(&self, why: &str) {
        let mut strikes = self.strikes();
        strikes.in_a_row = strikes.in_a_row.saturating_add(1);
        why.clone_into(&mut strikes.last);
    }

    /// Why the plugin is set aside, if so many strikes in a row are enough for that.
    pub(crate) fn set_aside(&self, enough: u32) -> Option<String> {
        let strikes = self.strikes();
        (enough > 0 && strikes.in_a_row >= enough).then(|| {
            format!(
                "it is set aside after {} runs in a row that failed or cost too much, the last because {}; \
                 it runs again when it is replaced, or when this program starts anew",
                strikes.in_a_row, strikes.last
            )
        })
    }

    fn strikes(&self) -> std::sync::MutexGuard<'_, Strikes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
