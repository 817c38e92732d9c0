//! From a document's text to a [`Cause`]. The build script compiles this module too.

use serde::Deserialize;
use toml::de::{DeTable, DeValue};
use whycrash_recognise::{Flaw, Rule, Table, Wording};

use crate::cause::{Cause, CauseFix, Consequence, Retry, Verified};
use crate::suggestion::explained;

const FENCE: &str = "+++";

/// A rule that a document breaks, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("knowledge/causes/{file}:{line}: {message}")]
pub struct Fault {
    /// Name of the document's file.
    pub file: String,
    /// Line in it, counted from 1.
    pub line: usize,
    /// What is wrong, and what to write instead.
    pub message: String,
}

impl Fault {
    pub(crate) fn new(file: &str, line: usize, message: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            line,
            message: message.into(),
        }
    }
}

/// The front matter as it must be written. Stricter than [`Cause`], which is also the form readers of the JSON get:
/// here an unknown key is an error (a typing mistake must not lose a sign), and so is a missing one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FrontMatter {
    id: String,
    title: String,
    summary: String,
    severity: Severity,
    domain: Domain,
    retry: RetryMatter,
    tags: Vec<String>,
    #[serde(default)]
    also: Vec<String>,
    #[serde(default)]
    members: Vec<String>,
    #[serde(default)]
    last_resort: bool,
    #[serde(default)]
    leads_to: Vec<ConsequenceMatter>,
    signs: Vec<String>,
    #[serde(default)]
    undetectable: String,
    #[serde(default)]
    applies_to: Vec<String>,
    fixed_in: Option<String>,
    fixes: Vec<FixMatter>,
    references: Vec<String>,
    references_opened: Option<String>,
    reproducer: Option<String>,
    #[serde(default)]
    verified: Vec<VerifiedMatter>,
    #[serde(default)]
    recognise: Vec<Table>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Severity {
    Fatal,
    WrongResults,
    Slow,
    Notice,
}

