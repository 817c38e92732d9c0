//! The words that a recognise table can use: the kinds of events, their particulars, and the paths into the evidence and
//! into what the collector wrote down. They are read from the evidence model itself.

mod shape;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use whycrash_model::{EventPayload, Evidence, nearest};
use whycrash_recognise::{Flaw, LINE, Pattern, Scalar, Table, Test};

pub use self::shape::Shape;
use crate::suggestion::instead;

/// The member of the evidence with what the collector wrote down.
const CONTEXT: &str = "context";

/// What the collector writes down. Whoever sends a report may add to it.
pub const CONTEXT_MEMBERS: [&str; 36] = [
    "armed",
    "command",
    "cpu",
    "cuda",
    "cuda_driver",
    "cwd",
    "driver",
    "ended",
    "environment",
    "exit",
    "failures",
    "forward_compatibility",
    "gpu_notes",
    "gpu_timeline",
    "gpus",
    "host",
    "job",
    "kernel",
    "kernel_driver",
    "kind",
    "limits",
    "memory",
    "oom_kills",
    "os",
    "packages",
    "pid",
    "processes",
    "python",
    "rank",
    "scheduler",
    "signals_received",
    "stall",
    "started",
    "unavailable",
    "whycrash_context",
    "world_size",
];

/// Members of the evidence that are parts of their own, and no facts.
const NO_FACTS: [&str; 1] = ["memory_curves"];

/// The kinds of evidence that a plugin can need, besides events of a kind.
pub const EVIDENCE: [&str; 8] = [
    "crash",
    "threads",
    "memory-snapshots",
    "collectives",
    "gpu-cores",
    "events",
    "context",
    "text",
];
/// What stands before the kind of an event, where a plugin needs one.
const EVENT: &str = "event:";

/// A kind of event.
#[derive(Clone, Debug)]
pub struct Kind {
    /// Its particulars, by name.
    pub particulars: BTreeMap<String, Shape>,
}

/// The words that a recognise table can use.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    /// The kinds of events, by name; lines among them.
    pub kinds: BTreeMap<String, Kind>,
    /// Paths into the evidence.
    pub facts: BTreeMap<String, Shape>,
}

impl Vocabulary {
    /// The words of this program's evidence model.
    pub fn of_model() -> &'static Self {
        static WORDS: LazyLock<Vocabulary> = LazyLock::new(|| {
            let mut kinds: BTreeMap<String, Kind> = Shape::kinds_of::<EventPayload>()
                .into_iter()
                .map(|(name, particulars)| (name, Kind { particulars }))
                .collect();
            let of_line = BTreeMap::from([("artifact".to_owned(), Shape::Text)]);
            kinds.insert(LINE.to_owned(), Kind { particulars: of_line });
            let mut facts = Shape::of::<Evidence>().into_members();
            facts.retain(|name, _| !NO_FACTS.contains(&name.as_str()));
            // What is known of other reports is no evidence of this one.
            facts.insert("history".to_owned(), Shape::Any);
            Vocabulary { kinds, facts }
        });
        &WORDS
    }

    /// What is wrong with the words of a table, if anything.
    pub fn flaws(&self, table: &Table) -> Vec<Flaw> {
        let mut flaws = self.of_event(&table.kind, &table.particulars, &[]);
        for (member, patterns) in [("with", &table.with), ("without", &table.without)] {
            for (number, Pattern { kind, particulars, .. }) in patterns.iter().enumerate() {
                flaws.extend(self.of_event(kind, particulars, &[member, &number.to_string()]));
            }
        }
        for (path, test) in &table.facts {
            flaws.extend(
                self.of_fact(path, test)
                    .map(|message| Flaw::new(&["facts", path], message)),
            );
        }
        for path in table.context.keys() {
            flaws.extend(of_context(path).map(|message| Flaw::new(&["context", path], message)));
        }
        flaws
    }

    fn of_event(&self, kind: &str, particulars: &BTreeMap<String, Test>, at: &[&str]) -> Vec<Flaw> {
        let flaw = |path: &[&str], message: String| Flaw::new(path, message).within(at);
        let Some(known) = self.kinds.get(kind) else {
            let kinds = self.kinds.keys().map(String::as_str);
            let message = format!("there is no kind of event `{kind}`; {}", instead(kind, kinds));
            return vec![flaw(&["kind"], message)];
        };
        let of_particular = |(path, test): (&String, &Test)| {
            let message = if kind == LINE && path == "message" {
                Some("what a line says is held against `text`, and no particular".to_owned())
            } else {
                let root = format!("`{kind}` events have no particular");
                walk(&root, &known.particulars, path, test)
            };
            message.map(|message| flaw(&["where", path], message))
        };
        particulars.iter().filter_map(of_particular).collect()
    }

    fn of_fact(&self, path: &str, test: &Test) -> Option<String> {
        let path = dotted(path);
        let (first, rest) = path.split_once('.').unwrap_or((&path, ""));
        if first == CONTEXT {
            return of_context(rest);
        }
        if !self.facts.contains_key(first) && CONTEXT_MEMBERS.contains(&first) {
            return Some(format!(
                "there is no fact `{first}`; what the collector wrote down is asked for as `context.{path}`"
            ));
        }
        walk("there is no fact", &self.facts, &path, test)
    }

    /// What is wrong with a kind of evidence that a plugin says it needs, if anything.
    pub fn of_need(&self, need: &str) -> Option<String> {
        let events = self.kinds.keys().filter(|kind| *kind != LINE);
        let events: Vec<String> = events.map(|kind| format!("{EVENT}{kind}")).collect();
        let known = || EVIDENCE.into_iter().chain(events.iter().map(String::as_str));
        if known().any(|known| known == need) {
            return None;
        }
        // The kind of an event, without what says that it is one.
        let event = format!("{EVENT}{need}");
        let meant = match events.contains(&event) {
            true => format!("did you mean `{event}`?"),
            false => instead(need, known()),
        };
        Some(format!("there is no such kind of evidence; {meant}"))
    }
}

