//! Finding causes by words.

use crate::cause::Cause;

/// A field's words, and how much a match in it says about the page.
struct Field {
    weight: f64,
    words: Vec<String>,
}

pub(crate) fn search<'c>(causes: &'c [Cause], query: &str) -> Vec<&'c Cause> {
    let phrase = words(query);
    let mut wanted = phrase.clone();
    wanted.sort();
    wanted.dedup();
    if wanted.is_empty() {
        return Vec::new();
    }
    let pages: Vec<Vec<Field>> = causes.iter().map(fields).collect();
    // One row per page: how well each wanted word matches it.
    let matches: Vec<Vec<f64>> = pages
        .iter()
        .map(|page| wanted.iter().map(|word| best_match(page, word)).collect())
        .collect();
    let rarity: Vec<f64> = (0..wanted.len()).map(|word| rarity(&matches, word)).collect();

    let mut hits: Vec<(f64, &Cause)> = causes
        .iter()
        .zip(pages.iter().zip(&matches))
        .filter(|(_, (_, row))| 2 * row.iter().filter(|m| **m > 0.0).count() >= wanted.len())
        .map(|(cause, (page, row))| {
            let words: f64 = row.iter().zip(&rarity).map(|(m, r)| m * r).sum();
            let together: f64 = phrase_match(page, &phrase) * rarity.iter().sum::<f64>();
            (words + together, cause)
        })
        .filter(|(score, _)| *score > 0.0)
        .collect();
    // Ids are unique, so that the order is total and the same every time.
    hits.sort_by(|(a, first), (b, second)| b.total_cmp(a).then_with(|| first.id.cmp(&second.id)));
    hits.into_iter().map(|(_, cause)| cause).collect()
}

fn fields(cause: &Cause) -> Vec<Field> {
    let field = |weight: f64, texts: &[String]| Field {
        weight,
        words: texts.iter().flat_map(|t| words(t)).collect(),
    };
    vec![
        field(10.0, std::slice::from_ref(&cause.id)),
        field(8.0, &cause.also),
        field(6.0, std::slice::from_ref(&cause.title)),
        field(5.0, &cause.tags),
        field(4.0, &cause.signs),
        field(2.0, std::slice::from_ref(&cause.summary)),
        field(1.0, std::slice::from_ref(&cause.body)),
    ]
}

/// The weight of the best field that has the word; half of it where a longer word only begins with it.
fn best_match(page: &[Field], word: &str) -> f64 {
    let of_field = |field: &Field| {
        if field.words.iter().any(|w| w == word) {
            field.weight
        } else if word.len() >= 3 && field.words.iter().any(|w| w.starts_with(word)) {
            field.weight / 2.0
        } else {
            0.0
        }
    };
    page.iter().map(of_field).fold(0.0, f64::max)
}

/// The weight of the best field that has the words one after the other, as they were asked for: "double free" is more
/// than "double" and "free".
fn phrase_match(page: &[Field], phrase: &[String]) -> f64 {
    if phrase.len() < 2 {
        return 0.0;
    }
    let has = |field: &&Field| field.words.windows(phrase.len()).any(|window| window == phrase);
    page.iter().filter(has).map(|field| field.weight).fold(0.0, f64::max)
}

/// Inverse document frequency: near zero for a word that every page has.
fn rarity(matches: &[Vec<f64>], word: usize) -> f64 {
    let having = matches
        .iter()
        .filter(|row| row.get(word).is_some_and(|m| *m > 0.0))
        .count();
    (1.0 + matches.len() as f64 / (1.0 + having as f64)).ln()
}

/// Lower-case words of letters and digits; everything else separates.
fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|w| !w.is_empty())
        .map(str::to_lowercase)
        .collect()
}
