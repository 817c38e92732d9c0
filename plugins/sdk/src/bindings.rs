//! The plugin's side of `plugins/wit/v1`, generated.
#![allow(
    missing_docs,
    missing_debug_implementations,
    clippy::pedantic,
    reason = "generated; documented in the interface itself"
)]

wit_bindgen::generate!({
    path: "../wit/v1",
    world: "plugin",
    pub_export_macro: true,
    default_bindings_module: "whycrash_plugin::bindings",
    runtime_path: "::whycrash_plugin::runtime",
    additional_derives: [Clone, PartialEq],
});
