//! Texts with `{name}` in them.

use crate::Flaw;
use crate::condition::Caught;

/// Bytes that stand for one name at most.
const VALUE: usize = 200;

/// Names that a template asks for.
pub(crate) fn names(template: &str) -> Result<Vec<&str>, Flaw> {
    let mut names = Vec::new();
    let mut rest = template;
    while let Some((_, after)) = rest.split_once('{') {
        let (name, after) = after
            .split_once('}')
            .ok_or_else(|| Flaw::new(&[], "a `{` is not closed"))?;
        names.push(name);
        rest = after;
    }
    Ok(names)
}

/// The text with a value for every name.
pub(crate) fn fill(template: &str, values: &Caught) -> String {
    let (mut out, mut rest) = (String::new(), template);
    while let Some((before, (name, after))) = rest
        .split_once('{')
        .and_then(|(before, after)| Some((before, after.split_once('}')?)))
    {
        out.push_str(before);
        out.push_str(&short(values.get(name).map_or("", String::as_str)));
        rest = after;
    }
    out + rest
}

/// The first line of a value, as far as it is worth quoting.
fn short(value: &str) -> String {
    let line = value.trim().lines().next().unwrap_or_default();
    match line.char_indices().find(|(at, _)| *at >= VALUE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
