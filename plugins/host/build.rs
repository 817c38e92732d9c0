//! Embeds the built-in plugins that `plugins/build.sh` left in `plugins/builtin/dist`, if it was run, as
//! `pack-plugins` packed them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let dist = Path::new("../builtin/dist");
    println!("cargo::rerun-if-changed=build.rs");
    // A folder that is not there yet has its parent watched, so that its coming is noticed.
    let watched = if dist.is_dir() { dist } else { Path::new("../builtin") };
    println!("cargo::rerun-if-changed={}", watched.display());

    let mut table = String::from("&[\n");
    for wasm in components(dist)? {
        let wasm = fs::canonicalize(wasm)?;
        let packed = ["wasm.zst", "cwasm.zst"].map(|extension| wasm.with_extension(extension));
        for file in &packed {
            println!("cargo::rerun-if-changed={}", file.display());
        }
        let [component, code] = &packed;
        if component.is_file() && code.is_file() {
            let _ = writeln!(
                table,
                "    Builtin {{ component: include_bytes!({:?}), code: include_bytes!({:?}) }},",
                component.as_os_str(),
                code.as_os_str()
            );
        } else {
            println!(
                "cargo::warning={} is not packed and so not built in: run plugins/build.sh",
                wasm.display()
            );
        }
    }
    table.push(']');
    let out = PathBuf::from(env::var("OUT_DIR").unwrap_or_default());
    fs::write(out.join("builtin.rs"), table)
}

/// Component files in a folder, in an order that does not depend on the file system.
fn components(folder: &Path) -> io::Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut found: Vec<PathBuf> = fs::read_dir(folder)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    found.retain(|path| path.extension().is_some_and(|extension| extension == "wasm"));
    found.sort();
    Ok(found)
}
