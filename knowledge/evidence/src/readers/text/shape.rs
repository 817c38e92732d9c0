//! A text with its numbers taken out: what stays when the same thing is printed again.
//!
//! A number is a run of digits, or a whole word of hexadecimal digits: an address, a digest, a code.

use std::hash::Hasher;
use std::ops::Range;

use super::hash::Folding;

/// Numbers of a text that are told apart; all that come after count as one.
const NUMBERS: usize = 64;

/// Longest word that is taken for a hexadecimal number (a digest of 256 bits).
const HEX_DIGITS: usize = 64;

/// A hash of everything in a text but its numbers, which are added to `numbers`, each as a hash.
pub fn shape(text: &str, numbers: &mut Vec<u64>) -> u64 {
    let most = numbers.len() + NUMBERS;
    let mut hasher = Folding::default();
    for piece in pieces(text) {
        match piece {
            Piece::Words(words) => hasher.write(words.as_bytes()),
            Piece::Number(number) => {
                hasher.write_u8(0xff);
                add(numbers, most, number);
            }
        }
    }
    hasher.finish()
}

fn add(numbers: &mut Vec<u64>, most: usize, number: &str) {
    let value = number.bytes().fold(1, |value: u64, byte| {
        (value ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    if numbers.len() < most {
        numbers.push(value);
    } else if let Some(rest) = numbers.last_mut() {
        *rest = rest.wrapping_mul(31).wrapping_add(value);
    }
}

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    Words(&'a str),
    Number(&'a str),
}

/// Takes a text apart.
pub fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let number = first_number(rest.as_bytes());
        let (piece, end) = match number {
            Some(Range { start: 0, end }) => (Piece::Number(rest.get(..end)?), end),
            Some(Range { start, .. }) => (Piece::Words(rest.get(..start)?), start),
            None => (Piece::Words(rest), rest.len()),
        };
        rest = rest.get(end..)?;
        Some(piece)
    })
}

/// Where the first number stands.
fn first_number(bytes: &[u8]) -> Option<Range<usize>> {
    let digit = bytes.iter().position(u8::is_ascii_digit)?;
    let (before, after) = (bytes.get(..digit)?, bytes.get(digit..)?);
    let length = |part: &mut dyn Iterator<Item = &u8>, of: fn(&u8) -> bool| part.take_while(|byte| of(byte)).count();
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric();
    let start = digit - length(&mut before.iter().rev().take(HEX_DIGITS), is_word);
    let end = digit + length(&mut after.iter().take(HEX_DIGITS), is_word);
    let word = bytes.get(start..end)?;
    let digits = word.strip_prefix(b"0x").unwrap_or(word);
    if word.len() <= HEX_DIGITS && digits.iter().all(u8::is_ascii_hexdigit) {
        return Some(start..end);
    }
    Some(digit..digit + length(&mut after.iter(), u8::is_ascii_digit))
}

#[cfg(test)]
mod tests {
    use super::{Piece, pieces, shape};

    fn numbers(text: &str) -> Vec<&str> {
        let number = |piece| match piece {
            Piece::Number(number) => Some(number),
            Piece::Words(_) => None,
        };
        pieces(text).filter_map(number).collect()
    }

    #[test]
    fn numbers_are_told_from_words() {
        for (text, found) in [
            ("step 12 of 3.50", &["12", "3", "50"][..]),
            ("at 0x7f3a9c in f12", &["0x7f3a9c", "f12"]),
            ("rank3: GPU-1 took 12ms", &["3", "1", "12"]),
            ("a face is no number", &[]),
            ("größe 7€", &["7"]),
        ] {
            assert_eq!(numbers(text), found, "{text}");
        }
    }

    #[test]
    fn a_shape_is_the_same_whatever_the_numbers() {
        let of = |text: &str| {
            let mut numbers = Vec::new();
            (shape(text, &mut numbers), numbers)
        };
        let (first, second) = (of("GPU 0 at 0x7f00: 12 bytes"), of("GPU 1 at 0x7fff: 12 bytes"));
        assert_eq!(first.0, second.0);
        assert_eq!((first.1.len(), first.1[2]), (3, second.1[2]));
        assert_ne!(first.1[0], second.1[0]);
        assert_ne!(of("GPU 0").0, of("GPU x").0);
        let many = of(&"1 ".repeat(10_000));
        assert_eq!(many.1.len(), super::NUMBERS);
        assert_ne!(many.1, of(&format!("{}2 ", "1 ".repeat(9_999))).1);
    }
}
