//! What somebody may have meant whose word is none of those that are known.

/// Characters of a word for which another one is looked for: a longer one is no slip of somebody who types.
const LONGEST: usize = 64;
/// Characters that tell what a word begins with well enough to complete it.
const BEGINNING: usize = 3;

/// The known word that is nearest to this one: up to a third of its letters are wrong, missing, too many, or changed
/// places with their neighbours; else the only one that begins with it. None where there is no such word.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: Vec<char> = word.to_lowercase().chars().collect();
    if word.is_empty() || word.len() > LONGEST {
        return None;
    }
    let most = (word.len() / 3).max(1);
    let mut nearest: Option<(usize, &str)> = None;
    let mut beginning = Vec::new();
    for other in known {
        let letters: Vec<char> = other.to_lowercase().chars().take(LONGEST + 1).collect();
        if letters.len() > word.len() && letters.starts_with(&word) {
            beginning.push(other);
        }
        if letters.len().abs_diff(word.len()) > most {
            continue;
        }
        let slips = distance(&word, &letters);
        if slips <= most && nearest.is_none_or(|(least, _)| slips < least) {
            nearest = Some((slips, other));
        }
    }
    let only = |words: Vec<&'a str>| (word.len() >= BEGINNING && words.len() == 1).then(|| words.first().copied());
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

/// How many slips lead from one word to the other: the optimal string alignment distance.
fn distance(one: &[char], other: &[char]) -> usize {
    let first: Vec<usize> = (0..=other.len()).collect();
    let (mut before, mut last) = (first.clone(), first);
    let mut one_before = None;
    for (row, letter) in one.iter().enumerate() {
        let mut next = vec![row + 1];
        let mut other_before = None;
        for (column, against) in other.iter().enumerate() {
            let at = |row: &[usize], column: usize| row.get(column).copied().unwrap_or(usize::MAX - 1);
            let mut least = (at(&last, column) + usize::from(letter != against))
                .min(at(&last, column + 1) + 1)
                .min(at(&next, column) + 1);
            if one_before == Some(against) && other_before == Some(letter) {
                least = least.min(at(&before, column - 1) + 1);
            }
            next.push(least);
            other_before = Some(against);
        }
        before = std::mem::replace(&mut last, next);
        one_before = Some(letter);
    }
    last.last().copied().unwrap_or_default()
}
