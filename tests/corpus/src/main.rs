//! `whycrash-corpus folder` prints where the cases are laid out; `whycrash-corpus keep FOLDER…` takes cases into the
//! corpus of this checkout, in the place of those of the same names.

use std::path::Path;

use anyhow::bail;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["folder"] => println!("{}", whycrash_corpus::folder().display()),
        ["keep", folders @ ..] if !folders.is_empty() => {
            let corpus = Path::new(env!("CARGO_MANIFEST_DIR"));
            for folder in folders {
                whycrash_corpus::keep(Path::new(folder), corpus)?;
            }
        }
        _ => bail!("usage: whycrash-corpus folder | keep FOLDER…"),
    }
    Ok(())
}
