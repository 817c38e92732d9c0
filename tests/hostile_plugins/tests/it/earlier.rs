//! Plugins that were made for an earlier version of the interface.

use whycrash_hostile_plugins::{Case, Claim, Info, Place};
use whycrash_plugin_host::Outcome;

use crate::support::{CAUSE, LOG, diagnose, diagnoser, folder, limits};

/// A plugin that finds something, made for a version of the interface.
fn made_for(interface: &str) -> Case {
    let place = Place {
        line: Some([6, 6]),
        quote: "killed by signal: Killed".to_owned(),
        ..Place::default()
    };
    Case {
        name: format!("made-for-{}", interface.replace('.', "-")),
        interface: interface.to_owned(),
        info: Info {
            causes: vec![CAUSE.to_owned()],
            ..Info::default()
        },
        texts: vec!["DataLoader".to_owned()],
        diagnose: "(call $search (local.get $report) (i32.const 0) (i32.const 0) (i32.const 0) (global.get $t0) \
                   (global.get $n0) (i32.const 1) (i32.const 16)) \
                   (if (i32.ne (i32.load (i32.const 24)) (i32.const 1)) (then unreachable))"
            .to_owned(),
        findings: vec![Claim {
            cause: CAUSE.to_owned(),
            cites: vec![place],
            ..Claim::default()
        }],
        ..Case::default()
    }
}

#[test]
fn a_plugin_made_for_an_earlier_interface_says_what_it_always_said() {
    let cases = ["1.0.0", "1.1.0"].map(made_for);
    let diagnoser = diagnoser(folder(&cases).path(), limits());
    let document = diagnose(&diagnoser, LOG);
    for case in &cases {
        let row = document.plugins.iter().find(|row| row.name == case.name);
        let row = row.unwrap_or_else(|| panic!("{} has no row", case.name));
        assert_eq!((row.outcome, &row.reason), (Outcome::Ok, &None), "{}", case.name);
    }
    let plugins = diagnoser.plugins();
    let imports = |name: &str| {
        plugins
            .iter()
            .find(|plugin| plugin.name == name)
            .map(|plugin| plugin.imports.clone())
    };
    let of_first = imports("made-for-1-0-0").expect("it is listed");
    assert!(
        of_first.iter().any(|import| import.ends_with("evidence@1.0.0")),
        "{of_first:?}"
    );
}