impl Severity {
    fn name(&self) -> &'static str {
        match self {
            Self::Fatal => "fatal",
            Self::WrongResults => "wrong-results",
            Self::Slow => "slow",
            Self::Notice => "notice",
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Domain {
    Program,
    Data,
    Environment,
    Framework,
    Hardware,
    Network,
    Operator,
    Unknown,
}

impl Domain {
    fn name(&self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Data => "data",
            Self::Environment => "environment",
            Self::Framework => "framework",
            Self::Hardware => "hardware",
            Self::Network => "network",
            Self::Operator => "operator",
            Self::Unknown => "unknown",
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RetryMatter {
    advice: Advice,
    #[serde(default)]
    because: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Advice {
    Retry,
    RetryElsewhere,
    ChangeFirst,
    AskOwner,
    Unknown,
}

impl Advice {
    fn name(&self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::RetryElsewhere => "retry-elsewhere",
            Self::ChangeFirst => "change-first",
            Self::AskOwner => "ask-owner",
            Self::Unknown => "unknown",
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ConsequenceMatter {
    cause: String,
    says: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FixMatter {
    summary: String,
    steps: Vec<String>,
    not_when: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VerifiedMatter {
    date: String,
    on: String,
    observed: String,
}

/// Reads one document and checks it. `file` is its name, such as `oom-fragmentation.md`.
pub fn parse(file: &str, text: &str) -> Result<Cause, Fault> {
    let cause = read(file, text)?;
    check(&cause, file, text)?;
    Ok(cause)
}

fn read(file: &str, text: &str) -> Result<Cause, Fault> {
    let (front, body) = split(file, text)?;
    let matter: FrontMatter = toml::from_str(front).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        // The front matter begins on the line after the fence.
        Fault::new(file, 1 + line_of(front, offset), explained(error.message()))
    })?;
    Ok(Cause {
        id: matter.id,
        title: matter.title,
        summary: matter.summary,
        severity: matter.severity.name().to_owned(),
        domain: matter.domain.name().to_owned(),
        retry: Retry {
            advice: matter.retry.advice.name().to_owned(),
            because: matter.retry.because,
        },
        tags: matter.tags,
        also: matter.also,
        members: matter.members,
        last_resort: matter.last_resort,
        leads_to: matter
            .leads_to
            .into_iter()
            .map(|consequence| Consequence {
                cause: consequence.cause,
                says: consequence.says,
            })
            .collect(),
        signs: matter.signs,
        recognise: matter.recognise,
        undetectable: matter.undetectable,
        applies_to: matter.applies_to,
        fixed_in: matter.fixed_in,
        fixes: matter
            .fixes
            .into_iter()
            .map(|fix| CauseFix {
                summary: fix.summary,
                steps: fix.steps,
                not_when: fix.not_when,
            })
            .collect(),
        references: matter.references,
        references_opened: matter.references_opened,
        reproducer: matter.reproducer,
        verified: matter
            .verified
            .into_iter()
            .map(|seen| Verified {
                date: seen.date,
                on: seen.on,
                observed: seen.observed,
            })
            .collect(),
        origin: String::new(),
        body: body.trim().to_owned(),
    })
}

fn check(cause: &Cause, file: &str, text: &str) -> Result<(), Fault> {
    complete(cause).map_err(|(key, message)| Fault::new(file, line_of_key(text, key), message))?;
    for (number, table) in cause.recognise.iter().enumerate() {
        Rule::checked(table).map_err(|flaw| fault_of_table(file, text, number, &flaw))?;
    }
    for consequence in &cause.leads_to {
        Wording::new(&["leads_to", "says"], &consequence.says)
            .map_err(|flaw| Fault::new(file, line_of_key(text, "leads_to"), flaw.to_string()))?;
    }
    if file.strip_suffix(".md") != Some(cause.id.as_str()) {
        let message = format!("the id is `{}`; it must be the file's name without `.md`", cause.id);
        return Err(Fault::new(file, line_of_key(text, "id"), message));
    }
    Ok(())
}

/// The front matter and the prose.
fn split<'t>(file: &str, text: &'t str) -> Result<(&'t str, &'t str), Fault> {
    let rest = text
        .strip_prefix(FENCE)
        .and_then(|rest| rest.strip_prefix('\n'))
        .ok_or_else(|| Fault::new(file, 1, "the first line must be `+++`"))?;
    rest.split_once("\n+++\n")
        .ok_or_else(|| Fault::new(file, text.lines().count().max(1), "no `+++` line ends the front matter"))
}

/// What a page must have to be of use; the key and what is wrong with it otherwise.
fn complete(cause: &Cause) -> Result<(), (&'static str, String)> {
    let require = |fulfilled: bool, key: &'static str, message: &str| {
        if fulfilled {
            Ok(())
        } else {
            Err((key, message.to_owned()))
        }
    };
    require(
        is_kebab_case(&cause.id),
        "id",
        "an id is lower-case words joined by hyphens",
    )?;
    require(
        is_one_line(&cause.title),
        "title",
        "a title is one line that is not empty",
    )?;
    require(!cause.summary.trim().is_empty(), "summary", "the summary is empty")?;
    require(
        !cause.signs.is_empty(),
        "signs",
        "there is no sign; say what a person sees",
    )?;
    require(
        !cause.references.is_empty(),
        "references",
        "there is no reference; say where the knowledge is from",
    )?;
    require(!cause.fixes.is_empty(), "fixes", "there is no fix; say what to do")?;
    let advises = cause.retry.advice != "unknown";
    require(
        advises != cause.retry.because.trim().is_empty(),
        "retry",
        "advice needs its reason in `because`, and `unknown` has none",
    )?;
    for fix in &cause.fixes {
        require(
            is_one_line(&fix.summary),
            "fixes",
            "a fix's summary is one line that is not empty",
        )?;
        require(
            !fix.steps.is_empty(),
            "fixes",
            &format!("the fix `{}` has no steps", fix.summary),
        )?;
    }
    let dates = cause.verified.iter().map(|seen| ("verified", &seen.date));
    let opened = cause.references_opened.iter().map(|date| ("references_opened", date));
    for (key, date) in dates.chain(opened) {
        require(
            is_date(date),
            key,
            &format!("`{date}` is not a date such as 2026-11-21"),
        )?;
    }
    require(
        cause.undetectable.is_empty() || cause.recognise.is_empty(),
        "undetectable",
        "a page with recognise tables is detectable: take out one or the other",
    )?;
    require(!cause.body.is_empty(), "id", "there is no prose after the front matter")?;
    shown_texts(cause).try_for_each(|(key, text)| {
        require(
            !text.contains("\\\""),
            key,
            "readers would see the backslash of `\\\"`: only the strings of the front matter need it, and only once",
        )
    })
}

/// Every text of a page that is shown to people, with the key that holds it.
fn shown_texts(cause: &Cause) -> impl Iterator<Item = (&'static str, &String)> {
    let fixes = cause.fixes.iter().flat_map(|fix| {
        let texts = fix.steps.iter().chain(&fix.not_when);
        texts.chain(std::iter::once(&fix.summary))
    });
    let keyed = |key: &'static str| move |text| (key, text);
    [
        ("title", &cause.title),
        ("summary", &cause.summary),
        ("retry", &cause.retry.because),
        ("undetectable", &cause.undetectable),
        ("id", &cause.body),
    ]
    .into_iter()
    .chain(cause.signs.iter().map(keyed("signs")))
    .chain(cause.applies_to.iter().map(keyed("applies_to")))
    .chain(cause.fixed_in.iter().map(keyed("fixed_in")))
    .chain(fixes.map(keyed("fixes")))
    .chain(cause.verified.iter().map(|seen| ("verified", &seen.observed)))
}

fn is_kebab_case(id: &str) -> bool {
    id.split('-')
        .all(|word| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()))
}

fn is_one_line(text: &str) -> bool {
    !text.trim().is_empty() && !text.contains('\n')
}

fn is_date(text: &str) -> bool {
    text.len() == 10
        && text.bytes().enumerate().all(|(i, b)| {
            if i == 4 || i == 7 {
                b == b'-'
            } else {
                b.is_ascii_digit()
            }
        })
}

/// The line, counted from 1, that byte `offset` is on.
pub(crate) fn line_of(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|b| *b == b'\n').count()
}

/// What is wrong with the recognise table of this number, on the line of the member that it is about.
pub(crate) fn fault_of_table(file: &str, text: &str, number: usize, flaw: &Flaw) -> Fault {
    let number = number.to_string();
    let path = ["recognise", &number].into_iter();
    let path: Vec<&str> = path.chain(flaw.path.iter().map(String::as_str)).collect();
    let line = split(file, text).ok().and_then(|(front, _)| {
        // The front matter begins on the line after the fence.
        place(front, &path).map(|offset| 1 + line_of(front, offset))
    });
    Fault::new(file, line.unwrap_or(1), flaw.to_string())
}

/// Where in a TOML text the member stands that a path leads to, or the last one on the way that is there.
fn place(toml: &str, path: &[&str]) -> Option<usize> {
    place_in_table(DeTable::parse(toml).ok()?.get_ref(), path)
}

fn place_in_table(table: &DeTable, path: &[&str]) -> Option<usize> {
    let (name, rest) = path.split_first()?;
    let (key, value) = table.iter().find(|(key, _)| key.get_ref() == name)?;
    Some(place_in_value(value.get_ref(), rest).unwrap_or(key.span().start))
}

fn place_in_value(value: &DeValue, path: &[&str]) -> Option<usize> {
    match value {
        DeValue::Table(table) => place_in_table(table, path),
        DeValue::Array(entries) => {
            let (number, rest) = path.split_first()?;
            let entry = entries.get(number.parse::<usize>().ok()?)?;
            Some(place_in_value(entry.get_ref(), rest).unwrap_or(entry.span().start))
        }
        _ => None,
    }
}

/// The line of the front matter that sets `key`, whether as a value or as a table; the first line if none does.
fn line_of_key(text: &str, key: &str) -> usize {
    let sets_key = |line: &str| {
        line.trim_start_matches('[')
            .strip_prefix(key)
            .is_some_and(|rest| rest.starts_with([' ', '=', ']']))
    };
    text.lines().position(sets_key).map_or(1, |index| index + 1)
}
