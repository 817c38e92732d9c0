//! The one engine that all plugins share.

use std::time::Duration;

use wasmtime::{Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};
use whycrash_engine::config;

use super::PluginLimits;
use super::parts::{INSTANCES, MEMORIES, TABLE_ELEMENTS, TABLES};

/// Time between two ticks of the epoch: how late a run may be stopped.
pub(super) const TICK: Duration = Duration::from_millis(10);

/// Runs that the pool holds at once; the address space it reserves grows with it.
pub(super) const POOLED_RUNS: u32 = 32;

/// Bytes of a memory that stay with its place in the pool when a run has ended, and are cleared by writing: most
/// plugins need no more, and giving pages back and asking for them again costs a run more than its own work.
const KEPT_PER_MEMORY: usize = 1 << 20;

/// An engine, and the thread that advances its epoch for as long as the engine lives.
///
/// Instances come from a pool where the address space allows for one (containers and `ulimit -v` may not), and are
/// made on demand elsewhere. Compiled code is the same for both.
pub(crate) fn engine(limits: &PluginLimits) -> wasmtime::Result<Engine> {
    let pooled = config().and_then(|mut config| {
        Engine::new(config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(limits))))
    });
    let engine = match pooled {
        Ok(engine) => engine,
        Err(error) => {
            tracing::debug!(%error, "no pool for plugin instances; they are made on demand");
            unpooled()?
        }
    };
    start_ticking(&engine)?;
    Ok(engine)
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
