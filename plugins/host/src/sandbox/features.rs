//! What of WebAssembly a plugin may be made of.
//!
//! WebAssembly grows: objects that are collected, threads that wait for each other, exceptions, 64-bit addresses, calls
//! that go on while others run. No language that plugins are written in needs those, none of them was made with a host
//! in mind that does not trust its guest, and what is not there needs no limit. So a plugin is held to this list before
//! it is compiled, and the compiler knows nothing else.

use wasmparser::{Validator, WasmFeatures};

use super::PluginError;

/// WebAssembly 2.0 and, of what came later, what compilers for one linear memory make use of; and components that answer
/// a call before they return from it.
const FEATURES: WasmFeatures = WasmFeatures::WASM2
    .difference(WasmFeatures::GC_TYPES)
    .union(WasmFeatures::EXTENDED_CONST)
    .union(WasmFeatures::MULTI_MEMORY)
    .union(WasmFeatures::RELAXED_SIMD)
    .union(WasmFeatures::TAIL_CALL)
    .union(WasmFeatures::COMPONENT_MODEL);

/// All that plugins may not be made of.
pub(super) fn refused() -> WasmFeatures {
    WasmFeatures::all().difference(FEATURES)
}

/// Checks that these bytes are a valid component, made of what plugins may be made of.
pub(super) fn check(bytes: &[u8]) -> Result<(), PluginError> {
    let Err(error) = Validator::new_with_features(FEATURES).validate_all(bytes) else {
        return Ok(());
    };
    let is_newer = Validator::new_with_features(WasmFeatures::all())
        .validate_all(bytes)
        .is_ok();
    Err(PluginError::Refused(if is_newer {
        format!(
            "it is made of what no plugin may have ({error}): build it for WebAssembly 2.0 without threads, exceptions, \
             garbage collection, 64-bit memory or asynchronous functions"
        )
    } else {
        format!("the file is damaged or invalid: {error}")
    }))
}
