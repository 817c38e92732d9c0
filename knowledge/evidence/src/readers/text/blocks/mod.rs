//! Grammars of things that span lines.

mod cpp_stack;
mod faulthandler;
mod rust_panic;
mod traceback;

use super::rules::Rule;

/// Every block's rule.
pub fn rules() -> impl Iterator<Item = Rule> {
    [traceback::RULE, faulthandler::RULE, cpp_stack::RULE, rust_panic::RULE].into_iter()
}
