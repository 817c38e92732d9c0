//! Files that hurt whoever reads or compiles them.

use std::fmt::Write as _;

use anyhow::{Context as _, bail};

use crate::{Case, component};

/// Bytes by what they are: a word and, for most, a number.
///
/// - `random N`: N bytes without meaning; `half`: the first half of a good plugin; `native`: what looks like a compiled
///   one;
/// - `big N`: a good plugin and N bytes of nothing;
/// - `fan-out N`: components in components, each instantiated twice by the next, N deep;
/// - `functions N`: a good plugin with N functions; `locals N`: with N functions of very many local variables;
/// - `branches N`: with one function of N branches out of N blocks;
/// - `instances N`: with N more instances of modules; `types N`: with types in types, N deep;
/// - `instance-types N`: with types of instances in types of instances, N deep; `variant N`: with a type of N cases;
/// - `custom N`: a good plugin and N sections that mean nothing.
pub(crate) fn make(what: &str) -> anyhow::Result<Vec<u8>> {
    let (what, number) = what.split_once(' ').unwrap_or((what, "0"));
    let number: usize = number.parse().context("a number")?;
    Ok(match what {
        "random" => random(number),
        "half" => {
            let whole = plugin("")?;
            whole.get(..whole.len() / 2).unwrap_or_default().to_vec()
        }
        "native" => b"\x7fELF\x02\x01\x01\0a compiled plugin of some other host".to_vec(),
        "big" => {
            let mut whole = plugin("")?;
            whole.resize(whole.len() + number, 0);
            whole
        }
        "fan-out" => wat::parse_str(fan_out(number))?,
        "types" => wat::parse_str(types(number))?,
        "functions" => plugin(&"(func)".repeat(number))?,
        "locals" => plugin(&format!("(func (local {}))", "i64 ".repeat(40_000)).repeat(number))?,
        "branches" => plugin(&branches(number))?,
        "instances" => {
            let more_modules = vec!["(module (memory 1) (table 10 funcref))".to_owned(); number];
            component(&Case {
                name: "crowd".to_owned(),
                more_modules,
                ..Case::default()
            })?
        }
        "instance-types" => like_a_plugin(&instance_types(number))?,
        "variant" => {
            let cases: String = (0..number).map(|case| format!("(case \"c{case}\" u64)")).collect();
            like_a_plugin(&format!("(type (variant {cases}))"))?
        }
        "custom" => {
            let mut whole = plugin("")?;
            // Section 0 with a name of one letter, and nothing else.
            whole.extend([0, 2, 1, b'x'].repeat(number));
            whole
        }
        other => bail!("there is nothing called {other:?}"),
    })
}

fn plugin(module: &str) -> anyhow::Result<Vec<u8>> {
    component(&Case {
        name: "bomb".to_owned(),
        module: module.to_owned(),
        ..Case::default()
    })
}

/// A component that has the exports of a plugin by their names, and more.
fn like_a_plugin(more: &str) -> anyhow::Result<Vec<u8>> {
    Ok(wat::parse_str(format!("(component {EXPORTS} {more})"))?)
}

fn instance_types(depth: usize) -> String {
    let mut text = "(type $t0 (instance (export \"a\" (func)) (export \"b\" (func))))".to_owned();
    for level in 1..=depth {
        let _ = write!(
            text,
            "(type $t{level} (instance (alias outer 1 $t{below} (type $t)) (export \"a\" (instance (type $t)))
             (export \"b\" (instance (type $t)))))",
            below = level - 1
        );
    }
    text
}

fn random(count: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_u32;
    let byte = |_| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as u8
    };
    (0..count).map(byte).collect()
}

/// What every component needs to look like a plugin from outside.
const EXPORTS: &str = r#"(core module $m (func (export "f"))) (core instance $i (instantiate $m))
    (func (export "about") (canon lift (core func $i "f"))) (func (export "diagnose") (canon lift (core func $i "f")))"#;

fn fan_out(depth: usize) -> String {
    let mut text = "(component (component $c0 (core module $m (func)) (core instance (instantiate $m)))".to_owned();
    for level in 1..=depth {
        let below = format!("(instance (instantiate $c{}))", level - 1);
        let _ = write!(text, "(component $c{level} {below} {below})");
    }
    let _ = write!(text, "(instance (instantiate $c{depth})) {EXPORTS})");
    text
}

fn types(depth: usize) -> String {
    let mut text = "(component (type $t0 (tuple u8 u8))".to_owned();
    for level in 1..=depth {
        let _ = write!(text, "(type $t{level} (tuple $t{below} $t{below}))", below = level - 1);
    }
    let _ = write!(text, "{EXPORTS})");
    text
}

fn branches(count: usize) -> String {
    let targets: String = (0..count).map(|label| format!("{label} ")).collect();
    let tables = format!("(br_table {targets} (local.get 0))").repeat(count);
    format!(
        "(func (param i32) {} {tables} {})",
        "(block ".repeat(count),
        ")".repeat(count)
    )
}
