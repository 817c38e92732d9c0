//! Names as people write them.

use cpp_demangle::DemangleOptions;

/// Longest mangled name that is demangled; the demangler's work grows with it.
const MAX_MANGLED: usize = 64 << 10;

/// Demangles a symbol as debuggers show one: C++ with its parameters, Rust without its hash. What is not mangled stays.
pub(crate) fn demangle(symbol: &str) -> String {
    if symbol.len() > MAX_MANGLED {
        return symbol.to_owned();
    }
    if let Ok(name) = rustc_demangle::try_demangle(symbol) {
        return format!("{name:#}");
    }
    demangle_cpp(symbol, &DemangleOptions::new()).unwrap_or_else(|| symbol.to_owned())
}

/// Qualified name of a C++ function by its linkage name, without parameters and return type.
pub(crate) fn demangle_function(linkage_name: &str) -> Option<String> {
    if linkage_name.len() > MAX_MANGLED {
        return None;
    }
    demangle_cpp(linkage_name, &DemangleOptions::new().no_params().no_return_type())
}

fn demangle_cpp(symbol: &str, options: &DemangleOptions) -> Option<String> {
    if !symbol.starts_with("_Z") {
        return None;
    }
    cpp_demangle::Symbol::new(symbol)
        .ok()?
        .demangle_with_options(options)
        .ok()
}
