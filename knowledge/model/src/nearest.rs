//! What somebody may have meant whose word is none of those that are known.

/// Characters of a word for which another one is looked for: a longer one is no slip of somebody who types.
const LONGEST: usize = 64;
/// Characters that tell what a word begins with well enough to complete it.
const BEGINNING: usize = 3;

/// The known word that is nearest to this one: up to a third of its letters are wrong, missing, too many, or changed
/// places with their neighbours; else the only one that begins with it. None where there is no such word.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let length = word.chars().count();
    if length == 0 || length > LONGEST {
        return None;
    }
    let most = (length / 3).max(1);
    let mut nearest: Option<(usize, &str)> = None;
    let mut beginning = Vec::new();
    for other in known {
        let letters: String = other.to_lowercase().chars().take(LONGEST + 1).collect();
        let others = letters.chars().count();
        if others > length && letters.starts_with(&word) {
            beginning.push(other);
        }
        if others.abs_diff(length) > most {
            continue;
        }
        let slips = strsim::osa_distance(&word, &letters);
        if slips <= most && nearest.is_none_or(|(least, _)| slips < least) {
            nearest = Some((slips, other));
        }
    }
    let only = |words: Vec<&'a str>| (length >= BEGINNING && words.len() == 1).then(|| words.first().copied());
    nearest.map(|(_, other)| other).or_else(|| only(beginning).flatten())
}

/// The end of a sentence that refuses a word: `; did you mean "cause"?`, or nothing.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).map_or_else(String::new, |other| format!("; did you mean {other:?}?"))
}

/// The same for the refusal of a name that a reader of JSON or TOML says, such as ``unknown field `servr`, expected one of
/// `server`, `token` ``.
pub fn did_they_mean(refusal: &str) -> String {
    let is_of_a_name = ["unknown field `", "unknown variant `"]
        .iter()
        .find_map(|begin| refusal.split_once(begin));
    // Every other piece stands between two backticks.
    let mut quoted = is_of_a_name
        .into_iter()
        .flat_map(|(_, rest)| rest.split('`').step_by(2));
    quoted
        .next()
        .map_or_else(String::new, |word| did_you_mean(word, quoted))
}
