//! Compares stacks by the names of their functions.

use super::table::Score;

/// A frame that nothing names.
pub const UNNAMED: &str = "??";

/// How well two stacks agree, in frames.
#[derive(Clone, Copy, Debug, Default)]
pub struct Agreement {
    /// Frames that the reference has.
    expected: usize,
    /// Of those, the ones found, in order.
    found: usize,
    /// Frames that the reference does not have.
    invented: usize,
}

impl Agreement {
    /// Longest common subsequence: what both have, in the same order.
    pub fn of(expected: &[String], found: &[String]) -> Self {
        Self::by(expected, found, |expected, found| expected == found)
    }

    /// The same, of frames that are alike by `same`.
    pub fn by<E, F>(expected: &[E], found: &[F], same: impl Fn(&E, &F) -> bool) -> Self {
        let mut row = vec![0_usize; found.len() + 1];
        for expected in expected {
            let mut diagonal = 0;
            for (index, found) in found.iter().enumerate() {
                let above = row[index + 1];
                row[index + 1] = if same(expected, found) {
                    diagonal + 1
                } else {
                    above.max(row[index])
                };
                diagonal = above;
            }
        }
        let common = row[found.len()];
        Self {
            expected: expected.len(),
            found: common,
            invented: found.len() - common,
        }
    }

    pub fn add(&mut self, other: Self) {
        self.expected += other.expected;
        self.found += other.found;
        self.invented += other.invented;
    }

    pub fn is_exact(self) -> bool {
        self.found == self.expected && self.invented == 0
    }

    /// Frames of the reference that were found.
    pub fn recall(self) -> Score {
        Score {
            agree: self.found,
            expected: self.expected,
        }
    }

    /// Frames found that the reference has.
    pub fn precision(self) -> Score {
        Score {
            agree: self.found,
            expected: self.found + self.invented,
        }
    }
}

/// Prints what one of two stacks has and the other has not.
pub fn show_difference(title: &str, expected: &[String], found: &[String]) {
    println!("  {title}");
    for (mark, ours, theirs) in [("-", found, expected), ("+", expected, found)] {
        for name in theirs.iter().filter(|name| !ours.contains(name)) {
            println!("    {mark} {name}");
        }
    }
    if expected.len() != found.len() {
        println!("    {} frames expected, {} found", expected.len(), found.len());
    }
}

/// Names without parameters: debuggers leave them on where their own parser gives up on a name.
pub fn comparable(name: Option<&str>) -> String {
    let Some(name) = name else { return UNNAMED.to_owned() };
    let mut name = name;
    while let Some(shorter) = [" const", " &&", " &"].iter().find_map(|tail| name.strip_suffix(tail)) {
        name = shorter;
    }
    if !name.ends_with(')') || name.ends_with("operator()") {
        return name.to_owned();
    }
    let mut depth = 0;
    let start = name.char_indices().rev().find(|(_, character)| {
        depth += match character {
            ')' => 1,
            '(' => -1,
            _ => 0,
        };
        depth == 0
    });
    start.map_or(name, |(index, _)| &name[..index]).to_owned()
}
