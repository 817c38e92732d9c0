//! What a file must be before it is compiled.
//!
//! The compiler is not hardened against hostile input the way that execution is, so everything about a file that can be
//! told by validating it is told first, in words that its author can act on.

use wasmparser::{ComponentExternalKind, ComponentTypeRef, Encoding, Parser, Payload};

use super::{PluginError, PluginLimits, features, parts};

/// The namespace of everything a component may import.
const PACKAGE: &str = "whycrash:plugin/";
/// The version of the interface that this host serves, and with it the earlier ones: it only grows.
pub(super) const VERSION: (u64, u64, u64) = (1, 1, 0);
/// Its parts that are interfaces.
const INTERFACES: [&str; 7] = ["types", "evidence", "gpu", "history", "knowledge", "memory", "ranks"];
/// The functions it may import.
const FUNCTIONS: [&str; 2] = ["log", "recognise-tables"];
/// What it must export.
const EXPORTS: [&str; 2] = ["about", "diagnose"];

/// Checks that these bytes are a valid component that imports nothing but the plugin interface and exports what a
/// plugin must.
pub(crate) fn inspect(bytes: &[u8], limits: &PluginLimits) -> Result<(), PluginError> {
    check_size(bytes.len() as u64, limits)?;
    if !Parser::is_component(bytes) {
        let what = if Parser::is_core_wasm(bytes) {
            "a core WebAssembly module, not a component; build it for the component model, as the plugin SDK does"
        } else {
            "no WebAssembly component"
        };
        return Err(PluginError::Refused(format!("the file is {what}")));
    }
    // All bytes first: nothing of a file that is broken further down is looked at.
    features::check(bytes)?;
    parts::check_instances(bytes)?;
    check_outermost(bytes)
}

/// What a component imports, as far as it can be told.
pub(crate) fn imports(bytes: &[u8]) -> Vec<String> {
    let (mut imports, mut depth) = (Vec::new(), 0_usize);
    for payload in Parser::new(0).parse_all(bytes).map_while(Result::ok) {
        match payload {
            Payload::Version { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 1 => {
                let functions = section.into_iter().flatten();
                let named = functions.filter(|import| !matches!(import.ty, ComponentTypeRef::Type(_)));
                imports.extend(named.map(|import| import.name.name.to_owned()));
            }
            _ => {}
        }
    }
    imports
}

/// Refuses a component that is too big.
pub(crate) fn check_size(bytes: u64, limits: &PluginLimits) -> Result<(), PluginError> {
    if bytes <= limits.component_bytes as u64 {
        return Ok(());
    }
    Err(PluginError::Refused(format!(
        "the file has {bytes} bytes, more than the {} that are allowed",
        limits.component_bytes
    )))
}

/// Checks imports and exports of the outermost component; what is nested in it can only use what that hands down.
fn check_outermost(bytes: &[u8]) -> Result<(), PluginError> {
    let mut missing = EXPORTS.to_vec();
    let mut depth = 0_usize;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.map_err(|error| PluginError::Refused(format!("the file is damaged: {error}")))? {
            Payload::Version {
                encoding: Encoding::Component | Encoding::Module,
                ..
            } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 1 => {
                for import in section.into_iter().flatten() {
                    check_import(import.name.name, import.ty)?;
                }
            }
            Payload::ComponentExportSection(section) if depth == 1 => {
                for export in section.into_iter().flatten() {
                    if export.kind == ComponentExternalKind::Func {
                        missing.retain(|name| *name != export.name.name);
                    }
                }
            }
            _ => {}
        }
    }
    match missing.first() {
        None => Ok(()),
        Some(name) => Err(PluginError::Refused(format!(
            "it does not export `{name}`: a plugin exports `about` and `diagnose` of {PACKAGE}plugin@{}",
            version()
        ))),
    }
}

fn check_import(name: &str, kind: ComponentTypeRef) -> Result<(), PluginError> {
    let allowed = match kind {
        ComponentTypeRef::Func(_) => FUNCTIONS.contains(&name),
        ComponentTypeRef::Instance(_) => name.strip_prefix(PACKAGE).is_some_and(is_served),
        // A type that the world itself names.
        ComponentTypeRef::Type(_) => true,
        _ => false,
    };
    if allowed {
        return Ok(());
    }
    let advice = if name.starts_with("wasi:") {
        "plugins run without files, clock, network or environment: build for a target without WASI".to_owned()
    } else if name.starts_with(PACKAGE) {
        let version = version();
        format!(
            "this host serves version {version} of the plugin interface, and those before it: build for one of them"
        )
    } else {
        "a plugin may import the plugin interface alone".to_owned()
    };
    Err(PluginError::Refused(format!(
        "it imports `{name}`, which no plugin may have; {advice}"
    )))
}

/// Whether this is an interface of the package, of a version that is served: `memory@1.1.0`.
fn is_served(interface: &str) -> bool {
    let Some((name, version)) = interface.split_once('@') else {
        return false;
    };
    let numbers: Option<Vec<u64>> = version.split('.').map(|part| part.parse().ok()).collect();
    let (major, minor, patch) = VERSION;
    let is_earlier = matches!(numbers.as_deref(), Some([of, rest @ ..]) if *of == major && *rest <= [minor, patch][..]);
    INTERFACES.contains(&name) && is_earlier && version.split('.').count() == 3
}

fn version() -> String {
    let (major, minor, patch) = VERSION;
    format!("{major}.{minor}.{patch}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_that_was_released_is_served_and_none_that_was_not() {
        for interface in ["types@1.0.0", "evidence@1.0.0", "evidence@1.1.0", "memory@1.1.0"] {
            assert!(is_served(interface), "{interface}");
        }
        for interface in [
            "evidence",
            "evidence@",
            "evidence@1",
            "evidence@1.1",
            "evidence@1.1.1",
            "evidence@1.2.0",
            "evidence@2.0.0",
            "evidence@0.9.0",
            "evidence@1.0.0-rc.1",
            "evidence@1.0.0.0",
            "files@1.0.0",
            "evidence/x@1.0.0",
        ] {
            assert!(!is_served(interface), "{interface}");
        }
    }
}
