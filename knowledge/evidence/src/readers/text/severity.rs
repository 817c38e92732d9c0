//! How bad a line is, by the level that its logger gave it or, where it has none, by its words.

use super::regex;

/// How a line says that something failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Its logger calls it an error.
    Error,
    /// It has no level, and words of failure.
    Words,
}

/// Whether a line says that something failed: `before` is what was taken off as its prefix, which may have a level.
pub fn severity(before: &str, text: &str) -> Option<Severity> {
    // What a launcher calls an error as it came through the standard error, and Python a warning.
    if regex!(r"\.py:\d+: \w*Warning: ").is_match(text) {
        return None;
    }
    if is_of_level(before, text, Level::Error) {
        return (!says_none(text)).then_some(Severity::Error);
    }
    let is_told = !is_of_level(before, text, Level::Lower) && !says_none(text) && says_failure(text);
    is_told.then_some(Severity::Words)
}

/// Whether a line has a level of a logger, in its text or in what was taken off as its prefix.
pub fn has_level(before: &str, text: &str) -> bool {
    is_of_level(before, text, Level::Error) || is_of_level(before, text, Level::Lower)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Error,
    /// Of whatever the program went on after.
    Lower,
}

/// Levels of Python's, Java's and Go's loggers in capitals, of key-value records and of syslog in any case, glog's
/// letters, apt's, and the codes of CANN, whose first letter is the level (`EI0002: `). Anywhere in a prefix, and in a
/// text only where loggers put them: at its beginning, in brackets, between dashes or bars.
fn is_of_level(before: &str, text: &str, level: Level) -> bool {
    let (named, letter) = match level {
        Level::Error => (
            regex!(
                r#"^E(?:[A-Z]\d{4})?: |^\W{0,3}(?:ERROR|FATAL|CRITICAL|PANIC|SEVERE|EMERG|ALERT)\b|^\W{0,3}(?i:error|fatal(?: error)?|panic|critical)\W{0,3}[:|]|[\[|(<-] ?(?:ERROR|FATAL|CRITICAL|SEVERE|error|fatal)\s?(?:[\])|>-]|:)|\b(?:level|lvl|severity)"?\s?[=:]\s?"?(?i:error|fatal|panic|critical)\b"#
            ),
            regex!(r"^\[?[EF](?:\d{4}|\d{8})? |\[(?:E|F|error|fatal|critical)\]|(?:^|\s)[EF] \d+ \d+\]"),
        ),
        Level::Lower => (
            regex!(
                r#"^\W{0,3}(?:INFO|WARN|WARNING|DEBUG|TRACE|NOTICE)\b(?:\W|$)|^\W{0,3}(?i:info|debug|warning|note)\W{0,3}[:|]|\bNCCL INFO\b|[\[|(<-] ?(?:INFO|WARN|WARNING|DEBUG|NOTICE|info|warn|warning|debug)\s?(?:[\])|>-]|:)|\b(?:level|lvl|severity)"?\s?[=:]\s?"?(?i:info|warn|warning|debug|trace)\b|\w*Warning: "#
            ),
            regex!(r"^\[?[IWDV](?:\d{4}|\d{8})? |\[(?:I|W|D|V|info|warn|warning|debug)\]|(?:^|\s)[IWDV] \d+ \d+\]"),
        ),
    };
    let head = text.get(..text.floor_char_boundary(HEAD)).unwrap_or_default();
    [before, head]
        .iter()
        .any(|part| named.is_match(part) || letter.is_match(part))
}

/// Bytes of a text in which a logger's level may stand.
const HEAD: usize = 160;

/// `0 errors`, `no failures`.
fn says_none(text: &str) -> bool {
    let is_said = regex!(r"(?i)\b(?:no|zero|without(?: any)?) (?:errors?|failures?|failed|exceptions?|warnings?)\b|\b(?:errors?|failures?|failed)\W{1,3}0\b|\bsucce(?:ss|eded)")
        .is_match(text);
    // `Node 0 failed` counts nothing.
    let mut counts = regex!(r"(?i)(?:(?P<of>\b[a-z]+)[ #]|\b)0 (?:errors?|failures?|failed|exceptions?|warnings?)\b")
        .captures_iter(text);
    let is_name = |word: &str| NUMBERED.contains(&word.to_ascii_lowercase().as_str());
    is_said || counts.any(|count| !count.name("of").is_some_and(|word| is_name(word.as_str())))
}

/// What has a number of its own.
const NUMBERED: [&str; 14] = [
    "node", "rank", "gpu", "device", "worker", "task", "step", "host", "process", "shard", "replica", "attempt", "job",
    "stage",
];

/// The words with which programs say that they could not do something.
fn says_failure(text: &str) -> bool {
    regex!(
        r"(?i)^\s*Warning\s{2,}[a-z]|\b(?:errors?|fail(?:ed|s|ure|ing)?|fatal|panic(?:ked)?|exception|cannot|can't|can not|could ?n[o']t|unable to|denied|refused|rejected|exceed(?:ed|s)|evicted|killed|abort(?:ed|ing)?|terminat(?:ed|ing)|cancell?ed|preempted|invalid|corrupt(?:ed|ion)?|missing|un(?:correct\w+|supported|known|recogni[sz]ed|reachable|healthy|defined|available|responsive)|incompatible|mismatch|time(?:d)? ?out|timeout|expired|insufficient|not (?:found|supported|available|enough|allowed|permitted|valid|compatible|responding|ready)|no (?:such|space|module|device|route|longer|element|solution)|out of|occurred|does(?: not|n't) (?:exist|match|support)|lost|dead|stuck|violation|crash(?:ed)?)\b"
    )
    .is_match(text)
}
