//! How plugins are compiled: the one configuration of the engine that all of them share.
//!
//! It is apart from the host so that the built-in plugins can be compiled before the host is, which embeds them.

mod pack;

pub use pack::{PACKED, pack};

use wasmtime::{Config, Engine, OptLevel, WasmFeatures};

/// What of WebAssembly a plugin may be made of: WebAssembly 2.0 and, of what came later, what compilers for one linear
/// memory make use of; and components that answer a call before they return from it.
///
/// WebAssembly grows: objects that are collected, threads that wait for each other, exceptions, 64-bit addresses, calls
/// that go on while others run. No language that plugins are written in needs those, none of them was made with a host
/// in mind that does not trust its guest, and what is not there needs no limit. So a plugin is held to this list before
/// it is compiled, and the compiler knows nothing else.
pub const FEATURES: WasmFeatures = WasmFeatures::WASM2
    .difference(WasmFeatures::GC_TYPES)
    .union(WasmFeatures::EXTENDED_CONST)
    .union(WasmFeatures::MULTI_MEMORY)
    .union(WasmFeatures::RELAXED_SIMD)
    .union(WasmFeatures::TAIL_CALL)
    .union(WasmFeatures::COMPONENT_MODEL);

/// Bytes of address space that are reserved for one memory, which is what a plugin may use by default: one that grows
/// further moves. With 4 GiB no access would have to be checked, but a limit of address space (`ulimit -v`, which batch
/// systems set to the memory that a job asked for) would let nothing run.
///
/// Every twentieth report of the corpus, both ways in turn, in a development build: plugins take 1.08 times the processor
/// time that they took with 4 GiB, and a diagnosis 1.05 times the time.
pub const RESERVED_PER_MEMORY: u64 = 256 << 20;
/// Bytes behind a memory that are never mapped: accesses that lie no further from a checked address need no check of their
/// own.
const GUARD: u64 = 64 << 10;

/// The configuration; where instances come from is for the host to add, and changes no code.
///
/// # Errors
/// When the compiler does not know this target.
pub fn config() -> wasmtime::Result<Config> {
    let mut config = Config::new();
    // Naming the target, even though it is this machine's, keeps code generation to its baseline instructions: compiled
    // plugins then run on any machine of the architecture, and alike.
    config.target(env!("WHYCRASH_TARGET"))?;
    config.cranelift_opt_level(OptLevel::Speed);
    config.consume_fuel(true);
    config.epoch_interruption(true);
    config.cranelift_nan_canonicalization(true);
    config.relaxed_simd_deterministic(true);
    config.memory_reservation(RESERVED_PER_MEMORY);
    config.memory_reservation_for_growth(RESERVED_PER_MEMORY);
    config.memory_guard_size(GUARD);
    config.guard_before_linear_memory(false);
    Ok(config)
}

/// The native code of a component, for an engine of this configuration on every machine of this architecture.
///
/// # Errors
/// When it is no component that is made of [`FEATURES`].
pub fn precompile(wasm: &[u8]) -> wasmtime::Result<Vec<u8>> {
    engine()?.precompile_component(wasm)
}

/// One that compiles and runs nothing.
fn engine() -> wasmtime::Result<Engine> {
    let mut config = config()?;
    config.wasm_features(WasmFeatures::all().difference(FEATURES), false);
    Engine::new(&config)
}
