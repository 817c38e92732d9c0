//! Names as people write them.

use cpp_demangle::DemangleOptions;

/// Longest mangled name that is demangled; the demangler's work grows with it.
const MAX_MANGLED: usize = 64 << 10;
/// Longest name written: substitutions let a few hundred bytes stand for gigabytes.
const MAX_DEMANGLED: usize = 64 << 10;

/// Demangles a symbol as debuggers show one: C++ with its parameters, Rust without its hash. What is not mangled stays.
pub fn demangle(symbol: &str) -> String {
    if symbol.len() > MAX_MANGLED {
        return symbol.to_owned();
    }
    if let Ok(name) = rustc_demangle::try_demangle(symbol) {
        return format!("{name:#}");
    }
    demangle_cpp(symbol).unwrap_or_else(|| symbol.to_owned())
}

/// Qualified name of a C++ function by its linkage name, without parameters and return type.
pub(crate) fn demangle_function(linkage_name: &str) -> Option<String> {
    let name = demangle_with(linkage_name, DemangleOptions::new().no_return_type())?;
    Some(without_parameters(&name).to_owned())
}

/// The name with the return type that template functions carry in theirs. Functions within functions carry it too,
/// but nobody writes it there.
fn demangle_cpp(symbol: &str) -> Option<String> {
    let plain = demangle_with(symbol, DemangleOptions::new().no_return_type())?;
    let typed = demangle_with(symbol, DemangleOptions::new())?;
    let first_part = plain
        .find(['<', '('])
        .and_then(|end| plain.get(..end))
        .filter(|part| !part.is_empty());
    let return_type = first_part
        .and_then(|part| typed.get(..typed.find(part)?))
        .filter(|found| found.ends_with(' '));
    Some(format!("{}{plain}", return_type.unwrap_or_default()))
}

fn demangle_with(symbol: &str, options: DemangleOptions) -> Option<String> {
    if !symbol.starts_with("_Z") || symbol.len() > MAX_MANGLED {
        return None;
    }
    let symbol = cpp_demangle::Symbol::new(symbol).ok()?;
    let mut name = Bounded(String::new());
    symbol.structured_demangle(&mut name, &options).ok()?;
    Some(in_gnu_style(&name.0))
}

/// A text that refuses to grow beyond [`MAX_DEMANGLED`].
struct Bounded(String);

