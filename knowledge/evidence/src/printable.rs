//! Text from artifacts, file names and servers, made safe to show.
//!
//! A log that is printed as it is can move the cursor, rewrite what stands above it, set the clipboard, or make a name
//! read backwards. Everything that reaches a terminal or a log goes through here, where it is written.

use std::borrow::Cow;
use std::io::Write;
use std::ops::RangeInclusive;

/// What stands for a character that must not be shown.
const MARK: char = char::REPLACEMENT_CHARACTER;
/// Columns of a tab.
const TAB: &str = "    ";
const ESCAPE: char = '\u{1b}';

/// The text as one line that a terminal only shows: escape sequences and characters of no width are left out, line ends
/// become a space, tabs four, and every other control character or bidirectional override `U+FFFD`.
pub fn printable(text: &str) -> Cow<'_, str> {
    let Some(first) = text.find(is_active) else {
        return Cow::Borrowed(text);
    };
    let (kept, mut rest) = text.split_at(first);
    let mut plain = kept.to_owned();
    while let Some(c) = rest.chars().next() {
        if let Some(length) = sequence(rest) {
            rest = rest.get(length..).unwrap_or_default();
            continue;
        }
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
        match c {
            '\t' => plain.push_str(TAB),
            '\n'..='\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => plain.push(' '),
            _ if is_invisible(c) => {}
            _ if is_active(c) => plain.push(MARK),
            _ => plain.push(c),
        }
    }
    Cow::Owned(plain)
}

/// The text with each of its lines made [`printable`]: line ends stay, and nothing else that a terminal would act on.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    if !text.contains(|c| c != '\n' && is_active(c)) {
        return Cow::Borrowed(text);
    }
    let lines: Vec<_> = text.split('\n').map(printable).collect();
    Cow::Owned(lines.join("\n"))
}

/// JSON of the same value in which nothing but plain characters is left: the others are written as `\uXXXX`. Line ends
/// and tabs between values stay.
pub fn printable_json(json: &str) -> Cow<'_, str> {
    let is_hidden = |c: char| is_active(c) && !matches!(c, '\n' | '\t');
    if !json.contains(is_hidden) {
        return Cow::Borrowed(json);
    }
    let mut plain = String::with_capacity(json.len() + 64);
    for c in json.chars() {
        if is_hidden(c) {
            let units = c
                .encode_utf16(&mut [0; 2])
                .iter()
                .map(|unit| format!("\\u{unit:04x}"))
                .collect::<String>();
            plain.push_str(&units);
        } else {
            plain.push(c);
        }
    }
    Cow::Owned(plain)
}

/// Whether a terminal may do something else with the character than show it.
fn is_active(c: char) -> bool {
    c.is_control() || is_bidirectional(c) || is_invisible(c) || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Makes what follows run in the other direction, or end such a run (Unicode Annex 9).
fn is_bidirectional(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Takes no room, so that two texts that differ look the same (`Default_Ignorable_Code_Point` in Unicode's
/// `DerivedCoreProperties.txt`, without the selectors of emoji).
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200d}'
            | '\u{2060}'..='\u{2065}'
            | '\u{206a}'..='\u{206f}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Bytes of the escape sequence at the start of the text (ECMA-48, 5.3 to 5.6), in its form of two characters or of
/// one; none for other text, and for a sequence that does not end.
fn sequence(text: &str) -> Option<usize> {
    let mut chars = text.chars();
    let kind = match chars.next()? {
        ESCAPE => chars.next()?,
        c @ ('\u{90}' | '\u{98}' | '\u{9b}' | '\u{9d}'..='\u{9f}') => char::from(u8::try_from(c).ok()? - 0x40),
        _ => return None,
    };
    let body = chars.as_str();
    let start = text.len() - body.len();
    let length = match kind {
        '[' => ending_in(body, ' '..='?', '@'..='~')?,
        ' '..='/' => ending_in(body, ' '..='/', '0'..='~')?,
        ']' | 'P' | 'X' | '^' | '_' => string(body)?,
        '0'..='~' => 0,
        _ => return None,
    };
    Some(start + length)
}

/// Bytes of characters in `inner` and the one in `last` behind them.
fn ending_in(body: &str, inner: RangeInclusive<char>, last: RangeInclusive<char>) -> Option<usize> {
    let end = body.find(|c| !inner.contains(&c))?;
    body.get(end..)?.starts_with(|c| last.contains(&c)).then_some(end + 1)
}

/// Bytes of a control string with its end, BEL or ST. Another control character shows that it is none.
fn string(body: &str) -> Option<usize> {
    let end = body.find(char::is_control)?;
    let rest = body.get(end..)?;
    let length = ["\u{7}", "\u{9c}", "\u{1b}\\"]
        .into_iter()
        .find(|end| rest.starts_with(end))?
        .len();
    Some(end + length)
}

/// A log whose records are made safe to show as they are written, each in one piece.
#[derive(Debug)]
pub struct PrintableLog<W> {
    log: W,
    clean: fn(&str) -> Cow<'_, str>,
}

impl<W> PrintableLog<W> {
    /// A log of lines: a record that has line ends in it becomes one line all the same, so that none can be forged.
    pub fn of_lines(log: W) -> Self {
        Self { log, clean: printable }
    }

    /// A log of JSON objects.
    pub fn of_json(log: W) -> Self {
        Self {
            log,
            clean: printable_json,
        }
    }
}

impl<W: Write> Write for PrintableLog<W> {
    fn write(&mut self, record: &[u8]) -> std::io::Result<usize> {
        let text = String::from_utf8_lossy(record);
        let (line, end) = text.strip_suffix('\n').map_or((&*text, ""), |line| (line, "\n"));
        self.log.write_all(format!("{}{end}", (self.clean)(line)).as_bytes())?;
        Ok(record.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.log.flush()
    }
}
