//! What an archive holds that is not read, each kind said once.

use whycrash_evidence::{Problem, printable};

/// Kinds of refusals that are told apart.
const KINDS: usize = 32;
/// Characters of a member's name that are shown.
const SHOWN: usize = 120;

/// Refused members, gathered by why they were refused.
#[derive(Debug, Default)]
pub(super) struct Refusals(Vec<Refusal>);

#[derive(Debug)]
struct Refusal {
    code: &'static str,
    why: String,
    /// The first member that it is said of.
    first: String,
    others: usize,
}

impl Refusals {
    /// Notes that a member is not read.
    pub(super) fn add(&mut self, code: &'static str, member: &[u8], why: &str) {
        let known = self.0.iter_mut().find(|other| other.code == code && other.why == why);
        if let Some(known) = known {
            known.others += 1;
        } else if self.0.len() < KINDS {
            self.0.push(Refusal {
                code,
                why: why.to_owned(),
                first: shown(member),
                others: 0,
            });
        } else if let Some(last) = self.0.last_mut() {
            last.others += 1;
        }
    }

    /// A problem of each kind.
    pub(super) fn problems(self) -> impl Iterator<Item = Problem> {
        self.0.into_iter().map(|refusal| {
            let Refusal {
                code,
                why,
                first,
                others,
            } = refusal;
            let more = match others {
                0 => String::new(),
                1 => " (and so is 1 other)".to_owned(),
                others => format!(" (and so are {others} others)"),
            };
            Problem::new(code, format!("{first} is left out{more}: it {why}"))
        })
    }
}

/// A member's name as it is told.
pub(super) fn shown(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    let name = printable(&name);
    match name.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", name.get(..end).unwrap_or_default()),
        None if name.trim().is_empty() => "a member without a name".to_owned(),
        None => name.into_owned(),
    }
}
