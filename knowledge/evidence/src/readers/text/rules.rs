//! Which literals make a line worth reading, and by whom.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::allowance::RuleSet;
use super::line::Line;
use super::sink::Sink;
use super::{Block, blocks, grammar};

/// A grammar, and the literals one of which every line it can read has.
pub struct Rule {
    pub literals: &'static [&'static str],
    /// Reads the line: puts events into the sink, or opens a block that starts with it.
    pub read: fn(&Line, &mut Sink) -> Option<Box<dyn Block>>,
}

/// All rules, behind one automaton over their literals.
pub struct Rules {
    automaton: AhoCorasick,
    all: Vec<Rule>,
    /// The rule of each of the automaton's patterns.
    owner: Vec<usize>,
}

static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::new(blocks::rules().chain(grammar::rules()).collect()));

impl Rules {
    pub fn get() -> &'static Self {
        &RULES
    }

    fn new(rules: Vec<Rule>) -> Self {
        let literals: Vec<(usize, &str)> = rules
            .iter()
            .enumerate()
            .flat_map(|(index, rule)| rule.literals.iter().map(move |literal| (index, *literal)))
            .collect();
        assert!(rules.len() <= RuleSet::BITS as usize, "a rule is a bit of a set");
        let automaton = AhoCorasick::builder()
            .kind(Some(AhoCorasickKind::DFA))
            .match_kind(MatchKind::Standard)
            .build(literals.iter().map(|(_, literal)| literal))
            .expect("the fixed literals fit an automaton");
        Self {
            automaton,
            owner: literals.iter().map(|(index, _)| *index).collect(),
            all: rules,
        }
    }

    /// True when any rule may read the line.
    pub fn is_match(&self, line: &[u8]) -> bool {
        self.automaton.is_match(line)
    }

    /// The rules whose literals the line has.
    pub fn matching(&self, line: &[u8]) -> RuleSet {
        let found = self.automaton.find_overlapping_iter(line);
        found
            .filter_map(|found| self.owner.get(found.pattern().as_usize()))
            .fold(0, |set, rule| set | 1 << rule)
    }

    /// The rules of a set with their numbers, in their own order.
    pub fn of(&self, set: RuleSet) -> impl Iterator<Item = (usize, &Rule)> {
        self.all
            .iter()
            .enumerate()
            .filter(move |(index, _)| set >> index & 1 == 1)
    }
}
