//! Compiles one plugin, as the command line and the server do in a process of their own: what tests start in their place.

use std::process::ExitCode;

fn main() -> ExitCode {
    whycrash_plugin_host::compile_if_asked().unwrap_or_else(|| {
        eprintln!("compile-plugin: started by a plugin host only; use `whycrash plugin check`");
        ExitCode::FAILURE
    })
}
