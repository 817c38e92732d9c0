//! From a description to a component.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context as _;
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use crate::Case;
use crate::data::Data;

/// The version of the interface that plugins are made for, unless they say otherwise.
const NEWEST: &str = "1.1.0";

/// Everything that a plugin may import of any version, under names that instructions use.
const IMPORTS: &str = r#"
  (import "$root" "log" (func $log (param i32 i32)))
  (import "$root" "recognise-tables" (func $tables (param i32)))
  (import "whycrash:plugin/evidence@VERSION" "[method]report.artifacts" (func $artifacts (param i32 i32)))
  (import "whycrash:plugin/evidence@VERSION" "[method]report.fact" (func $fact (param i32 i32 i32 i32)))
  (import "whycrash:plugin/evidence@VERSION" "[method]report.lines" (func $lines (param i32 i32 i32 i64 i32 i32)))
  (import "whycrash:plugin/evidence@VERSION" "[method]report.search"
    (func $search (param i32 i32 i32 i32 i32 i32 i32 i32)))
  (import "whycrash:plugin/evidence@VERSION" "[method]report.threads" (func $threads (param i32 i32 i32 i32)))
  (import "whycrash:plugin/evidence@VERSION" "[method]report.frames" (func $frames (param i32 i32 i32 i32 i32)))
  (import "whycrash:plugin/evidence@VERSION" "[method]report.events" (func $events (param i32 i32 i32 i32 i32 i32 i32)))
  (import "whycrash:plugin/evidence@VERSION" "[method]report.memory-snapshots" (func $snapshots (param i32 i32)))
  (import "whycrash:plugin/evidence@VERSION" "[method]report.collectives" (func $collectives (param i32 i32 i32 i32)))
  (import "whycrash:plugin/evidence@VERSION" "[method]report.context" (func $context (param i32 i32 i32 i32)))
  (import "whycrash:plugin/evidence@VERSION" "[resource-drop]report" (func $drop (param i32)))
"#;

/// What came with version 1.1.0.
const LATER_IMPORTS: &str = r#"
  (import "whycrash:plugin/evidence@VERSION" "[method]report.count" (func $count (param i32 i32 i32) (result i32)))
  (import "whycrash:plugin/evidence@VERSION" "[method]report.codes" (func $codes (param i32 i32 i32 i32 i32)))
  (import "whycrash:plugin/evidence@VERSION" "[method]report.modules" (func $modules (param i32 i32 i32 i32)))
  (import "whycrash:plugin/evidence@VERSION" "[method]report.software" (func $software (param i32 i32 i32 i32 i32)))
  (import "whycrash:plugin/evidence@VERSION" "[method]report.gpu-cores" (func $gpu-cores (param i32 i32)))
  (import "whycrash:plugin/evidence@VERSION" "[method]report.gpu-faults" (func $gpu-faults (param i32 i32 i32 i32 i32)))
  (import "whycrash:plugin/evidence@VERSION" "[method]report.gpu-warps" (func $gpu-warps (param i32 i32 i32 i32 i32)))
  (import "whycrash:plugin/evidence@VERSION" "[method]report.memory-summaries" (func $summaries (param i32 i32)))
  (import "whycrash:plugin/evidence@VERSION" "[method]report.failed-request" (func $failed-request (param i32 i32 i32)))
  (import "whycrash:plugin/evidence@VERSION" "[method]report.clusters"
    (func $clusters (param i32 i32 i32 i32 i32 i32)))
  (import "whycrash:plugin/evidence@VERSION" "[method]report.pools" (func $pools (param i32 i32 i32 i32 i32)))
  (import "whycrash:plugin/evidence@VERSION" "[method]report.usage" (func $usage (param i32 i32 i64 i64 i32 i32)))
  (import "whycrash:plugin/evidence@VERSION" "[method]report.blocks" (func $blocks (param i32 i32 i64 i32 i32)))
  (import "whycrash:plugin/evidence@VERSION" "[method]report.trace" (func $trace (param i32 i32 i64 i32 i32)))
  (import "whycrash:plugin/evidence@VERSION" "[method]report.earlier" (func $earlier (param i32 i32 i32 i32)))
  (import "whycrash:plugin/evidence@VERSION" "[method]report.incident" (func $incident (param i32 i32 i32 i32)))
  (import "whycrash:plugin/evidence@VERSION" "[method]report.rank-overview" (func $ranks (param i32 i32)))
  (import "whycrash:plugin/evidence@VERSION" "[method]report.rank-verdicts"
    (func $verdicts (param i32 i32 i32 i32 i32 i32)))
  (import "whycrash:plugin/evidence@VERSION" "[method]report.cause" (func $cause (param i32 i32 i32 i32)))
  (import "whycrash:plugin/evidence@VERSION" "[method]report.recognise-tables" (func $signs (param i32 i32)))
  (import "whycrash:plugin/evidence@VERSION" "[method]report.advise"
    (func $advise (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)))
"#;

/// Memory for what the host returns: taken from the end of what is in use. `$forget` gives all of it back.
const ALLOCATOR: &str = r#"
  (func $forget (global.set $heap (global.get $heap-start)))
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
    (local $at i32) (local $missing i32)
    (local.set $at
      (i32.and
        (i32.add (global.get $heap) (i32.sub (local.get 2) (i32.const 1)))
        (i32.sub (i32.const 0) (local.get 2))))
    (global.set $heap (i32.add (local.get $at) (local.get 3)))
    (local.set $missing (i32.sub (global.get $heap) (i32.mul (memory.size) (i32.const 65536))))
    (if (i32.gt_s (local.get $missing) (i32.const 0))
      (then (drop (memory.grow (i32.add (i32.div_u (local.get $missing) (i32.const 65536)) (i32.const 1))))))
    (local.get $at))
