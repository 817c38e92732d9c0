//! Regular expressions of plugins: bounded before they are parsed, while they are compiled, and while they search.
//!
//! A lazy automaton finds matches at the speed of the text, and gives up at a place that depends on pattern and text
//! alone when the pattern makes it slow. What it can not do, a simulation does that is charged with its worst case.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use regex_automata::hybrid::dfa::{self, DFA};
use regex_automata::nfa::thompson::{self, pikevm, pikevm::PikeVM};
use regex_automata::util::prefilter::Prefilter;
use regex_automata::util::syntax;
use regex_automata::{Input, MatchKind};

use super::spending::{ENTRY, Spending, Stopped};

/// Bytes of a pattern. It bounds what parsing costs, which no limit of the parser does.
pub(super) const PATTERN_BYTES: usize = 2 << 10;
/// Groups in groups.
const NESTING: u32 = 64;
/// Patterns kept of one report.
const KEPT: usize = 16;
/// How often the lazy automaton may start over before it is looked at how much text that was good for.
const RESTARTS: usize = 3;
/// Bytes of text that each of its states must be good for, at least; large automata need more.
const BYTES_PER_STATE: usize = 10;

/// The patterns that plugins search one report for, each compiled once.
#[derive(Debug, Default)]
pub(crate) struct Patterns(Mutex<BTreeMap<(String, usize), Compiled>>);

/// A pattern, or what is wrong with it.
type Compiled = Result<Arc<Pattern>, String>;

impl Patterns {
    /// The pattern, compiled to automata of at most so many bytes.
    pub(super) fn get(&self, pattern: &str, bytes: usize) -> Compiled {
        if pattern.len() > PATTERN_BYTES {
            return Err(format!(
                "the pattern has {} bytes, more than the {PATTERN_BYTES} that are allowed",
                pattern.len()
            ));
        }
        let key = (pattern.to_owned(), bytes);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.get(&key) {
            return known.clone();
        }
        let compiled = Pattern::new(pattern, bytes).map(Arc::new);
        if kept.len() >= KEPT {
            kept.pop_first();
        }
        kept.insert(key, compiled.clone());
        compiled
    }
}

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Pattern {
    /// Finds places where a match may begin, if the pattern says enough about them.
    prefilter: Option<Prefilter>,
    lazy: DFA,
    simulation: PikeVM,
}

impl Pattern {
    fn new(pattern: &str, bytes: usize) -> Result<Self, String> {
        let syntax = syntax::Config::new().utf8(false).nest_limit(NESTING);
        let tree = syntax::parse_with(pattern, &syntax).map_err(|error| error.to_string())?;
        let config = thompson::Config::new().utf8(false).nfa_size_limit(Some(bytes));
        let automaton = thompson::Compiler::new()
            .configure(config)
            .build_from_hir(&tree)
            .map_err(|error| error.to_string())?;
        let states = automaton.states().len();
        let lazy = DFA::config()
            .cache_capacity(bytes)
            .skip_cache_capacity_check(true)
            .unicode_word_boundary(true)
            .minimum_cache_clear_count(Some(RESTARTS))
            .minimum_bytes_per_state(Some(BYTES_PER_STATE.max(states / 8)));
        let lazy = dfa::Builder::new().configure(lazy).build_from_nfa(automaton.clone());
        Ok(Self {
            prefilter: Prefilter::from_hir_prefix(MatchKind::LeftmostFirst, &tree),
            lazy: lazy.map_err(|error| error.to_string())?,
            simulation: PikeVM::new_from_nfa(automaton).map_err(|error| error.to_string())?,
        })
    }

    /// One search, which keeps what it learns from line to line.
    pub(super) fn searcher(&self) -> Searcher<'_> {
        Searcher {
            pattern: self,
            lazy: Some(self.lazy.create_cache()),
            simulation: None,
        }
    }
}

/// A search over many lines.
pub(super) struct Searcher<'a> {
    pattern: &'a Pattern,
    /// Absent once it gave up.
    lazy: Option<dfa::Cache>,
    simulation: Option<pikevm::Cache>,
}

