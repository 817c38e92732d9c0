//! `whycrash plugin build`: a component, and a package, of a project.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, bail};

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use super::project::{Language, Project};
use crate::output::{self, Clean};

/// What plugins in Rust are compiled for.
const TARGET: &str = "wasm32-unknown-unknown";

/// Build the plugin in this folder, and its package
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The plugin's folder
    #[arg(default_value = ".", value_name = "FOLDER")]
    folder: PathBuf,
}

/// Builds it.
pub fn execute(args: &Args) -> anyhow::Result<ExitCode> {
    build(&args.folder)?;
    Ok(ExitCode::SUCCESS)
}

/// Builds `build/plugin.wasm`, and of it and the pages `build/NAME.zip`.
pub fn build(folder: &Path) -> anyhow::Result<()> {
    let project = Project::open(folder)?;
    fs::create_dir_all(project.folder.join("build"))?;
    match project.language {
        Language::Rust => rust(&project)?,
        Language::Python => python(&project)?,
        Language::Js | Language::Ts => js(&project)?,
        Language::C => c(&project)?,
    }
    let package = project.package();
    fs::write(&package, project.pack()?).with_context(|| format!("can not write {}", package.display()))?;
    output::tell(&Clean::from(format!("built {}", package.display())));
    Ok(())
}

/// With the toolchain that is here: its own target, or rustup's, or the compiler of Debian and Ubuntu, which builds the
/// target's library from source. The linker that writes components comes with every toolchain of rustup's.
fn rust(project: &Project) -> anyhow::Result<()> {
    let sysroot =
        asked("rustc", &["--print", "sysroot"]).context("Rust is not here: install it from https://rustup.rs")?;
    let version = asked("rustc", &["-vV"])?;
    let host = version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .unwrap_or_default();
    let tools = Path::new(&sysroot).join("lib/rustlib").join(host).join("bin");
    let linker = tools.join("wasm-component-ld");
    if !linker.is_file() {
        bail!(
            "{} has no wasm-component-ld: use a Rust toolchain of rustup's (https://rustup.rs)",
            tools.display()
        );
    }
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--target", TARGET]);
    cargo.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
    cargo.env("PATH", path_with(&[tools.join("gcc-ld"), tools])?);
    if !has_target() && !rustup_adds_it() {
        let compiler = debian_compiler().context(
            "the Rust target wasm32-unknown-unknown is missing: run `rustup target add wasm32-unknown-unknown`, or on \
             Debian and Ubuntu `apt-get install rustc-web rust-web-src`",
        )?;
        cargo.env("RUSTC", compiler).env("RUSTC_BOOTSTRAP", "1");
        // Without what prints backtraces: no plugin has a file to read symbols from.
        cargo.args(["-Z", "build-std=std,panic_abort", "-Z", "build-std-features="]);
    }
    run(cargo.current_dir(&project.folder))?;
    let target = env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let name = project.name.replace('-', "_");
    let release = project.folder.join(target).join(TARGET).join("release");
    let built = release.join(name).with_extension("wasm");
    fs::copy(&built, project.component()).with_context(|| {
        let built = built.display();
        format!(
            "{built} is not there: the package in Cargo.toml must be called {}",
            project.name
        )
    })?;
    Ok(())
}

fn has_target() -> bool {
    let folder = asked("rustc", &["--print", "target-libdir", "--target", TARGET]);
    folder.is_ok_and(|folder| Path::new(&folder).is_dir())
}

/// Lets rustup install the target, where it may.
fn rustup_adds_it() -> bool {
    let may = env::var_os("RUSTUP_AUTO_INSTALL").is_none_or(|value| value != "0");
    may && Command::new("rustup")
        .args(["target", "add", TARGET])
        .status()
        .is_ok_and(|status| status.success())
        && has_target()
}

/// The system's compiler, if the source of its library is here too.
fn debian_compiler() -> Option<&'static str> {
    const COMPILER: &str = "/usr/bin/rustc";
    let sysroot = asked(COMPILER, &["--print", "sysroot"]).ok()?;
    let source = Path::new(&sysroot).join("lib/rustlib/src/rust/library/std/Cargo.toml");
    source.is_file().then_some(COMPILER)
}