/// A JSON pointer as a dotted path; a dotted path as it is.
fn dotted(path: &str) -> String {
    path.strip_prefix('/')
        .map_or_else(|| path.to_owned(), |pointer| pointer.replace('/', "."))
}

/// What is wrong with a path into what the collector wrote down. A member that is like none of those that it writes may be
/// somebody else's.
fn of_context(path: &str) -> Option<String> {
    let path = dotted(path);
    let first = path.split('.').next().unwrap_or_default();
    if first.is_empty() || CONTEXT_MEMBERS.contains(&first) {
        return None;
    }
    let meant = nearest(first, CONTEXT_MEMBERS)?;
    Some(format!("the collector writes no `{first}`; did you mean `{meant}`?"))
}

/// What is wrong with a path through members, or with what is asked of what is there.
fn walk(root: &str, members: &BTreeMap<String, Shape>, path: &str, test: &Test) -> Option<String> {
    let (first, mut rest) = path.split_once('.').unwrap_or((path, ""));
    let Some(mut shape) = members.get(first) else {
        return Some(format!(
            "{root} `{first}`; {}",
            instead(first, members.keys().map(String::as_str))
        ));
    };
    let mut done = first.to_owned();
    while !rest.is_empty() {
        let (name, after) = rest.split_once('.').unwrap_or((rest, ""));
        shape = match shape {
            Shape::Any => return None,
            Shape::Map(of) => {
                // A name of a map may have dots itself: what comes last is it.
                if !matches!(**of, Shape::Object(_) | Shape::List(_) | Shape::Map(_)) {
                    return misfit(of, test);
                }
                of
            }
            Shape::List(of) if name.parse::<usize>().is_ok() => of,
            Shape::List(_) => {
                return Some(format!(
                    "`{done}` is a list: ask for an entry of it, such as `{done}.0.{rest}`"
                ));
            }
            Shape::Object(members) => match members.get(name) {
                Some(member) => member,
                None => {
                    let there = members.keys().map(String::as_str);
                    return Some(format!("`{done}` has no `{name}`; {}", instead(name, there)));
                }
            },
            leaf => return Some(format!("`{done}` is {}, and has no `{name}`", leaf.in_words())),
        };
        done = format!("{done}.{name}");
        rest = after;
    }
    misfit(shape, test)
}

/// What is asked for that such a value never is.
fn misfit(shape: &Shape, test: &Test) -> Option<String> {
    let members = match test {
        Test::Is(scalar) => return misfit_of(shape, scalar),
        Test::All(members) => members,
    };
    let scalars = members.one_of.iter().chain(&members.none_of);
    let range = members.from.or(members.to).map(Scalar::Number);
    let is_of_whole = shape.is_of_parts() && (members.matches.is_some() || members.lacks.is_some());
    scalars
        .chain(&range)
        .find_map(|scalar| misfit_of(shape, scalar))
        .or_else(|| is_of_whole.then(|| format!("it is {}: ask for an entry of it", shape.in_words())))
}

fn misfit_of(shape: &Shape, scalar: &Scalar) -> Option<String> {
    let (what, written) = match scalar {
        Scalar::Flag(flag) => ("`true` or `false`", flag.to_string()),
        Scalar::Number(number) => ("a number", number.to_string()),
        Scalar::Text(text) => ("a text", format!("{text:?}")),
    };
    let fits = match (shape, scalar) {
        (Shape::Any, _)
        | (Shape::Flag, Scalar::Flag(_))
        | (Shape::Number, Scalar::Number(_))
        | (Shape::Text, Scalar::Text(_)) => true,
        (Shape::Words(words), Scalar::Text(text)) => {
            if words.contains(text) {
                return None;
            }
            let there = words.iter().map(String::as_str);
            return Some(format!("it is never {written}; {}", instead(text, there)));
        }
        _ => false,
    };
    (!fits).then(|| format!("it is {}, and {written} is {what}", shape.in_words()))
}
