//! Grammars of things that span lines.

mod compute_sanitizer;
mod cpp_stack;
mod elastic;
mod faulthandler;
mod gpu_coredump;
mod host_sanitizer;
mod nccl_error;
mod py_spy;
mod rich_traceback;
mod rust_panic;
mod traceback;

use super::rules::Rule;

/// Every block's rule.
pub fn rules() -> impl Iterator<Item = Rule> {
    [
        traceback::RULE,
        faulthandler::RULE,
        cpp_stack::RULE,
        rust_panic::RULE,
        nccl_error::RULE,
        elastic::RULE,
        elastic::FAILED_RULE,
        gpu_coredump::RULE,
        compute_sanitizer::RULE,
        host_sanitizer::RULE,
        py_spy::RULE,
        rich_traceback::RULE,
    ]
    .into_iter()
}
