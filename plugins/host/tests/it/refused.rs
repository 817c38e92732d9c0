//! Files that are no plugins: refused with words before anything of them runs, and no hindrance to those that are.

use whycrash_plugin_host::{Outcome, PluginLimits, precompile};

use crate::support::{COMPILER, component, diagnose, diagnoser, plugin_folder, small};

#[test]
fn what_is_no_plugin_is_refused_with_words() {
    let good = small();
    let (half, _) = good.split_at(good.len() / 2);
    let code = precompile(&good).unwrap();
    let folder = plugin_folder(&[
        ("core-module.wasm", b"\0asm\x01\0\0\0"),
        ("empty.wasm", b""),
        ("empty-component.wasm", b"\0asm\x0d\0\x01\0"),
        ("garbage.wasm", b"MZ this is not WebAssembly at all"),
        ("good.wasm", &good),
        ("native-code.wasm", &code),
        ("truncated.wasm", half),
        ("undeclared-import.wasm", &component("hostile/undeclared-import")),
    ]);
    let diagnoser = diagnoser(folder.path(), PluginLimits::default());
    let listed: Vec<String> = diagnoser
        .plugins()
        .into_iter()
        .filter(|plugin| plugin.source != "built-in")
        .map(|plugin| {
            let problem = plugin.problem.unwrap_or_else(|| "usable".to_owned());
            // Where a damaged file ends depends on the compiler that made it.
            let problem = problem.split(" (at offset").next().unwrap_or_default();
            format!("{}: {problem}", plugin.name)
        })
        .collect();
    insta::assert_snapshot!(listed.join("\n"));

    let document = diagnose(&diagnoser, "");
    assert_eq!(
        document.findings[0].cause, "dl-worker-oom-killed",
        "the built-in ones run"
    );
    let failed = document
        .plugins
        .iter()
        .filter(|row| row.outcome == Outcome::Failed && row.reason.is_some())
        .count();
    assert_eq!(failed, 7, "each of the others is a failed row: {:?}", document.plugins);
}

#[test]
fn a_damaged_component_never_takes_the_host_down() {
    let good = component("hostile/undeclared-import");
    for step in 0..16 {
        let mut bytes = good.clone();
        let at = step * bytes.len() / 16;
        bytes[at] ^= 0x55;
        // Either refused, or harmless: a byte of its data may be any byte.
        let _ = precompile(&bytes);
    }
}

#[test]
fn a_component_that_is_too_big_is_refused() {
    let folder = plugin_folder(&[("big.wasm", &component("dataloader-worker"))]);
    let limits = PluginLimits {
        component_bytes: 1000,
        ..PluginLimits::default()
    };
    let plugins = diagnoser(folder.path(), limits).plugins();
    let problem = plugins.iter().find_map(|plugin| plugin.problem.clone()).unwrap();
    assert!(problem.contains("more than the 1000 that are allowed"), "{problem}");
}

#[test]
fn compiled_code_that_was_damaged_is_compiled_anew() {
    let cache = tempfile::tempdir().unwrap();
    let folder = plugin_folder(&[("good.wasm", &small())]);
    let load = || {
        let settings = whycrash_plugin_host::Settings {
            plugin_folders: vec![folder.path().to_owned()],
            cache: Some(cache.path().to_owned()),
            compiler: Some(COMPILER.into()),
            ..Default::default()
        };
        let diagnoser = whycrash_plugin_host::Diagnoser::new(settings).unwrap();
        diagnoser.wait_for_plugins();
        diagnoser.plugins()
    };
    let first = load();
    let kept: Vec<_> = std::fs::read_dir(cache.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "cwasm"))
        .collect();
    assert_eq!(kept.len(), 1, "one component, one file");
    let mut code = std::fs::read(&kept[0]).unwrap();
    code.truncate(code.len() / 2);
    // Another file: the first may still be mapped.
    std::fs::remove_file(&kept[0]).unwrap();
    std::fs::write(&kept[0], code).unwrap();
    // What programs were writing that were killed, long ago and just now.
    let [old, new] = [".tmpOld", ".tmpNew"].map(|name| cache.path().join(name));
    std::fs::write(&new, "half of it").unwrap();
    let before = std::time::SystemTime::now() - std::time::Duration::from_secs(48 * 60 * 60);
    std::fs::File::create(&old).unwrap().set_modified(before).unwrap();
    assert_eq!(load(), first);
    assert!(!old.exists() && new.exists());
}