impl std::fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        if self.0.len() + text.len() > MAX_DEMANGLED {
            return Err(std::fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

/// Rewrites what the GNU tools write otherwise: literals (`0ul` for `(unsigned long)0`), empty packs, and the space
/// before the parameters of a function type.
fn in_gnu_style(name: &str) -> String {
    const LITERALS: [(&str, &str); 6] = [
        ("(unsigned long)", "ul"),
        ("(long)", "l"),
        ("(unsigned int)", "u"),
        ("(int)", ""),
        ("(unsigned long long)", "ull"),
        ("(long long)", "ll"),
    ];
    let mut name = name.replace(", >", ">");
    for (cast, suffix) in LITERALS {
        name = suffix_literals(&name, cast, suffix);
    }
    space_function_types(&name.replace("(bool)1", "true").replace("(bool)0", "false"))
}

/// Name of a function without a linkage name, as its compiler wrote it, in the common style. One with a lambda in it
/// stays: debuggers can not take it apart, and people will look for what these show.
pub(crate) fn in_common_style(name: &str) -> String {
    const TYPES: [(&str, &str); 6] = [
        ("long long unsigned int", "unsigned long long"),
        ("long unsigned int", "unsigned long"),
        ("short unsigned int", "unsigned short"),
        ("long long int", "long long"),
        ("long int", "long"),
        ("short int", "short"),
    ];
    if name.contains("<lambda") {
        return name.to_owned();
    }
    let mut name = name.to_owned();
    for (written, common) in TYPES {
        if name.contains(written) {
            name = name.replace(written, common);
        }
    }
    space_function_types(&name)
}

/// `f<int(char)>` as `f<int (char)>`: the parameters of a function type, not those of a function.
fn space_function_types(name: &str) -> String {
    let mut spaced = String::with_capacity(name.len());
    let mut rest = name;
    let mut angles = 0_usize;
    while let Some(index) = rest.find(['<', '>', '(']) {
        let (before, from) = rest.split_at(index);
        spaced.push_str(before);
        let mut characters = from.chars();
        match characters.next() {
            Some('<') => angles += 1,
            Some('>') => angles = angles.saturating_sub(1),
            _ if angles > 0 && is_function_type(&spaced, from) => {
                // The address of a function is written without its parameters.
                if argument(&spaced).starts_with('&') {
                    rest = from.get(parameters_len(from)..).unwrap_or_default();
                    continue;
                }
                spaced.push(' ');
            }
            _ => {}
        }
        let (bracket, after) = from.split_at(1);
        spaced.push_str(bracket);
        rest = after;
    }
    spaced.push_str(rest);
    spaced
}

/// Whether the parenthesis that `from` starts with holds the parameters of a function type that ends in `before`.
fn is_function_type(before: &str, from: &str) -> bool {
    let follows_type =
        before.ends_with(|last: char| last.is_ascii_alphanumeric() || matches!(last, '_' | '>' | '*' | '&'));
    let is_word = ["lambda", "decltype", "operator"]
        .iter()
        .any(|word| before.ends_with(word));
    let after = from.get(parameters_len(from)..).unwrap_or_default();
    follows_type && !is_word && after.starts_with(['>', ',', '&', '*'])
}

/// Length of the parenthesized text at the start of `from`.
fn parameters_len(from: &str) -> usize {
    let mut depth = 0_usize;
    let end = from.bytes().position(|byte| {
        depth = match byte {
            b'(' => depth + 1,
            b')' => depth.saturating_sub(1),
            _ => depth,
        };
        depth == 0
    });
    end.map_or(from.len(), |end| end + 1)
}

/// The template argument that `before` ends in.
fn argument(before: &str) -> &str {
    let mut depth = 0_usize;
    let start = before.bytes().rposition(|byte| {
        match byte {
            b'>' | b')' => depth += 1,
            b'<' | b'(' | b',' if depth == 0 => return true,
            b'<' | b'(' => depth -= 1,
            _ => {}
        }
        false
    });
    start
        .and_then(|start| before.get(start + 1..))
        .unwrap_or(before)
        .trim_start()
}

/// `(long)5` as `5l`.
fn suffix_literals(name: &str, cast: &str, suffix: &str) -> String {
    let mut parts = name.split(cast);
    let mut written = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part
            .find(|character: char| !character.is_ascii_digit() && character != '-')
            .unwrap_or(part.len());
        let (number, rest) = part.split_at(digits);
        if number.is_empty() {
            written.push_str(cast);
            written.push_str(rest);
        } else {
            written.extend([number, suffix, rest]);
        }
    }
    written
}

/// The name up to its last parameter list, without what qualifies the function behind it.
pub(crate) fn without_parameters(name: &str) -> &str {
    let mut end = name;
    while let Some(shorter) = [" const", " volatile", " &&", " &"]
        .iter()
        .find_map(|tail| end.strip_suffix(tail))
    {
        end = shorter;
    }
    if !end.ends_with(')') {
        return name;
    }
    let mut depth = 0_usize;
    for (index, byte) in end.bytes().enumerate().rev() {
        match byte {
            b')' => depth += 1,
            b'(' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            let before = end.get(..index).unwrap_or_default();
            // `operator()` is a name, `(anonymous namespace)` a scope.
            let is_name = before.is_empty() || before.ends_with("operator") || before.ends_with("::");
            return if is_name { end } else { before };
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::in_common_style;

    #[test]
    fn names_are_shown_as_debuggers_do() {
        for (written, shown) in [
            ("sum<long unsigned int>", "sum<unsigned long>"),
            ("function_ref<int(short int)>::call", "function_ref<int (short)>::call"),
            (
                "handler<int(int), run(const long int&)::<lambda(int)> >",
                "handler<int(int), run(const long int&)::<lambda(int)> >",
            ),
        ] {
            assert_eq!(in_common_style(written), shown);
        }
    }
}
