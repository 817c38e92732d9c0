//! What is documented, and what a plugin says in its place.

use whycrash_catalog::{Cause, Retry};

use crate::sandbox::bindings::knowledge;

pub(in crate::sandbox) fn cause(cause: &Cause) -> knowledge::Cause {
    let leads_to = cause.leads_to.iter().map(|consequence| consequence.cause.clone());
    knowledge::Cause {
        id: cause.id.clone(),
        also: cause.also.clone(),
        severity: cause.severity.clone(),
        domain: domain(&cause.domain),
        retry: retry(&cause.retry.advice),
        tags: cause.tags.clone(),
        members: cause.members.clone(),
        leads_to: leads_to.collect(),
        last_resort: cause.last_resort,
    }
}

fn domain(name: &str) -> knowledge::Domain {
    match name {
        "program" => knowledge::Domain::Program,
        "data" => knowledge::Domain::Data,
        "environment" => knowledge::Domain::Environment,
        "framework" => knowledge::Domain::Framework,
        "hardware" => knowledge::Domain::Hardware,
        "network" => knowledge::Domain::Network,
        "operator" => knowledge::Domain::Operator,
        _ => knowledge::Domain::Unknown,
    }
}

/// The name that a page has for it.
pub(crate) fn domain_name(domain: knowledge::Domain) -> &'static str {
    match domain {
        knowledge::Domain::Program => "program",
        knowledge::Domain::Data => "data",
        knowledge::Domain::Environment => "environment",
        knowledge::Domain::Framework => "framework",
        knowledge::Domain::Hardware => "hardware",
        knowledge::Domain::Network => "network",
        knowledge::Domain::Operator => "operator",
        knowledge::Domain::Unknown => "unknown",
    }
}

fn retry(advice: &str) -> knowledge::Retry {
    match advice {
        "retry" => knowledge::Retry::Again,
        "retry-elsewhere" => knowledge::Retry::Elsewhere,
        "change-first" => knowledge::Retry::ChangeFirst,
        "ask-owner" => knowledge::Retry::AskOwner,
        _ => knowledge::Retry::Unknown,
    }
}

/// The advice as a page has it.
pub(crate) fn retry_advice(retry: knowledge::Retry, because: String) -> Retry {
    let advice = match retry {
        knowledge::Retry::Again => "retry",
        knowledge::Retry::Elsewhere => "retry-elsewhere",
        knowledge::Retry::ChangeFirst => "change-first",
        knowledge::Retry::AskOwner => "ask-owner",
        knowledge::Retry::Unknown => "unknown",
    };
    Retry {
        advice: advice.to_owned(),
        because,
    }
}

#[cfg(test)]
mod tests {
    use whycrash_catalog::Catalog;

    use super::*;

    #[test]
    fn every_page_says_it_in_words_that_plugins_have() {
        for page in Catalog::embedded().causes() {
            assert_eq!(domain_name(domain(&page.domain)), page.domain, "{}", page.id);
            let advice = retry_advice(retry(&page.retry.advice), page.retry.because.clone());
            assert_eq!(advice, page.retry, "{}", page.id);
        }
    }
}
