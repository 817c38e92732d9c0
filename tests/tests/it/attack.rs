//! The attacks of `make attack`, at a size that every change can afford. What they find wrong is a broken promise of
//! the house; how much slower healthy requests become is only measured by `make attack`, where nothing else is running.

use std::time::Duration;

use whycrash_attack::campaign::Plan;
use whycrash_attack::cases::Size;

use crate::house;

fn nothing_is_wrong(only: &[&str]) {
    let plan = Plan {
        binary: house::binary("whycrash-server"),
        size: Size::Bounded,
        only: only.iter().map(ToString::to_string).collect(),
        quiet: Duration::from_secs(1),
        seed: None,
    };
    let report = plan.run().expect("the attack can be made");
    assert!(report.attacks > 0, "there is something to attack with");
    assert!(report.wrong.is_empty(), "{:#?}\n{:#?}", report.wrong, report.measured);
}

#[test]
fn hostile_requests_break_nothing() {
    nothing_is_wrong(&[
        "metadata",
        "JSON bodies",
        "forms",
        "chunks",
        "queries",
        "HTTP itself",
        "addresses",
        "access",
        "symbols",
    ]);
}

#[test]
fn hostile_artifacts_end_as_done() {
    nothing_is_wrong(&["artifacts"]);
}

#[test]
fn clients_that_stall_or_vanish_hold_nothing() {
    nothing_is_wrong(&["stall"]);
}

#[test]
fn a_failing_machine_loses_nothing() {
    nothing_is_wrong(&["disk", "descriptor", "index", "kill", "staging"]);
}

#[test]
fn sudden_ends_lose_nothing() {
    nothing_is_wrong(&["sudden ends"]);
}
