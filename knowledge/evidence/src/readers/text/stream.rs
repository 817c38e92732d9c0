//! What one writer among those of a text has open.

use super::allowance::RuleSet;
use super::known::Path;
use super::line::Line;
use super::rules::Rules;
use super::sink::Sink;
use super::{Block, Next};

/// A stream in the middle of something.
#[derive(Debug)]
pub enum Stream {
    /// Blocks are open; the path is that of the lines since none was.
    Open { blocks: Vec<OpenBlock>, path: Box<Path> },
    /// So far, its lines are the beginning of a path that was read before.
    Known(Box<Path>),
}

impl Stream {
    /// Its lines since nothing was open.
    pub fn path(&self) -> &Path {
        match self {
            Self::Open { path, .. } | Self::Known(path) => path,
        }
    }

    /// The last line that it got.
    pub fn last_line(&self) -> u64 {
        match self {
            Self::Open { blocks, .. } => blocks.iter().map(|open| open.last_line).max().unwrap_or_default(),
            Self::Known(path) => path.last_line(),
        }
    }
}

#[derive(Debug)]
pub struct OpenBlock {
    pub block: Box<dyn Block>,
    /// The rule that opened it.
    pub rule: usize,
    last_line: u64,
}

/// How the open blocks took a line.
#[derive(Default)]
pub struct Taken {
    /// The rules whose blocks it is part of.
    pub by: RuleSet,
    /// One of them says that the line only quotes.
    pub quoted: bool,
}

/// Offers a line to the open blocks; those that end with it or before it are finished.
pub fn offer(blocks: &mut Vec<OpenBlock>, line: &Line, sink: &mut Sink) -> Taken {
    let mut taken = Taken::default();
    for mut open in std::mem::take(blocks) {
        let next = open.block.next(line);
        if next != Next::Ended {
            taken.by |= 1 << open.rule;
            taken.quoted |= next == Next::Quoted;
        }
        match next {
            Next::More | Next::Quoted => blocks.push(OpenBlock {
                last_line: line.number,
                ..open
            }),
            Next::Last | Next::Ended => open.block.finish(sink),
        }
    }
    taken
}

/// Has these rules read a line: the blocks that it opens.
pub fn open(rules: &Rules, set: RuleSet, line: &Line, sink: &mut Sink) -> Vec<OpenBlock> {
    let opened = rules.of(set).filter_map(|(rule, grammar)| {
        Some(OpenBlock {
            block: (grammar.read)(line, sink)?,
            rule,
            last_line: line.number,
        })
    });
    opened.collect()
}
