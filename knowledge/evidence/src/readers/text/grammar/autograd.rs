//! What `DistributedDataParallel` and autograd refuse.

use super::Parts;
use crate::model::{Autograd, EventPayload};
use crate::readers::text::line::Line;
use crate::readers::text::rules::Rule;
use crate::readers::text::sink::Sink;
use crate::readers::text::{Block, regex};

/// Refusals.
pub const RULE: Rule = Rule {
    literals: &[
        "Expected to have finished reduction in the prior iteration",
        "Parameter indices which did not receive grad",
        "Parameters which did not receive grad",
        "Expected to mark a variable ready only once",
        "modified by an inplace operation",
        "Trying to backward through the graph a second time",
        "returned nan values in its",
    ],
    read,
};

fn read(line: &Line, sink: &mut Sink) -> Option<Box<dyn Block>> {
    if line.is_quoted() {
        return None;
    }
    let autograd = autograd(line.text)?;
    sink.event(
        EventPayload::Autograd(autograd),
        &line.origin,
        [line.number, line.number],
        line.text,
    );
    None
}

fn autograd(text: &str) -> Option<Autograd> {
    let found = |family: &str, parameters: Vec<String>, detail: String| {
        Some(Autograd {
            family: family.to_owned(),
            parameters,
            detail,
        })
    };
    if let Some(parts) = Parts::of(
        regex!(r"(?P<detail>Parameter(?:s| indices) which did not receive grad for rank \d+: (?P<list>.+?))\s*$"),
        text,
    ) {
        let list = parts.text("list")?;
        let parameters = list
            .split([',', ' '])
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();
        return found("unused-parameters", parameters, parts.text("detail")?);
    }
    if text.contains("Expected to have finished reduction in the prior iteration") {
        return found("unused-parameters", Vec::new(), String::new());
    }
    if text.contains("Expected to mark a variable ready only once") {
        let parameter = Parts::of(
            regex!(r"Parameter at index (?P<n>\d+)(?: with name (?P<name>\S+))? has been marked as ready twice"),
            text,
        );
        let name = parameter.and_then(|parts| parts.text("name").or_else(|| parts.text("n")));
        return found("ready-twice", name.into_iter().collect(), String::new());
    }
    if let Some(parts) = Parts::of(
        regex!(r"modified by an inplace operation: (?P<detail>\[.*?\], which is .*?)(?:\. Hint|$)"),
        text,
    ) {
        return found("inplace", Vec::new(), parts.text("detail")?);
    }
    if text.contains("Trying to backward through the graph a second time") {
        return found("backward-twice", Vec::new(), String::new());
    }
    let parts = Parts::of(regex!(r"Function '(?P<detail>\w+)' returned nan values"), text)?;
    found("nan", Vec::new(), parts.text("detail")?)
}
