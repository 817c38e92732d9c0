//! The right word for one that was mistyped. The build script compiles this module too.

use whycrash_model::nearest;

/// The words that a mistyped one may stand for, named at most in what is said of it.
const NAMED: usize = 30;

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
    use super::{explained, instead};

    #[test]
    fn instead_of_a_mistyped_word_the_right_one_is_named_or_all_are() {
        let words = ["python-exception", "xid", "cuda-oom", "cuda-error"];
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
