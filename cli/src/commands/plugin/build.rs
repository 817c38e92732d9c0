//! `whycrash plugin build`: a component, and a package, of a project.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use super::faults;
use super::project::{Language, Project};
use super::sources::{self, Sources};
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

/// Builds it, where it is not what its files say.
pub fn execute(args: &Args) -> anyhow::Result<ExitCode> {
    let project = Project::open(&args.folder)?;
    let built = build_what_changed(&project)?;
    let package = project.package();
    fs::write(&package, project.pack()?).with_context(|| format!("can not write {}", package.display()))?;
    let package = package.display();
    output::tell(&Clean::from(match built {
        Built::Anew(time) => format!("built {package} in {:.1} s", time.as_secs_f64()),
        Built::Before => {
            format!("{package} is what the files here make already; without the folder build it is built anew")
        }
    }));
    Ok(ExitCode::SUCCESS)
}

/// How a component came to be what its files say.
#[derive(Clone, Copy, Debug)]
pub enum Built {
    /// The plugin was built now, in so much time.
    Anew(Duration),
    /// Nothing has changed since it was built.
    Before,
}

/// Builds `build/plugin.wasm` if a file that it is built of changed since, or may have.
pub fn build_what_changed(project: &Project) -> anyhow::Result<Built> {
    let list = project.folder.join(sources::LIST);
    let (now, before) = (Sources::of_component(&project.folder)?, Sources::read(&list));
    let why = match before.filter(|_| project.component().is_file()) {
        None => "it is not built yet".to_owned(),
        Some(before) => match now.changed_since(&before) {
            Some(changed) => changed,
            None if project.builds_elsewhere() => "it depends on files outside of this folder".to_owned(),
            None => return Ok(Built::Before),
        },
    };
    output::tell(&Clean::from(format!("building {}: {why}", project.name)));
    let begun = Instant::now();
    build(project).with_context(|| format!("{} can not be built", project.name))?;
    let made_of = now.with_locks_of(&Sources::of_component(&project.folder)?);
    fs::write(&list, made_of.list()).with_context(|| format!("can not write {}", list.display()))?;
    Ok(Built::Anew(begun.elapsed()))
}

/// Builds it with the tools of its language.
fn build(project: &Project) -> anyhow::Result<()> {
    fs::create_dir_all(project.folder.join("build"))?;
    // A build that is broken off leaves nothing that seems to be of these files.
    if let Err(error) = fs::remove_file(project.folder.join(sources::LIST))
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(error.into());
    }
    match project.language {
        Language::Rust => rust(project),
        Language::Python => python(project),
        Language::Js | Language::Ts => js(project),
        Language::C => c(project),
    }
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
    say("componentize-py takes some ten seconds");
    // What it imports of WASI is replaced by stubs: a plugin has none of it.
    let arguments = ["-d", "wit", "-w", "plugin", "componentize", "--stub-wasi"];
    // Projects that were made before there was a library are the component themselves.
    let has_library = project.folder.join("whycrash/component.py").is_file();
    let module = if has_library { "whycrash.component" } else { "app" };
    run_quietly(
        Command::new(tool)
            .args(arguments)
            .args([module, "-o"])
            .arg(project.component())
            .current_dir(&project.folder),
        faults::of_python,
    )
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
        say("installing what requirements.txt names into .venv (once)");
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
    let scripts = project.files_with(&["js", "mjs", "cjs"])?;
    for script in scripts {
        // componentize-js counts what is wrong, and node says where.
        run_quietly(
            Command::new("node")
                .arg("--check")
                .arg(script)
                .current_dir(&project.folder),
            faults::of_js,
        )?;
    }
    say("componentize-js takes some ten seconds");
    run_quietly(
        Command::new("node")
            .arg("build.mjs")
            .arg(project.component())
            .current_dir(&project.folder),
        faults::of_js,
    )
}

/// What its package.json names, once.
pub fn install_node_modules(project: &Project) -> anyhow::Result<()> {
    if !project.folder.join("node_modules").is_dir() {
        say("installing what package.json names into node_modules (once)");
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

/// Tells what takes a while.
fn say(what: &str) {
    output::tell(&Clean::from(what));
}

/// Runs a tool whose own words are told where it fails, and then without those that are about itself.
fn run_quietly(command: &mut Command, fault: fn(&str) -> String) -> anyhow::Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let name = Path::new(&name)
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let output = command
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("can not run {name}: is it installed?"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    output::tell(&Clean::lines(&fault(&String::from_utf8_lossy(&said))));
    bail!("{name} failed ({}); what it said stands above", output.status)
}

/// Runs a tool, whose own words go to standard error.
fn run(command: &mut Command) -> anyhow::Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command
        .env("RUST_BACKTRACE", "0")
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
