//! What a page says that its cause leads to: the wording is one that happens, and what is so worded is folded.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use regex::Regex;
use whycrash_catalog::Catalog;
use whycrash_evidence::{Artifact, Limits, read};
use whycrash_plugin_host::{Diagnoser, Input, Settings};

use crate::support::cache;

/// Texts of events in the corpus, by the true cause of their case, of these causes.
fn told(causes: &BTreeSet<&str>) -> BTreeMap<String, Vec<String>> {
    let mut told: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for case in whycrash_corpus::cases().expect("every folder is a case") {
        if !causes.contains(case.label.cause.as_str()) {
            continue;
        }
        let texts = told.entry(case.label.cause.clone()).or_default();
        for (name, path) in case.artifacts() {
            let timeline = read(&Artifact::new(name, path), &Limits::default()).evidence.timeline;
            texts.extend(timeline.into_iter().map(|event| event.text));
        }
    }
    told
}

#[test]
fn every_wording_of_a_consequence_is_one_that_happened() {
    let catalog = Catalog::embedded();
    let all = || {
        catalog
            .causes()
            .iter()
            .flat_map(|page| page.leads_to.iter().map(move |to| (page, to)))
    };
    let causes: BTreeSet<&str> = all().map(|(_, to)| to.cause.as_str()).collect();
    let told = told(&causes);
    let mut flaws = BTreeSet::new();
    for (page, to) in all() {
        let says = Regex::new(&to.says).unwrap();
        match told.get(&to.cause) {
            None => flaws.insert(format!("{}: no case has {}", page.id, to.cause)),
            Some(texts) if texts.iter().any(|text| says.is_match(text)) => false,
            Some(_) => flaws.insert(format!("{}: no case of {} says {:?}", page.id, to.cause, to.says)),
        };
    }
    assert!(all().count() > 50 && flaws.is_empty(), "{flaws:#?}");
}

#[test]
fn what_the_ranks_say_that_waited_for_a_failed_one_is_folded_under_its_failure() {
    let watchdog = "[rank1]:[E1103 12:44:01.5 ProcessGroupNCCL.cpp:629] [Rank 1] Watchdog caught collective operation timeout: \
                    WorkNCCL(SeqNum=90111, OpType=ALLGATHER, NumelIn=8192, NumelOut=65536, Timeout(ms)=1800000) ran for 1800030 \
                    milliseconds before timing out.\n";
    let failed = "[rank0]: Traceback (most recent call last):\n[rank0]:   File \"/w/train.py\", line 250, in save\n\
                  [rank0]:     torch.save(state, path)\n\
                  [rank0]: OSError: [Errno 28] No space left on device: '/ckpt/step_9000.pt'\n";
    let folder = tempfile::tempdir().unwrap();
    let diagnoser = Diagnoser::new(Settings {
        cache: Some(cache()),
        ..Settings::default()
    })
    .unwrap();
    let diagnose = |log: String| {
        let path = folder.path().join("train.log");
        fs::write(&path, log).unwrap();
        diagnoser.diagnose(&Input {
            artifacts: vec![Artifact::new("train.log", path)],
            ..Input::default()
        })
    };
    let alone = diagnose(watchdog.to_owned());
    assert_eq!(alone.findings[0].cause, "dist-rank-missing");
    let both = diagnose(format!("{failed}{watchdog}"));
    let causes: Vec<&str> = both.findings.iter().map(|finding| finding.cause.as_str()).collect();
    assert_eq!(causes, ["dist-disk-full-checkpoint"]);
}
