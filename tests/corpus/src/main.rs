//! `whycrash-corpus folder` prints where the cases are laid out; `whycrash-corpus keep FOLDER…` takes cases into the
//! corpus of this checkout, in the place of those of the same names; `whycrash-corpus freeze FOLDER…` takes new ones
//! into the part that answers are judged by.

use std::path::Path;

use anyhow::bail;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR"));
    match words.as_slice() {
        ["folder"] => println!("{}", whycrash_corpus::folder().display()),
        ["keep", folders @ ..] if !folders.is_empty() => {
            for folder in folders {
                whycrash_corpus::keep(Path::new(folder), corpus)?;
            }
        }
        ["freeze", folders @ ..] if !folders.is_empty() => {
            for folder in folders {
                whycrash_corpus::freeze(Path::new(folder), corpus)?;
            }
        }
        _ => bail!("usage: whycrash-corpus folder | keep FOLDER… | freeze FOLDER…"),
    }
    Ok(())
}
