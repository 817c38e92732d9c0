//! The one contract: what is made of it is up to date, and the server answers as it says.

use std::path::{Path, PathBuf};
use std::{env, fs};

use serde_json::Value;
use whycrash_server::api::openapi;
use whycrash_tests::contract::{Contract, Definition, Files, facts, reference, typescript};
use whycrash_tests::interface::PluginInterface;

use crate::house::House;

/// Set by `make contract`, which has everything made anew.
const MAKE: &str = "WHYCRASH_MAKE_CONTRACT";

fn contract() -> (Value, Contract) {
    let description = serde_json::to_value(openapi::description()).expect("a description is JSON");
    let contract = Contract::of(&description).expect("it has schemas");
    (description, contract)
}

fn definitions() -> Vec<Definition> {
    contract()
        .1
        .definitions()
        .expect("every schema has a form that is known")
}

/// Holds a folder of files that were made, and the hand-written ones beside them, against what would be made now.
fn is_up_to_date(folder: &str, made: &Files, by_hand: &[&str]) {
    let folder: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
    let names = fs::read_dir(&folder).expect("the folder is there");
    let names = names.map(|file| file.expect("a file").file_name().into_string().expect("text"));
    let gone: Vec<String> = names
        .filter(|name| !made.contains_key(name) && !by_hand.contains(&name.as_str()))
        .collect();
    if env::var_os(MAKE).is_some() {
        for (name, text) in made {
            fs::write(folder.join(name), text).expect("the file can be written");
        }
        for name in &gone {
            fs::remove_file(folder.join(name)).expect("the file can be removed");
        }
        return;
    }
    assert!(gone.is_empty(), "{gone:?} are made no more: run `make contract`");
    for (name, text) in made {
        let path = folder.join(name);
        let there = fs::read_to_string(&path).unwrap_or_default();
        let first = there.lines().zip(text.lines()).find(|(there, made)| there != made);
        assert!(
            there == *text,
            "{} is not what the model says now ({first:?}): run `make contract`",
            path.display()
        );
    }
}

#[test]
fn the_types_of_the_web_ui_are_those_of_the_model() {
    is_up_to_date("web/src/api/types", &typescript(&definitions()), &[]);
}

#[test]
fn the_facts_of_the_sdk_are_those_of_the_model() {
    let facts = facts(&definitions()).expect("all that plugins read is in the contract");
    is_up_to_date("plugins/sdk/src/facts", &facts, &["mod.rs"]);
}

#[test]
fn the_words_of_pages_and_cases_are_those_of_the_model() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let case = fs::read_to_string(root.join("cli/src/commands/plugin/test.rs")).expect("the source is there");
    let made = reference(&definitions(), &case).expect("all that pages ask for is in the contract");
    let path = root.join("docs/reference.md");
    if env::var_os(MAKE).is_some() {
        fs::write(&path, made).expect("the file can be written");
        return;
    }
    let there = fs::read_to_string(&path).unwrap_or_default();
    let first = there.lines().zip(made.lines()).find(|(there, made)| there != made);
    assert!(
        there == made,
        "docs/reference.md is not what the model says now ({first:?}): run `make contract`"
    );
}

#[test]
fn the_types_for_authors_of_plugins_are_those_of_the_interface() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let interface = PluginInterface::read(&root.join("plugins/wit/v1")).expect("it parses");
    let library = |language: &str, file: &str| (format!("plugins/examples/{language}/whycrash"), file.to_owned());
    for ((folder, file), text) in [
        (library("python", "interface.py"), interface.python()),
        (library("js", "interface.d.ts"), interface.typescript()),
    ] {
        let names = fs::read_dir(root.join(&folder)).expect("the folder is there");
        let names: Vec<String> = names
            .map(|file| file.expect("a file").file_name().into_string().expect("text"))
            .collect();
        let by_hand: Vec<&str> = names.iter().map(String::as_str).collect();
        is_up_to_date(&folder, &Files::from([(file, text)]), &by_hand);
    }
}

#[test]
fn every_reference_of_the_description_leads_somewhere() {
    let (description, _) = contract();
    let mut references = Vec::new();
    collect_references(&description, &mut references);
    assert!(references.len() > 100, "the description refers to its schemas");
    for reference in references {
        let found = description.pointer(reference.trim_start_matches('#'));
        assert!(found.is_some(), "{reference} leads nowhere");
    }
}

fn collect_references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(members) => {
            found.extend(members.get("$ref").and_then(Value::as_str));
            members.values().for_each(|member| collect_references(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_references(item, found)),
        _ => {}
    }
}

/// The type of the JSON with which a GET of this path is answered.
fn answer_of(operations: &Value) -> Option<&str> {
    let schema = operations.pointer("/get/responses/200/content/application~1json/schema/$ref")?;
    schema.as_str()?.rsplit('/').next()
}

#[test]
fn the_server_answers_as_the_description_says() {
    let house = House::open("");
    let log = whycrash_corpus::folder().join("oom-fragmentation-log");
    let log = fs::read_dir(log).expect("a case").filter_map(Result::ok);
    let sent = house
        .whycrash(&["upload", "--format", "json"])
        .args(log.map(|file| file.path()))
        .output()
        .expect("the program runs");
    let sent: Value = serde_json::from_slice(&sent.stdout).expect("it prints JSON");
    let id = sent["id"].as_str().expect("an id");
    let document = house.document(id);
    let cause = document["findings"][0]["cause"].as_str().expect("a cause");
    let signature = document["report"]["signature"]["key"].as_str().expect("a signature");
    let description = house.get("/api/v1/openapi.json");
    let contract = Contract::of(&description).expect("it has schemas");
    let mut answered = 0;
    for (path, operations) in description["paths"].as_object().expect("it lists paths") {
        let Some(name) = answer_of(operations) else { continue };
        if path.contains("/previews/") || path.contains("/symbols/") || path.ends_with("/lines") {
            continue;
        }
        let of = if path.contains("/causes/") { cause } else { id };
        let address = path
            .replace("{id}", of)
            .replace("{signature}", signature)
            .replace("{version}", "1");
        let faults = contract.faults(name, &house.get(&address));
        assert!(faults.is_empty(), "{address} is no {name}: {faults:#?}");
        answered += 1;
    }
    assert!(answered > 15, "{answered} addresses answer with JSON");
}
