//! The recognise tables of the documented causes, against the model of what they are held against.

use serde_json::json;
use whycrash_catalog::Catalog;
use whycrash_catalog::recognise::Rule;
use whycrash_evidence::model::EventPayload;

/// Whether events of this kind have a particular of this name. None has one that an object of nonsense would fit, so
/// that what takes it does not look at it.
fn has_particular(kind: &str, name: &str) -> bool {
    let event = json!({"kind": kind, "detail": {name: {"no": {"such": "value"}}}});
    serde_json::from_value::<EventPayload>(event).is_err()
}

fn is_kind(kind: &str) -> bool {
    serde_json::from_value::<EventPayload>(json!({"kind": kind, "detail": {}})).is_ok()
}

#[test]
fn tables_ask_for_events_and_particulars_that_there_are() {
    assert!(is_kind("xid") && has_particular("xid", "code"));
    assert!(!is_kind("no-such-kind") && !has_particular("xid", "no-such-particular"));
    let catalog = Catalog::embedded();
    let mut tables = 0;
    for cause in catalog.causes() {
        for (number, table) in cause.recognise.iter().enumerate() {
            let rule = Rule::new(table).expect("the catalogue was checked when it was built");
            for (kind, particulars) in rule.mentions() {
                let place = format!("knowledge/causes/{}.md: recognise table {}", cause.id, number + 1);
                assert!(is_kind(kind), "{place}: there is no kind of event `{kind}`");
                for path in particulars {
                    let name = path.split('.').next().unwrap_or(path);
                    assert!(
                        has_particular(kind, name),
                        "{place}: `{kind}` events have no particular `{name}`"
                    );
                }
            }
            tables += 1;
        }
    }
    assert!(tables > 0, "no page has a table");
}
