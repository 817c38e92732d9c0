//! Whether a value is what its schema says, for the part of JSON Schema that descriptions of our API use.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Contract;

impl Contract {
    /// What a value has that the type of this name does not say, and what it lacks; nothing when it is as described.
    pub fn faults(&self, name: &str, value: &Value) -> Vec<String> {
        let mut faults = Vec::new();
        match self.schemas.get(name) {
            Some(schema) => self.check(schema, value, name, &mut faults),
            None => faults.push(format!("there is no type {name}")),
        }
        faults
    }

    fn check(&self, schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
        self.check_form(schema, value, at, faults);
        if let (Value::Object(members), Some(known)) = (value, self.members(schema)) {
            let unknown = members.keys().filter(|name| !known.contains(name.as_str()));
            faults.extend(unknown.map(|name| format!("{at}.{name} is not described")));
        }
    }

    /// The members that a schema describes; none where it leaves them open, or describes no object.
    fn members<'a>(&'a self, schema: &'a Value) -> Option<BTreeSet<&'a str>> {
        if let Some(target) = self.target(schema) {
            return self.members(target);
        }
        let parts = ["allOf", "oneOf"]
            .into_iter()
            .filter_map(|name| schema.get(name)?.as_array());
        let parts: Vec<&Value> = parts.flatten().collect();
        if !parts.is_empty() {
            let known = parts
                .into_iter()
                .filter(|part| !is_null(part))
                .map(|part| self.members(part));
            return known
                .collect::<Option<Vec<_>>>()
                .map(|sets| sets.into_iter().flatten().collect());
        }
        if schema.get("additionalProperties").is_some() {
            return None;
        }
        let properties = schema.get("properties")?.as_object()?;
        Some(properties.keys().map(String::as_str).collect())
    }

    fn check_form(&self, schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
        if let Some(target) = self.target(schema) {
            return self.check_form(target, value, at, faults);
        }
        if let Some(parts) = schema.get("allOf").and_then(Value::as_array) {
            parts.iter().for_each(|part| self.check_form(part, value, at, faults));
        }
        if let Some(branches) = schema.get("oneOf").and_then(Value::as_array) {
            let fits = |branch: &Value| {
                let mut faults = Vec::new();
                self.check_form(branch, value, at, &mut faults);
                faults.is_empty()
            };
            if !branches.iter().any(fits) {
                faults.push(format!("{at} is none of what it may be: {value}"));
            }
        }
        if !has_type(schema, value) {
            faults.push(format!("{at} is not of the type {}: {value}", schema["type"]));
            return;
        }
        if let Some(words) = schema.get("enum").and_then(Value::as_array)
            && !words.contains(value)
        {
            faults.push(format!("{at} is not one of the words: {value}"));
        }
        self.check_members(schema, value, at, faults);
        self.check_items(schema, value, at, faults);
    }

    fn check_members(&self, schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
        let Value::Object(members) = value else { return };
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        let absent = required
            .filter_map(Value::as_str)
            .filter(|name| !members.contains_key(*name));
        faults.extend(absent.map(|name| format!("{at}.{name} is absent")));
        for (name, member) in members {
            let described = schema.get("properties").and_then(|properties| properties.get(name));
            if let Some(described) = described.or_else(|| schema.get("additionalProperties")) {
                self.check(described, member, &format!("{at}.{name}"), faults);
            }
        }
    }

    fn check_items(&self, schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
        let Value::Array(items) = value else { return };
        let bound = |name: &str| schema.get(name).and_then(Value::as_u64);
        let count = items.len() as u64;
        if bound("minItems").is_some_and(|least| count < least) || bound("maxItems").is_some_and(|most| count > most) {
            faults.push(format!("{at} has {count} items"));
        }
        let first = schema.get("prefixItems").and_then(Value::as_array);
        for (index, item) in items.iter().enumerate() {
            let described = first.and_then(|first| first.get(index)).or_else(|| schema.get("items"));
            if let Some(described) = described {
                self.check(described, item, &format!("{at}.{index}"), faults);
            }
        }
    }

    fn target(&self, schema: &Value) -> Option<&Value> {
        let reference = schema.get("$ref")?.as_str()?;
        self.schemas.get(reference.rsplit('/').next()?)
    }
}

fn is_null(schema: &Value) -> bool {
    schema.get("type").is_some_and(|name| name == "null")
}

fn has_type(schema: &Value, value: &Value) -> bool {
    let is = |name: &Value| match name.as_str().unwrap_or_default() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    };
    match schema.get("type") {
        None => true,
        Some(Value::Array(names)) => names.iter().any(is),
        Some(name) => is(name),
    }
}
