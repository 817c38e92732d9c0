//! The one engine that all plugins share.

use std::time::Duration;

use rustix::process::Resource;
use wasmtime::{Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};
use whycrash_engine::{RESERVED_PER_MEMORY, config};

use super::PluginLimits;
use super::parts::{INSTANCES, MEMORIES, TABLE_ELEMENTS, TABLES};

/// Time between two ticks of the epoch: how late a run may be stopped.
pub(super) const TICK: Duration = Duration::from_millis(10);

/// Runs that the pool holds at once; the address space it reserves grows with it.
const POOLED_RUNS: u32 = 32;

/// Bytes of a memory that stay with its place in the pool when a run has ended, and are cleared by writing: most
/// plugins need no more, and giving pages back and asking for them again costs a run more than its own work.
const KEPT_PER_MEMORY: usize = 1 << 20;

/// An engine, how many runs there may be in it at once, and the thread that advances its epoch for as long as it lives.
///
/// Instances come from a pool where the address space allows for one (`ulimit -v` may not), and are made on demand
/// elsewhere, no more at once than there is room for. Compiled code is the same for both.
pub(crate) fn engine(limits: &PluginLimits) -> wasmtime::Result<(Engine, u32)> {
    let (engine, runs) = match pooled(limits) {
        Ok(engine) => (engine, POOLED_RUNS),
        Err(error) => {
            tracing::debug!(%error, "no pool for plugin instances; they are made on demand");
            (unpooled()?, runs_within(address_space()))
        }
    };
    start_ticking(&engine)?;
    Ok((engine, runs))
}

/// How many runs may be going on in so much address space, none for any: a quarter of it is theirs, the rest is for what
/// they read.
fn runs_within(address_space: Option<u64>) -> u32 {
    let runs = address_space.map_or(u64::MAX, |bytes| bytes / 4 / RESERVED_PER_MEMORY);
    u32::try_from(runs).unwrap_or(u32::MAX).clamp(1, POOLED_RUNS)
}

/// Bytes of address space that this process may have; none where nobody limits that.
fn address_space() -> Option<u64> {
    rustix::process::getrlimit(Resource::As).current
}

/// An engine whose instances come from a pool.
fn pooled(limits: &PluginLimits) -> wasmtime::Result<Engine> {
    let mut config = config()?;
    Engine::new(config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(limits))))
}

/// An engine that makes instances on demand, so that it loads whatever compiles.
pub(super) fn unpooled() -> wasmtime::Result<Engine> {
    Engine::new(&config()?)
}

/// A pool with room for as many runs of a component that has all the parts it may have as it holds runs: none can take
/// another's place.
fn pool(limits: &PluginLimits) -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(POOLED_RUNS)
        .total_core_instances(POOLED_RUNS * INSTANCES)
        .total_memories(POOLED_RUNS * MEMORIES)
        .total_tables(POOLED_RUNS * TABLES)
        .max_core_instances_per_component(INSTANCES)
        .max_memories_per_component(MEMORIES)
        .max_tables_per_component(TABLES)
        .max_component_instance_size(10 << 20)
        .table_elements(TABLE_ELEMENTS)
        .max_memory_size(limits.memory)
        .linear_memory_keep_resident(KEPT_PER_MEMORY)
        .pagemap_scan(Enabled::Auto);
    pool
}

/// Starts the thread that advances the engine's epoch, without which no wall-time limit would ever be reached. It ends
/// by itself once the engine is gone.
fn start_ticking(engine: &Engine) -> wasmtime::Result<()> {
    let engine = engine.weak();
    std::thread::Builder::new()
        .name("plugin-epoch".to_owned())
        .spawn(move || {
            while let Some(engine) = engine.upgrade() {
                engine.increment_epoch();
                drop(engine);
                std::thread::sleep(TICK);
            }
        })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_come_from_a_pool_where_address_space_is_not_limited() {
        let limited = address_space().is_some();
        assert!(limited || pooled(&PluginLimits::default()).is_ok());
    }

    #[test]
    fn so_many_runs_go_on_at_once_as_leave_room_for_what_they_read() {
        for (address_space, runs) in [
            (Some(100 << 20), 1),
            (Some(1500 << 20), 1),
            (Some(3 << 30), 3),
            (Some(1 << 40), POOLED_RUNS),
            (None, POOLED_RUNS),
        ] {
            assert_eq!(runs_within(address_space), runs, "{address_space:?}");
        }
    }
}
