//! `calibrate FILE`: fits how sure answers are shown to be to what was said of cases at first sight, and writes the map.

use std::fmt::Write as _;
use std::fs;

use anyhow::Context as _;
use whycrash_catalog::Catalog;
use whycrash_corpus::{Case, cases, frozen};
use whycrash_tests::isotonic::{Block, fitted};
use whycrash_tests::judge::page;

/// Answers that a share is told of at least: with fewer it could be anything.
const LEAST: usize = 20;
/// First tries of the first days, of which only the sums were kept: how sure rules said they were in the middle, answers,
/// and those of them that were right.
const EARLIER: [(f64, usize, usize); 4] = [(0.3, 154, 13), (0.55, 27, 15), (0.7, 31, 19), (0.9, 290, 266)];

fn main() -> anyhow::Result<()> {
    let path = std::env::args().nth(1).context("usage: calibrate FILE")?;
    let catalog = Catalog::embedded();
    let mut blocks: Vec<Block> = EARLIER
        .iter()
        .map(|(said, count, right)| Block {
            said: *said,
            count: *count,
            right: *right,
        })
        .collect();
    let all = [cases()?, frozen()?].concat();
    blocks.extend(all.iter().filter_map(|case| first_sight(case, &catalog)));
    let map = written(&fitted(blocks, LEAST));
    print!("{map}");
    fs::write(&path, map).with_context(|| format!("write {path}"))
}

/// What was said of a case at first sight, where somebody wrote down how sure its rule was.
fn first_sight(case: &Case, catalog: &Catalog) -> Option<Block> {
    let (label, first) = (&case.label, case.label.first.as_ref()?);
    let said = page(catalog, &first.cause);
    let mut right = label
        .alternatives
        .iter()
        .chain([&label.cause])
        .map(|cause| page(catalog, cause));
    Some(Block {
        said: first.said?,
        count: 1,
        right: usize::from(right.any(|cause| cause == said)),
    })
}

/// The map through the blocks, from nothing to what is a little short of certain.
fn written(blocks: &[Block]) -> String {
    let mut text = String::from(
        "# How sure rules are, and the share of answers so sure that are right. Written by `make calibrate`: each row but the\n\
         # first and the last is of answers at first sight, so many of which were right.\npoints = [\n  [0.0, 0.0],\n",
    );
    for block in blocks {
        let _ = writeln!(
            text,
            "  [{:.3}, {:.3}], # {} of {}",
            block.said,
            block.share(),
            block.right,
            block.count
        );
    }
    let most = blocks.last().map_or(0.0, Block::share);
    let _ = writeln!(text, "  [1.0, {:.3}],\n]", f64::midpoint(1.0, most));
    text
}