"#;

/// The plugin of a case.
pub fn component(case: &Case) -> anyhow::Result<Vec<u8>> {
    let mut module = wat::parse_str(module(case)).context("its module is no WebAssembly text")?;
    let mut resolve = Resolve::default();
    let interfaces = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins/wit");
    let folder = match version(case) {
        NEWEST => interfaces.join("v1"),
        earlier => interfaces.join("released").join(earlier),
    };
    let (package, _) = resolve.push_dir(&folder)?;
    let world = resolve.select_world(&[package], Some("plugin"))?;
    let encoding = match case.encoding.as_str() {
        "utf16" => StringEncoding::UTF16,
        "latin1+utf16" => StringEncoding::CompactUTF16,
        _ => StringEncoding::UTF8,
    };
    embed_component_metadata(&mut module, &resolve, world, encoding)?;
    let component = ComponentEncoder::default().module(&module)?.validate(false).encode()?;
    case.more_modules.iter().try_fold(component, with_module)
}

fn version(case: &Case) -> &str {
    if case.interface.is_empty() {
        NEWEST
    } else {
        &case.interface
    }
}

/// The imports that a module's other fields use. The host compiles something for each, which takes most of the time that
/// a plugin as small as these needs.
fn imports(case: &Case, fields: &str) -> String {
    let version = version(case);
    let later = if version == NEWEST { LATER_IMPORTS } else { "" };
    let all = [IMPORTS, later].concat().replace("VERSION", version);
    let name = |text: &'_ str| text.split([' ', '(', ')', '\n']).next().map(str::to_owned);
    let names: HashSet<String> = fields.split('$').skip(1).filter_map(name).collect();
    let is_used = |import: &&str| {
        let called = import.split_once("(func $").and_then(|(_, rest)| name(rest));
        called.is_some_and(|called| names.contains(&called))
    };
    let used = all.split_inclusive("))\n").filter(is_used);
    used.collect()
}

fn module(case: &Case) -> String {
    let mut data = Data::default();
    let mut texts = String::new();
    for (number, text) in case.texts.iter().enumerate() {
        let (at, count) = data.text(text);
        let _ = writeln!(
            texts,
            "  (global $t{number} i32 (i32.const {at})) (global $n{number} i32 (i32.const {count}))"
        );
    }
    let (info, diagnosis) = (data.info(case), data.diagnosis(&case.findings));
    let (at, bytes) = data.segment();
    let bytes = bytes.iter().fold(String::new(), |mut text, byte| {
        match byte {
            b' '..=b'~' if !b"\"\\".contains(byte) => text.push(char::from(*byte)),
            _ => _ = write!(text, "\\{byte:02x}"),
        }
        text
    });
    let heap = data.end().next_multiple_of(65536);
    let start = if case.start.is_empty() {
        String::new()
    } else {
        format!("(func $start (local $a i32) {}) (start $start)", case.start)
    };
    let allocator = if case.allocator.is_empty() {
        ALLOCATOR
    } else {
        &case.allocator
    };
    let Case {
        about,
        diagnose,
        module,
        ..
    } = case;
    let fields = format!(
        r#"  (memory (export "memory") {pages})
  (global $heap-start i32 (i32.const {heap})) (global $heap (mut i32) (i32.const {heap}))
{texts}  (data (i32.const {at}) "{bytes}") {allocator} {module} {start}
  (func (export "about") (result i32) (local $a i32) (local $b i32) {about} (i32.const {info}))
  (func (export "diagnose") (param $report i32) (result i32) (local $a i32) (local $b i32)
    {diagnose} (call $drop (local.get $report)) (i32.const {diagnosis}))"#,
        pages = heap / 65536 + 1,
    );
    format!("(module {}{fields})", imports(case, &fields))
}

/// The component with one more core module, and an instance of it, at its end (Component Model, binary format: sections
/// 1 and 2).
fn with_module(mut component: Vec<u8>, text: &String) -> anyhow::Result<Vec<u8>> {
    let module = wat::parse_str(text)?;
    let index = core_modules(&component)?;
    component.push(1);
    leb(&mut component, module.len());
    component.extend(module);
    let mut instance = vec![1, 0];
    leb(&mut instance, index);
    instance.push(0);
    component.push(2);
    leb(&mut component, instance.len());
    component.extend(instance);
    Ok(component)
}

/// How many core modules a component has.
fn core_modules(component: &[u8]) -> anyhow::Result<usize> {
    let (mut rest, mut count) = (component.get(8..).context("it has a header")?, 0);
    while let Some((id, tail)) = rest.split_first() {
        let (length, width) = unleb(tail);
        count += usize::from(*id == 1);
        rest = tail.get(width + length..).context("a section is whole")?;
    }
    Ok(count)
}

fn leb(bytes: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        bytes.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn unleb(bytes: &[u8]) -> (usize, usize) {
    let width = bytes.iter().take_while(|byte| **byte & 0x80 != 0).count() + 1;
    let digits = bytes.iter().take(width).rev();
    (digits.fold(0, |sum, byte| (sum << 7) | usize::from(byte & 0x7f)), width)
}
