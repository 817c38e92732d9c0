//! Of how many parts a plugin may be made: what the pool of instances has room for, and the words for what has more.

use wasmparser::{Instance, Parser, Payload};
use wasmtime::component::Component;

use super::PluginError;

/// Core instances, memories and tables of one component. One that was made from an interpreted language has dozens.
pub(super) const INSTANCES: u32 = 64;
pub(super) const MEMORIES: u32 = 4;
pub(super) const TABLES: u32 = 64;
/// Elements of one table.
pub(super) const TABLE_ELEMENTS: usize = 100_000;

/// Refuses a component that makes too many core instances, before it is compiled. What is nested in it counts once,
/// however often it is used: the pool, and the meter of a run, count what becomes of that.
pub(super) fn check_instances(wasm: &[u8]) -> Result<(), PluginError> {
    let count = Parser::new(0)
        .parse_all(wasm)
        .map_while(Result::ok)
        .filter_map(|payload| match payload {
            Payload::InstanceSection(section) => Some(section.into_iter().flatten()),
            _ => None,
        })
        .flatten()
        .filter(|instance| matches!(instance, Instance::Instantiate { .. }))
        .count();
    at_most(count as u64, u64::from(INSTANCES), "core instances")
}

/// Refuses a component whose memories or tables are too many, or begin too large.
pub(super) fn check_resources(component: &Component) -> Result<(), PluginError> {
    // There are none only where modules are imported, which no plugin may.
    let Some(needed) = component.resources_required() else {
        return Ok(());
    };
    at_most(u64::from(needed.num_memories), u64::from(MEMORIES), "memories")?;
    at_most(u64::from(needed.num_tables), u64::from(TABLES), "tables")?;
    match needed.max_initial_table_size {
        Some(elements) if elements > TABLE_ELEMENTS as u64 => Err(PluginError::Refused(large_table(elements))),
        _ => Ok(()),
    }
}

/// What is wrong with a table of this many elements.
pub(super) fn large_table(elements: u64) -> String {
    format!("it asked for a table of {elements} elements, and a table of a plugin may have {TABLE_ELEMENTS}")
}

fn at_most(count: u64, limit: u64, what: &str) -> Result<(), PluginError> {
    if count <= limit {
        return Ok(());
    }
    Err(PluginError::Refused(format!(
        "it has {count} {what}, and a plugin may have {limit}: link its modules into fewer"
    )))
}
