//! The host's side of `plugins/wit/v1`, generated.

use wasmtime::component::bindgen;

bindgen!({
    path: "../wit/v1",
    world: "plugin",
    with: { "whycrash:plugin/evidence.report": crate::sandbox::ReportHandle },
    imports: { default: trappable },
});

pub(crate) use self::whycrash::plugin::{evidence, gpu, history, knowledge, memory, ranks, types};
