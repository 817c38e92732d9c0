//! What people call a report: its id, the first digits of it, its address, or `-1` for the last one.

use anyhow::bail;
use serde_json::Value;

use super::{Client, sent};

/// Digits of an id, and of a short one at least.
const DIGITS: usize = 32;
const SHORTEST: usize = 4;
/// Reports that are named where a short id may mean several.
const NAMED: &str = "10";

impl Client {
    /// The id of the report that somebody means. A whole id is taken as it is.
    pub fn id(&self, word: &str) -> anyhow::Result<String> {
        let digits = digits(word);
        if let Some(back) = number_from_the_last(&digits) {
            return self.from_the_last(back);
        }
        if !is_digits(&digits) {
            bail!(
                "{word:?} is no report: give its id ({DIGITS} hex digits), the first {SHORTEST} or more of them, or -1 for \
                 the last one"
            );
        }
        if digits.len() == DIGITS {
            return Ok(digits);
        }
        let listed: Value = self.get("reports", &[("prefix", &digits), ("limit", NAMED)])?;
        let mut found = reports(&listed);
        found.retain(|(id, _)| id.starts_with(&digits));
        match found.as_slice() {
            [(id, _)] => Ok((*id).to_owned()),
            [] => bail!("no report on {} begins with {digits}", self.server()),
            several => {
                let several: Vec<String> = several.iter().map(|(id, title)| format!("{id}  {title}")).collect();
                bail!(
                    "{digits} may mean several reports: give more digits\n{}",
                    several.join("\n")
                )
            }
        }
    }

    /// The last report (1), or the one so many before: of those that were uploaded from here, else of the server's.
    fn from_the_last(&self, back: usize) -> anyhow::Result<String> {
        let uploaded = sent::to(self.server());
        if !uploaded.is_empty() {
            let Some(id) = uploaded.get(back - 1) else {
                bail!(
                    "{} reports are remembered that were uploaded from here to {}",
                    uploaded.len(),
                    self.server()
                );
            };
            return Ok(id.clone());
        }
        let listed: Value = self.get("reports", &[("limit", &back.to_string())])?;
        match reports(&listed).get(back - 1) {
            Some((id, _)) => Ok((*id).to_owned()),
            None => bail!("{} has fewer than {back} reports", self.server()),
        }
    }
}

/// Whether a word may name a report.
pub fn is_like_an_id(word: &str) -> bool {
    let digits = digits(word);
    number_from_the_last(&digits).is_some() || is_digits(&digits)
}

/// The id in an address, or the word itself; in lower case, as ids are written.
fn digits(word: &str) -> String {
    let word = word.rsplit_once("/reports/").map_or(word, |(_, rest)| rest);
    let end = word.find(['/', '?', '#', '…']).unwrap_or(word.len());
    word.get(..end).unwrap_or_default().to_ascii_lowercase()
}

fn is_digits(word: &str) -> bool {
    (SHORTEST..=DIGITS).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The number in `-1`, `-2` and so on.
pub fn number_from_the_last(word: &str) -> Option<usize> {
    word.strip_prefix('-')?.parse().ok().filter(|number| *number > 0)
}

fn reports(listed: &Value) -> Vec<(&str, &str)> {
    let rows = listed["reports"].as_array().into_iter().flatten();
    let named = rows.filter_map(|row| Some((row["id"].as_str()?, row["title"].as_str().unwrap_or_default())));
    named.collect()
}
