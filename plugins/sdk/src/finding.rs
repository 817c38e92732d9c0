//! The answer of a plugin, built up piece by piece.

use crate::bindings;
use crate::bindings::whycrash::plugin::types;
use crate::knowledge::Advice;
use crate::{Citation, CollectNext, Domain, Retry};

/// The claim that a documented cause explains the report.
#[derive(Clone, Debug)]
pub struct Finding {
    claim: types::Finding,
    advice: Option<Advice>,
}

/// What a plugin found, and what would tell it more.
#[derive(Clone, Debug)]
pub struct Diagnosis {
    said: types::Diagnosis,
    advice: Vec<Advice>,
}

impl Finding {
    /// The claim that this cause explains the report, with a confidence from 0 to 1. It needs at least one citation.
    pub fn new(cause: &str, confidence: f64) -> Self {
        let claim = types::Finding {
            cause: cause.to_owned(),
            title: None,
            confidence,
            explanation: String::new(),
            citations: Vec::new(),
            contradictions: Vec::new(),
            first_step: None,
        };
        Self { claim, advice: None }
    }

    /// A title that is more exact than the cause's own.
    #[must_use]
    pub fn titled(mut self, title: impl Into<String>) -> Self {
        self.claim.title = Some(title.into());
        self
    }

    /// Why, in a few sentences about this very report.
    #[must_use]
    pub fn because(mut self, explanation: impl Into<String>) -> Self {
        self.claim.explanation = explanation.into();
        self
    }

    /// A place that proves it. One that says nothing, such as a frame of which only the address is known, proves
    /// nothing and is left out.
    #[must_use]
    pub fn cite(mut self, citation: Citation) -> Self {
        if !citation.quote.is_empty() && !self.claim.citations.contains(&citation) {
            self.claim.citations.push(citation);
        }
        self
    }

    /// Places that prove it.
    #[must_use]
    pub fn cite_all(self, citations: impl IntoIterator<Item = Citation>) -> Self {
        citations.into_iter().fold(self, Self::cite)
    }

    /// A place that speaks against it.
    #[must_use]
    pub fn against(mut self, citation: Citation) -> Self {
        self.claim.contradictions.push(citation);
        self
    }

    /// What to do first in this very case; the documented fixes follow it.
    #[must_use]
    pub fn first_step(mut self, step: impl Into<String>) -> Self {
        self.claim.first_step = Some(step.into());
        self
    }

    /// Who owns the failure in this very case, in place of what the cause's page says.
    #[must_use]
    pub fn owned_by(mut self, domain: Domain) -> Self {
        self.advice().domain = Some(domain);
        self
    }

    /// Whether a second try is worth it in this very case, and why, in place of what the cause's page says.
    #[must_use]
    pub fn retry(mut self, retry: Retry, because: impl Into<String>) -> Self {
        let advice = self.advice();
        advice.retry = Some(retry);
        advice.because = Some(because.into());
        self
    }

    fn advice(&mut self) -> &mut Advice {
        self.advice.get_or_insert_with(|| Advice {
            cause: self.claim.cause.clone(),
            domain: None,
            retry: None,
            because: None,
        })
    }
}

impl Diagnosis {
    /// Nothing fits: the right answer more often than not.
    pub fn nothing() -> Self {
        let said = types::Diagnosis {
            findings: Vec::new(),
            next: Vec::new(),
        };
        Self {
            said,
            advice: Vec::new(),
        }
    }

    /// Adds a finding.
    #[must_use]
    pub fn with(mut self, finding: Finding) -> Self {
        self.said.findings.push(finding.claim);
        self.advice.extend(finding.advice);
        self
    }

    /// What was found.
    pub fn findings(&self) -> &[types::Finding] {
        &self.said.findings
    }

    /// What is said of some of the findings besides.
    pub fn advice(&self) -> impl Iterator<Item = &Advice> {
        self.advice.iter()
    }

    /// Adds an artifact that would decide between causes, and how to get it.
    #[must_use]
    pub fn collect<'a>(
        mut self,
        artifact: &str,
        how: &str,
        decides_between: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        self.said.next.push(CollectNext {
            artifact: artifact.to_owned(),
            how: how.to_owned(),
            decides_between: decides_between.into_iter().map(str::to_owned).collect(),
        });
        self
    }
}

impl From<Finding> for Diagnosis {
    fn from(finding: Finding) -> Self {
        Self::nothing().with(finding)
    }
}

impl From<Diagnosis> for bindings::Diagnosis {
    fn from(diagnosis: Diagnosis) -> Self {
        diagnosis.said
    }
}
