//! A line that never falls, through answers that were right or wrong.

/// Answers whose rules were about as sure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block {
    /// How sure they said they were, on average.
    pub said: f64,
    /// Answers.
    pub count: usize,
    /// Answers that were right.
    pub right: usize,
}

impl Block {
    /// The share that is right, drawn towards a half by one answer of each kind, so that few answers promise little.
    pub fn share(&self) -> f64 {
        (self.right + 1) as f64 / (self.count + 2) as f64
    }

    fn joined(self, other: Self) -> Self {
        let count = self.count + other.count;
        Self {
            said: (self.said * self.count as f64 + other.said * other.count as f64) / count as f64,
            count,
            right: self.right + other.right,
        }
    }
}

/// Blocks of at least so many answers, each of which is right more often than the one before it (pool adjacent
/// violators: Ayer et al., 1955).
pub fn fitted(blocks: Vec<Block>, least: usize) -> Vec<Block> {
    grouped(blocks, least)
        .into_iter()
        .fold(Vec::new(), |mut fitted, mut block| {
            while let Some(last) = fitted.pop_if(|last: &mut Block| last.share() >= block.share()) {
                block = last.joined(block);
            }
            fitted.push(block);
            fitted
        })
}

/// Neighbours joined until each has so many answers; what is left at the end goes to the last.
fn grouped(mut blocks: Vec<Block>, least: usize) -> Vec<Block> {
    blocks.sort_by(|a, b| a.said.total_cmp(&b.said));
    let mut grouped: Vec<Block> = Vec::new();
    for block in blocks {
        match grouped.pop_if(|last| last.count < least) {
            Some(last) => grouped.push(last.joined(block)),
            None => grouped.push(block),
        }
    }
    if let Some(last) = grouped.pop_if(|last| last.count < least) {
        match grouped.pop() {
            Some(before) => grouped.push(before.joined(last)),
            None => grouped.push(last),
        }
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::{Block, fitted};

    fn block(said: f64, right: usize, count: usize) -> Block {
        Block { said, count, right }
    }

    #[test]
    fn what_rises_stays_and_what_falls_is_joined() {
        let rising = vec![block(0.5, 5, 10), block(0.9, 19, 20)];
        assert_eq!(fitted(rising.clone(), 5), rising);
        let falling = vec![block(0.9, 16, 20), block(0.8, 20, 20), block(0.5, 5, 10)];
        let fitted = fitted(falling, 5);
        assert_eq!(fitted.len(), 2);
        assert_eq!((fitted[1].right, fitted[1].count), (36, 40));
        assert!((fitted[1].said - 0.85).abs() < 1e-9);
    }

    #[test]
    fn few_answers_are_no_block_of_their_own() {
        let blocks = vec![block(0.3, 0, 2), block(0.5, 10, 20), block(0.9, 3, 3)];
        let fitted = fitted(blocks, 10);
        assert_eq!(fitted.len(), 1);
        assert_eq!((fitted[0].right, fitted[0].count), (13, 25));
        assert_eq!(super::fitted(Vec::new(), 10), []);
    }
}
