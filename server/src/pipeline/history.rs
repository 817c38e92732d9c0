//! What plugins are told of other reports: earlier ones of the group, and those of the incident.
//!
//! A diagnosis must be a function of what is stored, and what is concluded of others changes. So the earlier reports
//! are looked up once, when the report is diagnosed for the first time by plugins of which one asks for them; what was
//! found then is stored with the diagnosis, and given again whenever the report is diagnosed anew. Only the order in
//! which reports came decides which are earlier, so that none ever waits for itself. Of the incident's reports nothing
//! is told but what their evidence says; they are looked up each time, as for what the ranks did together.

use whycrash_plugin_host::{Diagnosis, Report};
use whycrash_reading::{Conclusion, EARLIER, EarlierReport, History, OTHERS, OtherReport};

use super::Stores;
use crate::documents::conclusion;
use crate::store::{DiagnosisRecord, ReportId, Result, Summary};

/// What is known of others for this report, whose last diagnosis is this one.
pub async fn of(
    stores: &Stores,
    id: &ReportId,
    read: &Report,
    kin: &[ReportId],
    last: Option<&DiagnosisRecord>,
) -> Result<History> {
    let group = &read.head.signature.key;
    let given = last
        .map(conclusion)
        .transpose()?
        .and_then(|diagnosis| diagnosis.history);
    let earlier = match given.filter(|given| given.group == *group) {
        Some(given) => given.earlier,
        None => earlier(stores, id, group).await?,
    };
    let kin = kin.get(..kin.len().min(OTHERS)).unwrap_or_default();
    let incident = match kin {
        [] => Vec::new(),
        kin => stores.outcomes.summaries(kin).await?,
    };
    Ok(History {
        group: group.clone(),
        earlier,
        incident: incident.into_iter().map(other).collect(),
    })
}

async fn earlier(stores: &Stores, id: &ReportId, group: &str) -> Result<Vec<EarlierReport>> {
    // Reports in which nothing failed are not alike.
    if group.is_empty() {
        return Ok(Vec::new());
    }
    let earlier = stores.outcomes.earlier(id, group, EARLIER as u32).await?.into_iter();
    let told = earlier.map(|(summary, diagnosis)| EarlierReport {
        id: summary.id,
        title: summary.title,
        received: summary.received,
        // One that can not be understood any more says nothing.
        conclusions: serde_json::from_str(&diagnosis).map(conclusions).unwrap_or_default(),
    });
    Ok(told.collect())
}

fn conclusions(diagnosis: Diagnosis) -> Vec<Conclusion> {
    let claims = diagnosis.findings.into_iter();
    let told = claims.map(|claim| Conclusion {
        cause: claim.cause,
        title: claim.title,
        confidence: claim.confidence,
        plugin: claim.plugin.name,
    });
    told.collect()
}

fn other(summary: Summary) -> OtherReport {
    // A report whose evidence gives no title is listed by what was found.
    let is_found = summary.finding.as_ref() == Some(&summary.title);
    OtherReport {
        id: summary.id,
        title: if is_found { String::new() } else { summary.title },
        received: summary.received,
        group: summary.signature,
        host: summary.host,
        ranks: summary.ranks,
        signal: summary.signal,
        exception: summary.exception,
    }
}
