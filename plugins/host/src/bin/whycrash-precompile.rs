//! Compiles plugin components for the architecture this program was built for: `whycrash-precompile FILE.wasm…` writes
//! `FILE.cwasm` beside each. `plugins/build.sh` calls it, so that the command line starts without compiling anything.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;

fn main() -> anyhow::Result<ExitCode> {
    if let Some(code) = whycrash_plugin_host::compile_if_asked() {
        return Ok(code);
    }
    for path in std::env::args_os().skip(1).map(PathBuf::from) {
        let wasm = fs::read(&path).with_context(|| format!("{} can not be read", path.display()))?;
        let code = whycrash_plugin_host::precompile(&wasm).with_context(|| path.display().to_string())?;
        let compiled = path.with_extension("cwasm");
        // An unchanged file keeps its time, so that nothing that embeds it is built again.
        if fs::read(&compiled).is_ok_and(|old| old == code) {
            continue;
        }
        fs::write(&compiled, code).with_context(|| format!("{} can not be written", compiled.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}
