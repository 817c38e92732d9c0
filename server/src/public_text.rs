//! Text about failures that everybody may read.
//!
//! What went wrong inside may name folders of the server. The log has it all; reports and answers have it without.

/// The text with every absolute path cut to its last component.
pub fn without_paths(text: &str) -> String {
    let mut public = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = path_start(rest) {
        let (before, path) = rest.split_at(start);
        let end = path.find(ends_path).unwrap_or(path.len());
        let (path, after) = path.split_at(end);
        public.push_str(before);
        public.push_str(path.trim_end_matches('/').rsplit('/').next().unwrap_or_default());
        rest = after;
    }
    public + rest
}

/// Where a slash begins a path: at the start, or after something that is no part of a word.
fn path_start(text: &str) -> Option<usize> {
    text.match_indices('/').map(|(at, _)| at).find(|at| {
        let before = text.get(..*at).and_then(|before| before.chars().next_back());
        let after = text.get(at + 1..).and_then(|after| after.chars().next());
        before.is_none_or(|c| c.is_whitespace() || "\"'`([{<=,:;".contains(c))
            && after.is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '-'))
    })
}

fn ends_path(c: char) -> bool {
    c.is_whitespace() || "\"'`)]}>,:;".contains(c)
}
