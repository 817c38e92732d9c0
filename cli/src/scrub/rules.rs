//! What a secret looks like, in one line of text.

use std::borrow::Cow;
use std::path::Path;

use regex::bytes::{Captures, Regex, RegexBuilder};

/// Stands where a secret was.
pub const REMOVED: &str = "[removed]";
/// Stands where the name of a person was in a path.
const SOMEBODY: &str = "user";

/// What a name ends with that belongs to a secret, in text of all kinds.
const NAMES: &str = "token|secret|passw(?:or)?d|passphrase|credentials?|auth|(?:api|access|secret|private|account|signing|encryption)[_-]?key|access[_-]?key[_-]?id";
/// A value: in quotes, also escaped ones, or a word.
const VALUE: &str = r#"\\"[^"\\\n]*\\"|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[^\s"'\\,;&|()\[\]{}<>]+"#;
/// How tokens look of services that many jobs use.
const TOKENS: &str = "hf_[A-Za-z0-9]{14,}|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_-]{16,}\
    |xox[abeoprs]-[A-Za-z0-9-]{10,}|(?:AKIA|ASIA)[A-Z0-9]{12,}|AIza[A-Za-z0-9_-]{20,}|ya29\\.[A-Za-z0-9_-]{16,}\
    |eyJ[A-Za-z0-9_-]{8,}\\.[A-Za-z0-9_-]{4,}(?:\\.[A-Za-z0-9_-]*)?|pypi-[A-Za-z0-9_-]{16,}|npm_[A-Za-z0-9]{16,}\
    |nvapi-[A-Za-z0-9_-]{16,}|dckr_pat_[A-Za-z0-9_-]{16,}|whycrash_[0-9a-f]{32,}|sk-(?:[a-z]+-)?[A-Za-z0-9_]{16,}";
/// What a word in the name of a variable of the environment ends with that holds a secret, and what may be anywhere in
/// such a name.
const VARIABLE_WORDS: [&str; 2] = ["TOKEN", "AUTH"];
const VARIABLE_PARTS: [&str; 9] = [
    "SECRET",
    "PASSW",
    "PASSPHRASE",
    "CREDENTIAL",
    "APIKEY",
    "API_KEY",
    "ACCESS_KEY",
    "PRIVATE_KEY",
    "ACCOUNT_KEY",
];
/// What is called so says where something is.
const PLACES: [&str; 4] = ["_PATH", "_FILE", "_DIR", "_SOCK"];
/// Values that say that there is none.
const NOTHING: [&str; 6] = ["none", "null", "nil", "true", "false", "undefined"];

/// A pattern whose group `secret` is taken out where a test of the whole agrees.
#[derive(Debug)]
struct Rule {
    pattern: Regex,
    holds: fn(&Captures<'_>) -> bool,
    instead: &'static str,
}

/// All of them, and a pattern that matches in every line in which one of them does.
#[derive(Debug)]
pub struct Rules {
    suspicion: Regex,
    secrets: Vec<Rule>,
    people: Vec<Rule>,
    opens_key: Regex,
}

impl Rules {
    /// With the home folder of somebody, where it is called like them.
    pub fn new(home: Option<&Path>) -> Self {
        let home = home.and_then(Path::to_str).and_then(|home| home.rsplit_once('/'));
        let home = home.map(|(folder, name)| (regex::escape(folder), regex::escape(name)));
        let own = home
            .as_ref()
            .map(|(folder, name)| format!(r"{folder}/(?P<secret>{name})\b"));
        let somebodys = r#"(?:/home|/Users)/(?P<secret>[^/\s"':;,()<>\\|*?\[\]{}&=]+)"#;
        let homes = own
            .as_ref()
            .map_or_else(String::new, |own| format!("|(?-i:{})", own.replace("?P<secret>", "?:")));
        let suspicion = format!(r"{}|\b(?-i:{TOKENS})|(?-i:/home/|/Users/){homes}", SUSPICIOUS.join("|"));
        let people = own.into_iter().chain([somebodys.to_owned()]);
        let people = people.map(|text| Rule::new(&format!("(?-i:{text})"), |_| true, SOMEBODY));
        Self {
            suspicion: pattern(&suspicion),
            secrets: secrets(),
            people: people.collect(),
            opens_key: pattern("-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?P<rest>.*)"),
        }
    }

    /// Some place in the first line in which there may be a secret.
    pub fn first_suspicion(&self, text: &[u8]) -> Option<usize> {
        // A match ends after its last byte, which is never that of a line.
        Some(self.suspicion.shortest_match(text)?.saturating_sub(1))
    }

