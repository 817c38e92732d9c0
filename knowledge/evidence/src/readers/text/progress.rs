//! Tells what a process survived: a failure after which it went on training was caught, or only printed.

use regex::bytes::Regex;
use std::collections::HashSet;
use std::sync::LazyLock;

use super::sink::Sink;
use crate::model::{Event, Place, What};

/// Lines that a training loop prints while it goes on. Other lines prove nothing: a dying process prints warnings,
/// summaries and what its peers still say.
static PROGRESS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i-u)\b(?:step|epoch|iter(?:ation)?|batch|loss|global_step)\b['\x22]?[ =:/#\[\]]{0,4}\d|\d+(?:\.\d+)?(?:it/s|s/it)\b")
        .expect("a fixed pattern")
});

/// So many of them after a failure mean that it was survived; fewer may have been printed by a peer.
const ENOUGH: usize = 3;

/// The most recent lines of progress.
#[derive(Debug, Default)]
pub struct Progress {
    last: [u64; ENOUGH],
}

impl Progress {
    /// True when every event so far was followed by enough progress: more lines of it tell nothing new until the next
    /// event.
    pub fn is_settled(&self, sink: &Sink) -> bool {
        self.last.first().is_some_and(|oldest| *oldest > sink.newest_line)
    }

    /// Looks at a line that no grammar reads. Costs nothing until there is something to survive.
    pub fn plain_line(&mut self, number: u64, raw: &[u8], sink: &Sink) {
        if sink.events.is_empty() || !PROGRESS.is_match(raw) {
            return;
        }
        self.last.rotate_left(1);
        if let Some(newest) = self.last.last_mut() {
            *newest = number;
        }
    }

    /// Marks what was followed by progress. Where several ranks print into one artifact without tags, that may have
    /// been a peer's: then nothing is marked that the launcher or the system called fatal later.
    pub fn mark_survivors(&self, sink: &mut Sink) {
        let Some(&oldest) = self.last.first() else { return };
        let mut survivors = HashSet::new();
        for (event, _) in &mut sink.events {
            if last_line(event) < oldest && can_be_survived(&event.what) {
                event.survived = true;
                if let What::PythonException(exception) = &event.what {
                    survivors.extend(exception.thread.clone());
                }
            }
        }
        for thread in &mut sink.threads {
            if survivors.contains(&thread.id) {
                thread.crashed = false;
            }
        }
    }
}

/// Line an event starts on; 0 for one without a place in a text.
pub fn first_line(event: &Event) -> u64 {
    match &event.at {
        Some(Place::Line([first, _])) => *first,
        _ => 0,
    }
}

fn last_line(event: &Event) -> u64 {
    match &event.at {
        Some(Place::Line([_, last])) => *last,
        _ => u64::MAX,
    }
}

fn can_be_survived(what: &What) -> bool {
    match what {
        What::CudaError(error) => !error.sticky,
        What::FatalPythonError(error) => error.signal.is_none() && error.error.starts_with("Timeout"),
        What::PythonException(_)
        | What::CudaOom(_)
        | What::HostOom(_)
        | What::SharedMemory(_)
        | What::NcclWarning(_)
        | What::Rendezvous(_)
        | What::Autograd(_) => true,
        _ => false,
    }
}
