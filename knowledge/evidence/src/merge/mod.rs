//! From what each artifact says to what the report says.
//!
//! Ranks and process ids are joined across artifacts, all events get one order, consequences are told from first
//! failures, and the most direct witness says how the process ended.

mod clocks;
mod crash;
mod echo;
mod order;
mod places;
mod ranks;
mod witnesses;

use serde_json::{Map, Value};

use self::clocks::Clocks;
use crate::Evidence;
use crate::readers::flight_recorder::match_ranks;

/// Merges what the artifacts of one report say, in the order of the artifacts; `metadata` is what was sent with them.
///
/// Afterwards the crashed threads come first; [`crate::model::Event::event`] numbers the timeline;
/// [`crate::model::Event::primary`] is false for echoes ([`crate::model::Event::echo_of`]), for what was survived and
/// for what befell processes that are not the report's.
pub fn merge(parts: Vec<Evidence>, metadata: Map<String, Value>) -> Evidence {
    let mut merged = Evidence {
        context: metadata,
        ..Evidence::default()
    };
    let mut timelines = Vec::new();
    let mut crashes = Vec::new();
    let mut recorders = Vec::new();
    for mut part in parts {
        merged.context.append(&mut part.context);
        crashes.extend(part.crash.take());
        timelines.push(std::mem::take(&mut part.timeline));
        merged.threads.append(&mut part.threads);
        merged.modules.append(&mut part.modules);
        merged.memory_snapshots.append(&mut part.memory_snapshots);
        merged.memory_curves.append(&mut part.memory_curves);
        merged.gpu_cores.append(&mut part.gpu_cores);
        recorders.extend(part.collectives.take().into_iter().flat_map(|part| part.recorders));
    }
    // One rank's recorder says little: verdicts are made of all of them together.
    merged.collectives = (!recorders.is_empty()).then(|| match_ranks(recorders));
    ranks::join(&merged.context, &mut timelines, &mut merged.threads);
    let recorders = merged.collectives.iter().flat_map(|collectives| &collectives.recorders);
    let clocks = Clocks::of(recorders);
    merged.timeline = order::one_order(timelines, &merged.context, &clocks);
    echo::mark(&mut merged.timeline, &crashes, &merged.threads);
    crash::silence_echoes(&mut merged);
    merged.crash = crash::most_direct(crashes, &merged.timeline, &merged.threads);
    crash::crashed_first(&mut merged);
    merged
}
