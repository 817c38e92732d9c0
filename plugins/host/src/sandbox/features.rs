//! What of WebAssembly a plugin may be made of.

use wasmparser::{Validator, WasmFeatures};
use whycrash_engine::FEATURES;

use super::PluginError;

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