impl Searcher<'_> {
    /// Whether the pattern matches somewhere in the line.
    pub(super) fn is_match(&mut self, line: &[u8], spending: &Spending) -> Result<bool, Stopped> {
        spending.charge(ENTRY / 2)?;
        let input = Input::new(line).earliest(true);
        let may_match = |prefilter: &Prefilter| prefilter.find(line, input.get_span()).is_some();
        if !self.pattern.prefilter.as_ref().is_none_or(may_match) {
            return Ok(false);
        }
        if let Some(cache) = &mut self.lazy {
            match self.pattern.lazy.try_search_fwd(cache, &input) {
                Ok(found) => return Ok(found.is_some()),
                // A word boundary beside a letter that is not of ASCII: this line only.
                Err(error) if matches!(*error.kind(), regex_automata::MatchErrorKind::Quit { .. }) => {}
                Err(_) => self.lazy = None,
            }
        }
        self.simulate(&input, spending)
    }

    fn simulate(&mut self, input: &Input<'_>, spending: &Spending) -> Result<bool, Stopped> {
        let simulation = &self.pattern.simulation;
        let states = simulation.get_nfa().states().len() as u64;
        spending.charge(states.saturating_mul(input.haystack().len() as u64 + 1) / 2)?;
        let cache = self.simulation.get_or_insert_with(|| simulation.create_cache());
        Ok(simulation.is_match(cache, input.clone()))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const BYTES: usize = 1 << 20;

    fn matches(pattern: &str, line: &str) -> bool {
        let spending = Spending::new(u64::MAX, Duration::from_secs(3600));
        let pattern = Pattern::new(pattern, BYTES).expect("it compiles");
        pattern
            .searcher()
            .is_match(line.as_bytes(), &spending)
            .expect("it ends")
    }

    #[test]
    fn it_finds_what_the_regex_crate_finds() {
        let lines = [
            "",
            "step 1",
            "naïve café",
            "CUDA out of memory",
            "a\u{fffd}b",
            "Ж word ж",
            "error: x",
            "(?i)",
        ];
        let patterns = [
            "step",
            "^step \\d$",
            "\\bword\\b",
            "(?i)cuda OUT",
            "caf.$",
            "x*y*z*",
            "^$",
            "[^a-z]{3}",
            "\\w+ \\w+",
            "^.+$",
            "\\Bord",
        ];
        for pattern in patterns {
            let reference = regex::bytes::Regex::new(pattern).expect("it compiles");
            for line in lines {
                assert_eq!(
                    matches(pattern, line),
                    reference.is_match(line.as_bytes()),
                    "{pattern} in {line}"
                );
            }
        }
    }

    #[test]
    fn a_long_pattern_is_refused_before_it_is_parsed() {
        let refused = Patterns::default().get(&"\\w".repeat(1 << 20), BYTES).unwrap_err();
        assert!(refused.contains("more than the 2048 that are allowed"), "{refused}");
    }

    #[test]
    fn a_pattern_is_compiled_once_for_a_report_and_few_are_kept() {
        let patterns = Patterns::default();
        let first = patterns.get("one", BYTES).expect("it compiles");
        assert!(Arc::ptr_eq(&first, &patterns.get("one", BYTES).expect("it is kept")));
        for number in 0..100 {
            let _ = patterns.get(&format!("{number:03}"), BYTES);
        }
        assert_eq!(patterns.0.lock().expect("nobody panicked").len(), KEPT);
    }

    #[test]
    fn a_pattern_that_makes_the_automaton_slow_is_charged_for_it() {
        // Each place may begin a match that is decided 100 letters later: as many states as there are subsets. It ends
        // with no letter that could be looked for first.
        let slow = Pattern::new("[ab]*a[ab]{100}[^a-z]", BYTES).expect("it compiles");
        // Xorshift (Marsaglia 2003): simpler sequences have few different pieces of that length.
        let mut state = 1_u64;
        let mut letter = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            if state & 1 == 0 { b'a' } else { b'b' }
        };
        let line: Vec<u8> = (0..60_000).map(|_| letter()).collect();
        let fuel = |pattern: &Pattern| {
            let spending = Spending::new(u64::MAX, Duration::from_secs(3600));
            let found = pattern.searcher().is_match(&line, &spending).expect("it ends");
            assert!(!found);
            spending.charged()
        };
        let quick = Pattern::new("needle", BYTES).expect("it compiles");
        let (costly, cheap) = (fuel(&slow), fuel(&quick));
        assert!(costly > 1000 * cheap, "{costly} and {cheap}");
        assert_eq!(costly, fuel(&slow), "the same every time");
    }
}
