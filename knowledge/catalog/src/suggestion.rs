//! The right word for one that was mistyped. The build script compiles this module too.

/// The words that a mistyped one may stand for, named at most in what is said of it.
const NAMED: usize = 30;

/// Of these words the one that a mistyped word stands for, if one is near enough.
pub fn nearest<'w>(word: &str, words: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    let plain = |word: &str| word.to_lowercase().replace('_', "-");
    let wanted = plain(word);
    let far = |other: &str| strsim::osa_distance(&wanted, &plain(other));
    let near_enough = (word.chars().count() / 3).max(1);
    let nearest = words
        .into_iter()
        .map(|other| (far(other), other))
        .min_by_key(|(far, _)| *far);
    nearest.filter(|(far, _)| *far <= near_enough).map(|(_, other)| other)
}

/// What to say behind a complaint about a word: which one may be meant, or else which ones there are.
pub fn instead<'w>(word: &str, words: impl IntoIterator<Item = &'w str> + Clone) -> String {
    if let Some(nearest) = nearest(word, words.clone()) {
        return format!("did you mean `{nearest}`?");
    }
    let mut there: Vec<&str> = words.into_iter().collect();
    let others = there.len().saturating_sub(NAMED);
    there.truncate(NAMED);
    let named: Vec<String> = there.iter().map(|word| format!("`{word}`")).collect();
    match (named.is_empty(), others) {
        (true, _) => "there is none".to_owned(),
        (false, 0) => format!("there are {}", named.join(", ")),
        (false, _) => format!("there are {} and {others} more", named.join(", ")),
    }
}

/// What a reader of TOML or JSON says of a word that it does not know, with the word that may be meant:
/// "unknown field `titel`, expected one of `id`, `title`".
pub fn explained(message: &str) -> String {
    let is_unknown = message.starts_with("unknown field `") || message.starts_with("unknown variant `");
    let mut quoted = message.split('`').skip(1).step_by(2);
    let Some(word) = quoted.next().filter(|_| is_unknown) else {
        return message.to_owned();
    };
    match nearest(word, quoted) {
        Some(nearest) => {
            let (complaint, _) = message.split_once(", expected").unwrap_or((message, ""));
            format!("{complaint}: did you mean `{nearest}`?")
        }
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{explained, instead, nearest};

    #[test]
    fn a_mistyped_word_is_told_from_one_that_means_something_else() {
        let words = ["python-exception", "xid", "cuda-oom", "cuda-error"];
        for (word, meant) in [
            ("pythn-exception", Some("python-exception")),
            ("PythonException", Some("python-exception")),
            ("python_exception", Some("python-exception")),
            ("cuda-omo", Some("cuda-oom")),
            ("xids", Some("xid")),
            ("kernel", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, words), meant, "{word}");
        }
        assert_eq!(instead("cuda-omo", words), "did you mean `cuda-oom`?");
        assert_eq!(instead("kernel", ["a", "b"]), "there are `a`, `b`");
        assert_eq!(instead("kernel", []), "there is none");
    }

    #[test]
    fn what_a_reader_says_of_a_word_is_said_with_the_right_one() {
        for (said, explained_as) in [
            (
                "unknown field `titel`, expected one of `id`, `title`",
                "unknown field `titel`: did you mean `title`?",
            ),
            (
                "unknown field `weather`, expected `id` or `title`",
                "unknown field `weather`, expected `id` or `title`",
            ),
            (
                "unknown variant `fatall`, expected one of `fatal`, `slow`",
                "unknown variant `fatall`: did you mean `fatal`?",
            ),
            ("missing field `id`", "missing field `id`"),
        ] {
            assert_eq!(explained(said), explained_as);
        }
    }
}
