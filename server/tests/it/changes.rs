//! Changes of published plugins wait for no compiler but their own.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;
use whycrash_catalog::Catalog;
use whycrash_plugin_host::{Diagnosis, Offered, PluginInfo, Report, Version};
use whycrash_server::pipeline::Diagnose;
use whycrash_server::plugins::{PublishError, Published, Shelves};
use whycrash_server::store::Digest;

use crate::support::PATIENCE;

/// A compiler that takes a text `NAME VERSION` for a plugin, and for some names its time.
#[derive(Debug, Default)]
struct Compiler {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    slow: BTreeSet<String>,
    /// How many it is at that have to wait.
    waiting: usize,
}

impl Compiler {
    fn is_slow_with(&self, names: &[&str]) {
        self.state.lock().unwrap().slow = names.iter().map(|name| (*name).to_owned()).collect();
        self.changed.notify_all();
    }

    fn wait_until_waiting(&self) {
        let state = self.state.lock().unwrap();
        let waited = self
            .changed
            .wait_timeout_while(state, PATIENCE, |state| state.waiting == 0);
        assert!(!waited.unwrap().1.timed_out(), "it compiles nothing");
    }
}

impl Diagnose for Compiler {
    fn conclude(&self, _: &Arc<Report>) -> Diagnosis {
        Diagnosis::default()
    }

    fn version(&self) -> Version {
        Version::default()
    }

    fn plugins(&self) -> Vec<PluginInfo> {
        Vec::new()
    }

    fn catalog(&self) -> Arc<Catalog> {
        Arc::default()
    }

    fn pages(&self) -> String {
        String::new()
    }

    fn look_at(&self, bytes: Vec<u8>) -> Result<Offered, String> {
        let text = String::from_utf8(bytes.clone()).unwrap();
        let (name, version) = text.split_once(' ').unwrap();
        let mut state = self.state.lock().unwrap();
        if state.slow.contains(name) {
            state.waiting += 1;
            self.changed.notify_all();
            state = self
                .changed
                .wait_while(state, |state| state.slow.contains(name))
                .unwrap();
            state.waiting -= 1;
        }
        let info = PluginInfo {
            name: name.to_owned(),
            version: version.to_owned(),
            sha256: Digest::of(&bytes).to_string(),
            ..PluginInfo::default()
        };
        Ok(Offered {
            info,
            bytes,
            extension: "wasm",
        })
    }
}

/// What was published in a folder, with its compiler.
fn published(data: &Path) -> (Arc<Published>, Arc<Compiler>) {
    let compiler = Arc::new(Compiler::default());
    let published = Published::new(Shelves::open(data).unwrap(), Arc::clone(&compiler) as Arc<dyn Diagnose>);
    for plugin in ["slow 1.0.0", "slow 1.1.0", "other 1.0.0"] {
        published.publish(plugin.into()).unwrap();
    }
    (Arc::new(published), compiler)
}

/// What a change ends in that must not wait.
fn at_once<T: Send + 'static>(published: &Arc<Published>, change: impl FnOnce(&Published) -> T + Send + 'static) -> T {
    let (said, heard) = mpsc::channel();
    let published = Arc::clone(published);
    thread::spawn(move || said.send(change(&published)));
    let ended = heard.recv_timeout(Duration::from_secs(20));
    ended.expect("a change waits for the compiler of another")
}

#[test]
fn nothing_waits_for_the_compiler_of_another() {
    type Change = fn(&Published) -> Result<PluginInfo, PublishError>;
    let changes: [(&str, Change, &str); 3] = [
        ("rollback", |published| published.step_back("slow"), "slow 1.0.0"),
        ("enable", |published| published.enable("slow"), "slow 1.1.0"),
        (
            "publish",
            |published| published.publish("slow 2.0.0".into()),
            "slow 2.0.0",
        ),
    ];
    for (what, change, stands) in changes {
        let folder = TempDir::new().unwrap();
        let (published, compiler) = published(folder.path());
        if what == "enable" {
            published.disable("slow").unwrap();
        }
        compiler.is_slow_with(&["slow"]);
        let behind = Arc::clone(&published);
        let slow = thread::spawn(move || change(&behind));
        compiler.wait_until_waiting();
        at_once(&published, |published| published.disable("other")).unwrap();
        at_once(&published, |published| published.enable("other")).unwrap();
        at_once(&published, |published| published.publish("other 1.1.0".into())).unwrap();
        at_once(&published, |published| published.step_back("other")).unwrap();
        at_once(&published, |published| published.remove("other")).unwrap();
        compiler.is_slow_with(&[]);
        slow.join().unwrap().unwrap_or_else(|error| panic!("{what}: {error}"));
        let standing = published.standing("slow", "wasm").unwrap().map(|(_, bytes)| bytes);
        assert_eq!(standing.as_deref(), Some(stands.as_bytes()), "{what}");
    }
}

#[test]
fn who_has_changed_it_meanwhile_has_the_last_word() {
    let changes: [fn(&Published, &str) -> Result<(), PublishError>; 2] = [Published::remove, Published::disable];
    for meanwhile in changes {
        let folder = TempDir::new().unwrap();
        let (published, compiler) = published(folder.path());
        compiler.is_slow_with(&["slow"]);
        let behind = Arc::clone(&published);
        let back = thread::spawn(move || behind.step_back("slow"));
        compiler.wait_until_waiting();
        at_once(&published, move |published| meanwhile(published, "slow")).unwrap();
        compiler.is_slow_with(&[]);
        assert!(matches!(back.join().unwrap(), Err(PublishError::Unknown(..))));
        assert_eq!(published.standing("slow", "wasm").unwrap(), None);
    }
}