    /// A line without the secrets in it.
    pub fn without_secrets<'l>(&self, line: &'l [u8]) -> Cow<'l, [u8]> {
        without(&self.secrets, line)
    }

    /// A line without the secrets and people in it, and whether a private key begins there.
    pub fn line<'l>(&self, line: &'l [u8]) -> (Cow<'l, [u8]>, bool) {
        let clean = match self.without_secrets(line) {
            Cow::Borrowed(line) => without(&self.people, line),
            Cow::Owned(line) => Cow::Owned(without(&self.people, &line).into_owned()),
        };
        let opened = self.opens_key.captures(&clean).and_then(|opens| opens.name("rest"));
        let Some(rest) = opened.filter(|rest| end_of_key(rest.as_bytes()).is_none()) else {
            return (clean, false);
        };
        if rest.as_bytes().trim_ascii().is_empty() || is_removed(rest.as_bytes()) {
            return (clean, true);
        }
        let mut cut = clean.get(..rest.start()).unwrap_or_default().to_vec();
        cut.extend_from_slice(REMOVED.as_bytes());
        (Cow::Owned(cut), true)
    }
}

fn without<'l>(rules: &[Rule], line: &'l [u8]) -> Cow<'l, [u8]> {
    let mut clean = Cow::Borrowed(line);
    for rule in rules {
        if let Some(changed) = rule.apply(&clean) {
            clean = Cow::Owned(changed);
        }
    }
    clean
}

impl Rule {
    fn new(text: &str, holds: fn(&Captures<'_>) -> bool, instead: &'static str) -> Self {
        Self {
            pattern: pattern(text),
            holds,
            instead,
        }
    }

    /// The line without what this rule is about; none where there is no such thing.
    fn apply(&self, line: &[u8]) -> Option<Vec<u8>> {
        let mut clean: Option<Vec<u8>> = None;
        let mut done = 0;
        for found in self.pattern.captures_iter(line) {
            let Some(secret) = found.name("secret") else { continue };
            if is_removed(secret.as_bytes()) || !(self.holds)(&found) {
                continue;
            }
            let quotes = quotes(secret.as_bytes());
            let clean = clean.get_or_insert_default();
            clean.extend_from_slice(line.get(done..secret.start() + quotes).unwrap_or_default());
            clean.extend_from_slice(self.instead.as_bytes());
            done = secret.end() - quotes;
        }
        let mut clean = clean?;
        clean.extend_from_slice(line.get(done..).unwrap_or_default());
        Some(clean)
    }
}

/// The end of a private key in a line, with what follows it.
pub fn end_of_key(line: &[u8]) -> Option<&[u8]> {
    line.get(memchr::memmem::find(line, b"-----END ")?..)
}

/// Whether a line may be of a private key's body, of which each is one word, behind what a launcher puts before it.
pub fn may_be_of_key(line: &[u8]) -> bool {
    const WORDS: usize = 5;
    let words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    words.count() < WORDS
}

/// Whether a variable of the environment, or an option of a command, is called like a secret.
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_uppercase().replace('-', "_");
    let mut words = name.split('_');
    let is_word = words.any(|word| word == "PASS" || VARIABLE_WORDS.iter().any(|end| word.ends_with(end)));
    let is_secret = is_word || name.ends_with("_PWD") || VARIABLE_PARTS.iter().any(|part| name.contains(part));
    is_secret && !PLACES.iter().any(|end| name.ends_with(end))
}

/// What a line has in which there may be a secret, but for tokens that are known by their look.
const SUSPICIOUS: [&str; 6] = [
    r"://[^\s/?#]*@",
    r"[?&;][\w.-]*(?:sig|key|keyid|key_id|token|signature|secret|passw(?:or)?d|auth|credential)=",
    "authorization|bearer|basic[ \t]|passw|passphrase|secret|credential|hooks[.]slack[.]com",
    "(?:api|access|private|account|signing|encryption)[ _-]?key|wandb[ \t]+login|-----BEGIN",
    r#"(?:token|auth)[\\"']{0,2}[ \t]{0,3}[=:]|-(?:token|auth)[ \t]"#,
    "(?-i:(?:TOKEN|AUTH|PASS|PWD)[A-Z0-9_]*=)",
];

