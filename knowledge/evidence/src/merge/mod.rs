//! From what each artifact says to what the report says.
//!
//! Ranks and process ids are joined across artifacts, all events get one order, consequences are told from first
//! failures, and the most direct witness says how the process ended.

mod clocks;
mod crash;
mod echo;
mod hang;
mod order;
mod own;
mod places;
mod processes;
mod ranks;
mod sources;
mod standstill;
mod witnesses;

use serde_json::{Map, Value};

use self::clocks::Clocks;
use self::processes::Told;
use crate::Evidence;
use crate::model::Crash;

/// Ends of texts that are kept of a report.
const TEXT_ENDS: usize = 64;

/// Merges what the artifacts of one report say, in the order of the artifacts; `metadata` is what was sent with them.
///
/// Afterwards the crashed threads come first; [`crate::model::Event::event`] numbers the timeline;
/// [`crate::model::Event::primary`] is false for echoes ([`crate::model::Event::echo_of`]), for what was survived and
/// for what befell processes that are not the report's. What ranks did together is judged afterwards
/// ([`crate::judge()`]).
pub fn merge(parts: Vec<Evidence>, metadata: Map<String, Value>) -> Evidence {
    let mut merged = Evidence {
        context: metadata,
        ..Evidence::default()
    };
    let kernel_alone = parts.iter().all(is_of_kernel);
    let mut timelines = Vec::new();
    let mut told = Vec::new();
    for mut part in parts {
        told.push(Told {
            context: std::mem::take(&mut part.context),
            crash: part.crash.take(),
        });
        timelines.push(std::mem::take(&mut part.timeline));
        merged.threads.append(&mut part.threads);
        merged.modules.append(&mut part.modules);
        merged.memory_snapshots.append(&mut part.memory_snapshots);
        merged.memory_curves.append(&mut part.memory_curves);
        merged.memory_details.append(&mut part.memory_details);
        merged.memory_maps.append(&mut part.memory_maps);
        merged.gpu_cores.append(&mut part.gpu_cores);
        merged.recorders.append(&mut part.recorders);
        merged.communicators.append(&mut part.communicators);
        merged.text_ends.append(&mut part.text_ends);
        merged.series.append(&mut part.series);
    }
    merged.text_ends.sort_by_key(|end| end.sign);
    merged.text_ends.truncate(TEXT_ENDS);
    let processes = processes::processes(&told);
    // What was written down on the machine stands above what was sent along, and what was written first above the rest.
    let mut written = Map::new();
    for one in &told {
        processes::add(&mut written, &one.context);
    }
    merged.context.append(&mut written);
    ranks::join(&merged.context, &processes, &mut timelines, &mut merged.threads);
    if processes.len() > 1 {
        merged.processes = processes;
    }
    let crashes: Vec<Crash> = told.into_iter().filter_map(|one| one.crash).collect();
    let clocks = Clocks::of(merged.recorders.iter());
    merged.timeline = order::one_order(timelines, &merged.context, &clocks);
    sources::quote(&mut merged.timeline, &merged.threads);
    standstill::complete(&mut merged.timeline, &merged.threads);
    echo::mark(&mut merged.timeline, &crashes, &merged.threads, kernel_alone);
    crash::silence_echoes(&mut merged);
    merged.crash =
        hang::lead(&mut merged.timeline).or_else(|| crash::most_direct(crashes, &merged.timeline, &merged.threads));
    crash::crashed_first(&mut merged);
    merged
}

/// An artifact in which nobody but the kernel speaks.
fn is_of_kernel(part: &Evidence) -> bool {
    !part.timeline.is_empty() && part.timeline.iter().all(own::is_of_machine)
}
