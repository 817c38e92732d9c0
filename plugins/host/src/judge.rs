//! From what a plugin claims to what is concluded: what does not hold is dropped, and named.

use whycrash_catalog::{Catalog, Cause};

use crate::case::Case;
use crate::citation::Flaw;
use crate::diagnosis::{Citation, Claim, CollectNext, PluginName};
use crate::sandbox::{PluginLimits, Said, clean, cut, domain_name, knowledge, retry_advice, types};
use crate::{PluginInfo, citation};

/// Bytes of an id that are repeated when it is wrong.
const TOLD: usize = 80;

/// What is left of a diagnosis after every claim in it was checked.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    pub(crate) findings: Vec<Claim>,
    pub(crate) next: Vec<CollectNext>,
    /// The first thing that did not hold.
    pub(crate) failure: Option<String>,
    /// The first place that could not be read, so that nobody knows whether what is said of it holds.
    pub(crate) unreadable: Option<String>,
}

impl Verdict {
    /// Nothing, because of this.
    pub(crate) fn failed(failure: String) -> Self {
        Self {
            failure: Some(failure),
            ..Self::default()
        }
    }
}

/// What claims are held against.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judge<'a> {
    pub(crate) case: &'a Case,
    pub(crate) catalog: &'a Catalog,
    /// Pages that the plugin brings.
    pub(crate) own: &'a [Cause],
    pub(crate) limits: &'a PluginLimits,
}

impl Judge<'_> {
    pub(crate) fn judge(&self, plugin: &PluginInfo, said: Said) -> Verdict {
        let Said { diagnosis, advice } = said;
        let counts = [
            ("findings", diagnosis.findings.len()),
            ("things to collect", diagnosis.next.len()),
        ];
        if let Some((what, count)) = counts.into_iter().find(|(_, count)| *count > self.limits.findings) {
            return Verdict::failed(format!(
                "it returned {count} {what}, more than the {} that are allowed",
                self.limits.findings
            ));
        }
        let mut verdict = Verdict::default();
        let is_found = |advice: &&knowledge::Advice| diagnosis.findings.iter().any(|claim| claim.cause == advice.cause);
        if let Some(advice) = advice.iter().find(|advice| !is_found(advice)) {
            let cause = cut(&advice.cause, TOLD);
            verdict.failure = Some(format!(
                "it gave advice about {cause:?}, which is not among its findings"
            ));
        }
        for claim in diagnosis.findings {
            match self.finding(plugin, claim) {
                Ok(finding) => verdict.findings.push(advised(finding, &advice)),
                Err(Flaw::Wrong(failure)) => {
                    verdict.failure.get_or_insert(failure);
                }
                Err(Flaw::Unreadable(place)) => {
                    verdict.unreadable.get_or_insert(place);
                }
            }
        }
        for next in diagnosis.next {
            match self.next(next) {
                Ok(next) => verdict.next.push(next),
                Err(failure) => {
                    verdict.failure.get_or_insert(failure);
                }
            }
        }
        verdict
    }

    fn finding(&self, plugin: &PluginInfo, claim: types::Finding) -> Result<Claim, Flaw> {
        let id = claim.cause;
        self.known(plugin, &id)?;
        if !(0.0..=1.0).contains(&claim.confidence) {
            let sure = claim.confidence;
            let wrong = format!("it gave {id:?} a confidence of {sure}, which is not between 0 and 1");
            return Err(Flaw::Wrong(wrong));
        }
        if claim.citations.is_empty() {
            let wrong = format!("it named {id:?} without citing a place that proves it");
            return Err(Flaw::Wrong(wrong));
        }
        let citations = self.citations(&id, &claim.citations)?;
        let contradictions = self.citations(&id, &claim.contradictions)?;
        Ok(Claim {
            title: self.optional(&id, claim.title)?,
            confidence: claim.confidence,
            plugin: PluginName {
                name: plugin.name.clone(),
                version: plugin.version.clone(),
            },
            explanation: self.text(&id, claim.explanation)?,
            citations,
            contradictions,
            first_step: self.optional(&id, claim.first_step)?,
            domain: None,
            retry: None,
            cause: id,
        })
    }

    /// Whether there is a documented cause by this id and the plugin said that it could name it.
    fn known(&self, plugin: &PluginInfo, id: &str) -> Result<(), String> {
        if !plugin.causes.iter().any(|cause| cause == id) {
            return Err(format!(
                "it named the cause {:?}, which is not among those it says it can name",
                cut(id, TOLD)
            ));
        }
        self.page(id)
            .map(drop)
            .ok_or_else(|| format!("it named the cause {:?}, which is not documented", cut(id, TOLD)))
    }

    /// The page of a cause: a documented one, or one that the plugin brings.
    fn page(&self, id: &str) -> Option<&Cause> {
        let own = || self.own.iter().find(|page| page.answers_for(id));
        self.catalog.get(id).or_else(own)
    }

    fn citations(&self, cause: &str, claimed: &[types::Citation]) -> Result<Vec<Citation>, Flaw> {
        let (count, most) = (claimed.len(), self.limits.citations);
        if count > most {
            let wrong = format!("it cited {count} places for {cause:?}, more than the {most} that are allowed");
            return Err(Flaw::Wrong(wrong));
        }
        claimed
            .iter()
            .map(|claim| {
                self.text(cause, claim.quote.clone())?;
                citation::check(self.case, claim)
                    .map_err(|flaw| flaw.map(|why| format!("for {cause:?} {}", clean::line(&why))))
            })
            .collect()
    }

    fn next(&self, next: types::CollectNext) -> Result<CollectNext, String> {
        let what = "what to collect next";
        let mut decides_between = next.decides_between;
        decides_between.retain(|id| self.page(id).is_some());
        decides_between.truncate(self.limits.findings);
        Ok(CollectNext {
            artifact: self.line(what, next.artifact)?,
            how: self.text(what, next.how)?,
            decides_between,
        })
    }

    /// A line that says something, or none.
    fn optional(&self, of: &str, text: Option<String>) -> Result<Option<String>, String> {
        let text = text.map(|text| self.line(of, text)).transpose()?;
        Ok(text.filter(|text| !text.is_empty()))
    }

    /// A text of one line, as it may be shown.
    fn line(&self, of: &str, text: String) -> Result<String, String> {
        self.text(of, text).map(|text| clean::line(&text))
    }

    /// A text, as it may be shown.
    fn text(&self, of: &str, text: String) -> Result<String, String> {
        if text.len() > self.limits.text_bytes {
            return Err(format!(
                "it wrote a text of {} bytes for {of:?}, more than the {} that are allowed",
                text.len(),
                self.limits.text_bytes
            ));
        }
        Ok(clean::lines(&text))
    }
}

/// The finding with what the plugin says of it besides.
fn advised(finding: Claim, advice: &[knowledge::Advice]) -> Claim {
    let Some(advice) = advice.iter().find(|advice| advice.cause == finding.cause) else {
        return finding;
    };
    let because = || clean::line(advice.because.as_deref().unwrap_or_default());
    Claim {
        domain: advice.domain.map(|domain| domain_name(domain).to_owned()),
        retry: advice.retry.map(|retry| retry_advice(retry, because())),
        ..finding
    }
}