fn secrets() -> Vec<Rule> {
    let always = |text: &str| Rule::new(text, |_| true, REMOVED);
    let where_it = |holds, text: &str| Rule::new(text, holds, REMOVED);
    vec![
        always("-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?P<secret>.+?)-----END "),
        // Addresses: who calls, and members of the query that let them in.
        always(r#"[a-z][a-z0-9+.-]+://(?P<secret>[^\s/?#"'<>\\]+)@"#),
        always(
            r#"[?&;][\w.-]*(?:sig|key|keyid|key_id|token|signature|secret|passw(?:or)?d|auth|credential)=(?P<secret>[^\s&;"'<>#\\]+)"#,
        ),
        always(r"hooks[.]slack[.]com/services/(?P<secret>[a-z0-9/]+)"),
        // Headers.
        always(r#"authorization\\?["']?[ \t]*[:=][ \t]*\\?["']?(?:[a-z]+[ \t]+)?(?P<secret>[^\s"'\\,;]+)"#),
        where_it(is_code, r"\bbearer[ \t]+(?P<secret>[a-z0-9._~+/=-]{8,})"),
        where_it(is_code, r"\bbasic[ \t]+(?P<secret>[a-z0-9+/]{12,}={0,2})"),
        // What services hand out.
        where_it(is_token, &format!(r"\b(?-i:(?P<secret>{TOKENS}))")),
        always(r"(?:wandb[ \t]+login|api[ _-]?key).{0,40}?\b(?P<secret>[0-9a-f]{32,64})\b"),
        // Members of ~/.netrc, options, variables, and what else has a name.
        always(r"(?:\blogin[ \t]+\S+[ \t]+|^[ \t]*)password[ \t]+(?P<secret>[^\s:=]+)[ \t\r]*$"),
        where_it(
            of_option,
            &format!(r#"(?:^|[\s"'(\[])--?[a-z0-9_-]*(?P<name>{NAMES})(?:[ \t]+|=)(?P<secret>{VALUE})"#),
        ),
        where_it(
            of_variable,
            &format!(r"(?-i:\b(?P<name>[A-Z][A-Z0-9_]*))=(?P<secret>{VALUE})"),
        ),
        where_it(
            of_member,
            &format!(r#"(?P<name>{NAMES})\\?["']?[ \t]{{0,3}}(?:=>|[=:])[ \t]{{0,3}}(?P<secret>{VALUE})"#),
        ),
    ]
}

/// Of bytes, whatever the case of letters.
fn pattern(text: &str) -> Regex {
    let pattern = RegexBuilder::new(text).unicode(false).case_insensitive(true).build();
    pattern.expect("a fixed pattern, or one of escaped text")
}

fn group<'c>(found: &'c Captures<'_>, name: &str) -> &'c [u8] {
    found.name(name).map_or(b"", |group| group.as_bytes())
}

/// The value itself.
fn value<'c>(found: &'c Captures<'_>) -> &'c [u8] {
    inside(group(found, "secret"))
}

/// How many bytes of quotes there are on either side of a value.
fn quotes(value: &[u8]) -> usize {
    match value {
        [b'\\', b'"', .., b'\\', b'"'] if value.len() >= 4 => 2,
        [b'"', .., b'"'] | [b'\'', .., b'\''] => 1,
        _ => 0,
    }
}

fn inside(value: &[u8]) -> &[u8] {
    let quotes = quotes(value);
    value.get(quotes..value.len() - quotes).unwrap_or_default()
}

fn is_removed(value: &[u8]) -> bool {
    let value = inside(value);
    value.is_empty() || value.starts_with(b"[removed") || value == SOMEBODY.as_bytes()
}

/// A value that names another one, or says that there is none.
fn says_nothing(value: &[u8]) -> bool {
    let refers = value.first().is_none_or(|first| b"$%<{*".contains(first));
    refers
        || NOTHING
            .iter()
            .any(|nothing| value.eq_ignore_ascii_case(nothing.as_bytes()))
}

fn is_number(value: &[u8]) -> bool {
    value.iter().all(|byte| byte.is_ascii_digit() || b".-_".contains(byte))
}

/// What nobody would take for words.
fn is_code(found: &Captures<'_>) -> bool {
    const WORD: usize = 20;
    let value = value(found);
    value.len() >= WORD || value.iter().any(u8::is_ascii_digit)
}

/// Some of these begin like words that are put together.
fn is_token(found: &Captures<'_>) -> bool {
    let value = value(found);
    !value.starts_with(b"sk-") || value.iter().any(u8::is_ascii_digit)
}

fn of_option(found: &Captures<'_>) -> bool {
    let value = value(found);
    let is_count = group(found, "name").eq_ignore_ascii_case(b"token") && is_number(value);
    !is_count && !value.starts_with(b"-") && !says_nothing(value)
}

fn of_variable(found: &Captures<'_>) -> bool {
    is_secret_name(&String::from_utf8_lossy(group(found, "name"))) && !says_nothing(value(found))
}

/// A word in a text may be followed by a colon: what is not called a password must look like a secret too.
fn of_member(found: &Captures<'_>) -> bool {
    const SHORT: usize = 8;
    const WORD: usize = 16;
    let (name, value) = (group(found, "name").to_ascii_lowercase(), value(found));
    let is_password = name.starts_with(b"pass") || name == b"secret";
    let is_code = value.len() >= WORD || value.len() >= SHORT && value.iter().any(u8::is_ascii_digit);
    let is_place = value.starts_with(b"/") || memchr::memmem::find(value, b"://").is_some();
    !says_nothing(value) && (is_password || is_code && !is_place && !is_number(value))
}