/// With componentize-py, in a virtual environment of the project's own.
fn python(project: &Project) -> anyhow::Result<()> {
    let tool = environment(project)?.join("bin/componentize-py");
    // What it imports of WASI is replaced by stubs: a plugin has none of it.
    let arguments = ["-d", "wit", "-w", "plugin", "componentize", "--stub-wasi"];
    // Projects that were made before there was a library are the component themselves.
    let has_library = project.folder.join("whycrash/component.py").is_file();
    let module = if has_library { "whycrash.component" } else { "app" };
    run(Command::new(tool)
        .args(arguments)
        .args([module, "-o"])
        .arg(project.component())
        .current_dir(&project.folder))
}

/// With the C compiler of ziglang, which brings its linker along. A core module comes of it, which is wrapped here.
fn c(project: &Project) -> anyhow::Result<()> {
    let python = environment(project)?.join("bin/python");
    let arguments = [
        "-m",
        "ziglang",
        "cc",
        "--target=wasm32-freestanding",
        "-Os",
        "-nostdlib",
        "-Wl,--no-entry",
    ];
    run(Command::new(python)
        .args(arguments)
        .args(["app.c", "-o", "build/core.wasm"])
        .current_dir(&project.folder))?;
    let mut module = fs::read(project.folder.join("build/core.wasm"))?;
    let mut interface = Resolve::default();
    let (package, _) = interface.push_dir(project.folder.join("wit"))?;
    let world = interface.select_world(&[package], Some("plugin"))?;
    embed_component_metadata(&mut module, &interface, world, StringEncoding::UTF8)?;
    let component = ComponentEncoder::default().module(&module)?.validate(true).encode();
    let component = component.context("what app.c exports does not fit the interface in wit/")?;
    fs::write(project.component(), component)?;
    Ok(())
}

/// A virtual environment of the project's own, with what its requirements.txt names.
fn environment(project: &Project) -> anyhow::Result<PathBuf> {
    let environment = project.folder.join(".venv");
    let ready = environment.join("ready");
    if !ready.is_file() {
        output::tell(&Clean::from("installing what requirements.txt names into .venv (once)"));
        run(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
        let install = [
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "-r",
            "requirements.txt",
        ];
        run(Command::new(environment.join("bin/pip"))
            .args(install)
            .current_dir(&project.folder))?;
        fs::write(&ready, "")?;
    }
    Ok(environment)
}

/// With componentize-js, by the project's own script.
fn js(project: &Project) -> anyhow::Result<()> {
    install_node_modules(project)?;
    run(Command::new("node")
        .arg("build.mjs")
        .arg(project.component())
        .current_dir(&project.folder))
}

/// What its package.json names, once.
pub fn install_node_modules(project: &Project) -> anyhow::Result<()> {
    if !project.folder.join("node_modules").is_dir() {
        output::tell(&Clean::from(
            "installing what package.json names into node_modules (once)",
        ));
        let install = ["install", "--no-fund", "--no-audit", "--loglevel=error"];
        run(Command::new("npm").args(install).current_dir(&project.folder))?;
    }
    Ok(())
}

/// What a program answers on standard output.
fn asked(program: &str, arguments: &[&str]) -> anyhow::Result<String> {
    let output = Command::new(program).args(arguments).output();
    let output = output.with_context(|| format!("can not run {program}"))?;
    if !output.status.success() {
        bail!(
            "{program} {} failed: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Runs a tool, whose own words go to standard error.
fn run(command: &mut Command) -> anyhow::Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command
        .stdout(output::for_tools())
        .status()
        .with_context(|| format!("can not run {name}: is it installed?"))?;
    if !status.success() {
        bail!("{name} failed ({status}); what it said stands above");
    }
    Ok(())
}

fn path_with(first: &[PathBuf]) -> anyhow::Result<OsString> {
    let path = env::var_os("PATH").unwrap_or_default();
    Ok(env::join_paths(first.iter().cloned().chain(env::split_paths(&path)))?)
}
