//! Training values that are no numbers any more.

use super::Parts;
use crate::model::{Divergence, EventPayload};
use crate::readers::text::line::Line;
use crate::readers::text::rules::Rule;
use crate::readers::text::sink::Sink;
use crate::readers::text::{Block, blocks, regex};

/// A loss, a gradient's norm or a perplexity that is nan or infinite.
pub const RULE: Rule = Rule {
    literals: &[
        " nan",
        "=nan",
        ":nan",
        "(nan",
        "\"nan",
        "'nan",
        "=NaN",
        ":NaN",
        " NaN",
        "(NaN",
        "\"NaN",
        " NAN",
        "=inf",
        "= inf",
        ": inf",
        ":inf",
        " Infinity",
        " loss inf",
        "(inf",
    ],
    read,
};

/// `loss: nan`, `loss = NaN`, `'loss': nan`, `train/loss nan`, `grad_norm=inf`, `loss=tensor(nan, …`, `Loss is nan`,
/// `NaN loss`.
const VALUE: &str = r"(?i)(?:^|[^\w])(?P<quantity>[\w/. -]{0,24}?\b(?:[\w/.]*loss\w*|[\w/.]*grad(?:ient)?[_ ]?norm|gnorm|perplexity|ppl|[\w/.]*logits?|[\w/.]*gradients?))['\x22]?\s{0,3}(?:is now |is |are |became |turned |went to |=|:|\||->|\s)\s{0,3}['\x22\[(]?(?:tensor\()?(?P<value>[-+]?nan|[-+]?inf(?:inity)?)(?:[^\w-]|$)";

const BEFORE: &str = r"(?i)\b(?P<value>nan|inf)(?:\s+avg|\s+or\s+(?:nan|inf))?\s+(?:(?:was |is |were )?(?:detected|found|encountered)\s+(?:in|for|during)\s+(?:the\s+)?)?(?:value\s+(?:in|for)\s+)?(?:training\s+|the\s+)?(?P<quantity>loss|gradients?|grad norm)\b";

/// What a program says that it does in such a case has not happened: `aborts when the loss is nan`.
const SUPPOSED: &str = r"(?i)\b(?:if|when|whenever|once|until|unless|in case)\b(?: (?:the|a|any))?(?: [\w/]+)? (?:loss\w*|gradients?|grad[ _]norm|perplexity|logits?)\b(?: (?:is|are|becomes?|turns?|goes|go))+(?: to)? [-+]?(?:nan|inf)";

/// What a trainer leaves out it is not hurt by.
const SKIPPED: &str = r"(?i)\bskipp(?:ing|ed) (?:updating|the update|this|the (?:step|batch)|step|batch|update|optimizer)\b|\b(?:step|batch|update|iteration) (?:was |is )?skipped\b|\bwere ignored\b";

/// Where a run begins, infinity is what the first value is compared with.
const BESTS: [&str; 4] = ["best", "min", "prev", "last"];

fn read(line: &Line, sink: &mut Sink) -> Option<Box<dyn Block>> {
    // What an exception says of a value is the exception's.
    let is_of_exception = blocks::bare_exception(line.text).is_some() || line.text.trim_start().starts_with("what():");
    if line.is_quoted() || is_of_exception {
        return None;
    }
    let parts = Parts::of(regex!(VALUE), line.text).or_else(|| Parts::of(regex!(BEFORE), line.text))?;
    if regex!(SUPPOSED).is_match(line.text) || regex!(SKIPPED).is_match(line.text) {
        return None;
    }
    let words = parts.text("quantity")?.to_ascii_lowercase();
    let value = parts.text("value")?.to_ascii_lowercase();
    let is_start = value.contains("inf") && BESTS.iter().any(|best| words.contains(best));
    let quantity = quantity(&words);
    if !is_start {
        let step = Parts::of(
            regex!(r"(?i)\b(?:global_?)?(?:step|iter(?:ation)?|batch)\b['\x22]?\s{0,2}[:=#\[]?\s{0,8}(?P<step>\d+)"),
            line.text,
        );
        let divergence = Divergence {
            quantity: quantity.to_owned(),
            value: value.trim_start_matches(['-', '+']).to_owned(),
            step: step.and_then(|parts| parts.number("step")),
            rows: None,
        };
        let lines = [line.number, line.number];
        sink.event(EventPayload::Divergence(divergence), &line.origin, lines, line.text);
    }
    None
}

/// What the words, in lower case, that name a value of training name.
pub fn quantity(words: &str) -> &'static str {
    ["grad", "gnorm", "ppl", "perplexity", "logit"]
        .iter()
        .find(|part| words.contains(**part))
        .map_or("loss", |part| match *part {
            "grad" | "gnorm" => "gradient",
            "logit" => "logits",
            _ => "perplexity",
        })
}
