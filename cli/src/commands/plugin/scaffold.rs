//! What `whycrash plugin new` writes: the examples in `plugins/examples/`, and what they need to be built elsewhere.

use super::project::Language;

/// The name that the examples have.
const EXAMPLE: &str = "example-plugin";

/// A file of a new project: its path, and what stands in it.
pub type File = (String, String);

macro_rules! files {
    ($from:literal: $($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../../../", $from, "/", $path)))),*]
    };
}

/// Files by their paths.
pub type Files = &'static [(&'static str, &'static str)];

const SHARED: Files = files!("plugins/examples/shared":
    "causes/example-plugin-licence.md",
    "cases/licence-server-down/case.toml",
    "cases/licence-server-down/train.log",
    "cases/licence-server-down/expected.json",
    "cases/healthy-log/case.toml",
    "cases/healthy-log/train.log",
    "cases/healthy-log/expected.json",
);
const RUST: Files = files!("plugins/examples/rust": "plugin.toml", "Cargo.toml", "src/lib.rs");
const PYTHON: Files = files!("plugins/examples/python": "plugin.toml", "requirements.txt", "pytest.ini", "app.py",
    "tests/test_app.py", "whycrash/__init__.py", "whycrash/answer.py", "whycrash/component.py", "whycrash/interface.py",
    "whycrash/lines.py", "whycrash/native.py", "whycrash/py.typed", "whycrash/report.py", "whycrash/running.py",
    "whycrash/testing.py");
const JS: Files =
    files!("plugins/examples/js": "plugin.toml", "package.json", "build.mjs", "app.js", "test/app.test.mjs");
const TS: Files = files!("plugins/examples/ts": "plugin.toml", "package.json", "tsconfig.json", "build.mjs", "app.ts",
    "test/app.test.ts");
/// The library of both.
const JS_LIBRARY: Files = files!("plugins/examples/js": "whycrash/answer.js", "whycrash/component.js",
    "whycrash/index.d.ts", "whycrash/index.js", "whycrash/interface.d.ts", "whycrash/native.mjs", "whycrash/report.js",
    "whycrash/running.js", "whycrash/testing.d.mts", "whycrash/testing.mjs");
const TS_LIBRARY: Files = files!("plugins/examples/js": "whycrash/typescript.mjs");
const C: Files = files!("plugins/examples/c": "plugin.toml", "requirements.txt", "whycrash.h", "app.c", "Makefile",
    "test/app_test.c", "test/report.h");
/// The interface.
pub const WIT: Files = files!("plugins/wit/v1": "plugin.wit", "types.wit", "evidence.wit", "gpu.wit", "knowledge.wit",
    "history.wit", "memory.wit", "ranks.wit");
const SDK: Files = files!("plugins/sdk/src":
    "lib.rs", "bindings.rs", "cite.rs", "facts/mod.rs", "facts/collectives.rs", "facts/events.rs", "facts/evidence.rs",
    "facts/gpu.rs", "facts/memory.rs", "facts/shared.rs", "finding.rs", "frames.rs", "info.rs", "lines.rs", "mock.rs",
    "mock/fact.rs", "mock/memory.rs", "mock/particulars.rs", "report.rs",
);
const FRAMES: Files = files!("knowledge/frames/src": "lib.rs", "native.rs", "python.rs", "waits.rs");

/// The manifests of what is brought along, which is no part of this project's workspaces there.
const SDK_MANIFEST: &str = r#"[package]
name = "whycrash-plugin"
version = "0.1.0"
edition = "2024"
license = "MIT OR Apache-2.0"
publish = false

[dependencies]
serde = { version = "1", features = ["derive", "rc"] }
serde_json = { version = "1", features = ["float_roundtrip", "preserve_order"] }
whycrash-frames = { path = "../frames" }
wit-bindgen = { version = "0.61.1", default-features = false, features = ["macros", "realloc"] }

[target.'cfg(not(target_family = "wasm"))'.dependencies]
regex = { version = "1", default-features = false, features = ["std", "unicode"] }
"#;
const FRAMES_MANIFEST: &str = r#"[package]
name = "whycrash-frames"
version = "0.1.0"
edition = "2024"
license = "MIT OR Apache-2.0"
publish = false
"#;

/// All files of a new project of this name.
pub fn files(name: &str, language: Language) -> Vec<File> {
    let (own, brought, ignored) = match language {
        Language::Rust => (RUST, sdk(), "build\ntarget\n"),
        Language::Python => (PYTHON, under("wit", WIT), "build\n.venv\n__pycache__\n"),
        Language::Js => (
            JS,
            [under("wit", WIT), at_top(JS_LIBRARY)].concat(),
            "build\nnode_modules\n",
        ),
        Language::Ts => {
            let library = at_top(JS_LIBRARY).into_iter().map(in_typescript);
            let brought = library.chain(at_top(TS_LIBRARY)).chain(under("wit", WIT));
            (TS, brought.collect(), "build\nnode_modules\n")
        }
        Language::C => (C, under("wit", WIT), "build\n.venv\n"),
    };
    let named = own.iter().chain(SHARED).map(|(path, text)| {
        let text = text.replace(EXAMPLE, name).replace("\"../../sdk\"", "\"sdk/plugin\"");
        (path.replace(EXAMPLE, name), text)
    });
    let ignored = (".gitignore".to_owned(), ignored.to_owned());
    named.chain(brought).chain([ignored]).collect()
}

/// A file of the library for plugins in JavaScript, for one in TypeScript.
fn in_typescript((path, text): File) -> File {
    (path, text.replace("'../app.js'", "'../app.ts'"))
}

fn sdk() -> Vec<File> {
    let mut files = under("sdk/plugin/src", SDK);
    files.extend(under("sdk/frames/src", FRAMES));
    files.extend(under("sdk/wit/v1", WIT));
    files.push(("sdk/plugin/Cargo.toml".to_owned(), SDK_MANIFEST.to_owned()));
    files.push(("sdk/frames/Cargo.toml".to_owned(), FRAMES_MANIFEST.to_owned()));
    files
}

fn at_top(files: Files) -> Vec<File> {
    files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
        .collect()
}

fn under(folder: &str, files: Files) -> Vec<File> {
    files
        .iter()
        .map(|(path, text)| (format!("{folder}/{path}"), (*text).to_owned()))
        .collect()
}
