//! Which literals make a line worth reading, and by whom.

use std::sync::LazyLock;

use aho_corasick::automaton::{Automaton, StateID};
use aho_corasick::dfa::DFA;
use aho_corasick::{Anchored, MatchKind, StartKind};

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
    automaton: DFA,
    start: StateID,
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
        let automaton = DFA::builder()
            .match_kind(MatchKind::Standard)
            .start_kind(StartKind::Unanchored)
            .prefilter(false)
            .build(literals.iter().map(|(_, literal)| literal))
            .expect("the fixed literals fit an automaton");
        Self {
            start: automaton
                .start_state(Anchored::No)
                .expect("it was built for searches that are not anchored"),
            automaton,
            owner: literals.iter().map(|(index, _)| *index).collect(),
            all: rules,
        }
    }

    /// The rules whose literals a line has: those that may read it.
    pub fn matching(&self, line: &[u8]) -> RuleSet {
        self.rest(self.start, line)
    }

    /// The same of two lines. They are gone through side by side, since each step of the automaton waits for the one
    /// before, and two of them wait at once.
    pub fn matching_both(&self, one: &[u8], other: &[u8]) -> [RuleSet; 2] {
        let (mut left, mut right) = (self.start, self.start);
        let (mut left_set, mut right_set) = (0, 0);
        for (a, b) in one.iter().zip(other) {
            left = self.automaton.next_state(Anchored::No, left, *a);
            right = self.automaton.next_state(Anchored::No, right, *b);
            if self.automaton.is_special(left) {
                left_set |= self.ending_at(left);
            }
            if self.automaton.is_special(right) {
                right_set |= self.ending_at(right);
            }
        }
        let both = one.len().min(other.len());
        [
            left_set | self.rest(left, one.get(both..).unwrap_or_default()),
            right_set | self.rest(right, other.get(both..).unwrap_or_default()),
        ]
    }

    /// The rules whose literals end in what is left of a line, from a state of the automaton on.
    fn rest(&self, mut state: StateID, line: &[u8]) -> RuleSet {
        let mut set = 0;
        for byte in line {
            state = self.automaton.next_state(Anchored::No, state, *byte);
            if self.automaton.is_special(state) {
                set |= self.ending_at(state);
            }
        }
        set
    }

    /// The rules whose literals end in this state.
    #[cold]
    #[inline(never)]
    fn ending_at(&self, state: StateID) -> RuleSet {
        if !self.automaton.is_match(state) {
            return 0;
        }
        let literals = (0..self.automaton.match_len(state)).map(|index| self.automaton.match_pattern(state, index));
        let rules = literals.filter_map(|literal| self.owner.get(literal.as_usize()));
        rules.fold(0, |set, rule| set | 1 << rule)
    }

    /// The rules of a set with their numbers, in their own order.
    pub fn of(&self, set: RuleSet) -> impl Iterator<Item = (usize, &Rule)> {
        self.all
            .iter()
            .enumerate()
            .filter(move |(index, _)| set >> index & 1 == 1)
    }
}
