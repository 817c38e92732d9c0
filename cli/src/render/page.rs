//! A page: a gutter of labels on the left, wrapped text on its right.

use whycrash_evidence::printable;

use crate::output::Clean;

/// The few styles there are.
pub mod style {
    use anstyle::{AnsiColor, Style};

    use crate::output::Clean;

    /// Labels of the gutter.
    pub const LABEL: Style = AnsiColor::Cyan.on_default().bold();
    /// What the eye should find first.
    pub const STRONG: Style = Style::new().bold();
    /// What is there for those who look for it.
    pub const FAINT: Style = Style::new().dimmed();
    /// What went wrong.
    pub const BAD: Style = AnsiColor::Red.on_default().bold();
    /// What is in order.
    pub const GOOD: Style = AnsiColor::Green.on_default();
    /// What wants attention.
    pub const WARN: Style = AnsiColor::Yellow.on_default();

    /// A line that is [`STRONG`].
    pub fn strong(text: &str) -> Clean {
        Clean::styled(STRONG, text)
    }

    /// A line that is [`FAINT`].
    pub fn faint(text: &str) -> Clean {
        Clean::styled(FAINT, text)
    }
}

/// Columns of the gutter.
const GUTTER: usize = 10;

/// Text under construction.
#[derive(Debug)]
pub struct Page {
    text: Clean,
    width: usize,
    label: Option<(&'static str, anstyle::Style)>,
}

impl Page {
    /// An empty page of this many columns.
    pub fn new(width: usize) -> Self {
        Self {
            text: Clean::default(),
            width,
            label: None,
        }
    }

    /// A single line with a label, without the end of the line.
    pub fn labelled(label: &'static str, text: String) -> Clean {
        gutter(label, style::LABEL).then(text)
    }

    /// Starts a section: an empty line, and a label in the gutter beside its first line.
    pub fn section(&mut self, label: &'static str) {
        if !self.text.is_empty() {
            self.text.end_line();
        }
        self.label(label, style::LABEL);
    }

    /// Puts a label in the gutter beside the next line.
    pub fn label(&mut self, label: &'static str, look: anstyle::Style) {
        self.label = Some((label, look));
    }

    /// A wrapped paragraph; each of its lines is indented by `indent` columns from the gutter.
    pub fn paragraph(&mut self, indent: usize, text: &str) {
        self.item(indent, "", text);
    }

    /// A wrapped paragraph after a marker such as `1.`; its further lines hang under the first.
    pub fn item(&mut self, indent: usize, marker: &str, text: &str) {
        self.styled_item(indent, marker, anstyle::Style::new(), text);
    }

    /// [`Self::item`] with one style for all of the text.
    pub fn styled_item(&mut self, indent: usize, marker: &str, style: anstyle::Style, text: &str) {
        let hang = if marker.is_empty() { 0 } else { columns(marker) + 1 };
        let room = self.width.saturating_sub(GUTTER + indent + hang).max(20);
        let mut first = true;
        for line in text.lines().map(printable) {
            for line in textwrap::wrap(&line, columns_of(room)) {
                let before = match (first, marker.is_empty()) {
                    (_, true) => String::new(),
                    (true, false) => format!("{marker} "),
                    (false, false) => " ".repeat(hang),
                };
                let line = if line.is_empty() {
                    Clean::default()
                } else {
                    Clean::styled(style, &line)
                };
                self.line(indent, Clean::from(before).then(line));
                first = false;
            }
        }
    }

    /// A label with a paragraph of so many lines at most beside it; what does not fit is cut, and marked so.
    pub fn clipped(&mut self, label: &'static str, text: &str, lines: usize) {
        self.label(label, style::LABEL);
        clip(text, self.room(), lines)
            .iter()
            .for_each(|line| self.line(0, line));
    }

    /// One line as it is, never wrapped: source, log lines, tables.
    pub fn line(&mut self, indent: usize, text: impl Into<Clean>) {
        let text = text.into();
        if !text.is_empty() {
            let (label, look) = self.label.take().unwrap_or_default();
            self.text.push(gutter(label, look));
            self.text.push(" ".repeat(indent));
            self.text.push(text);
        }
        self.text.end_line();
    }

    /// One line at the very left, across the gutter.
    pub fn title(&mut self, text: &str) {
        for line in textwrap::wrap(&printable(text), columns_of(self.width)) {
            self.text.push(style::strong(&line));
            self.text.end_line();
        }
    }

    /// [`Self::title`] of so many lines at most.
    pub fn clipped_title(&mut self, text: &str, lines: usize) {
        for line in clip(text, self.width, lines) {
            self.text.push(style::strong(&line));
            self.text.end_line();
        }
    }

    /// An empty line.
    pub fn gap(&mut self) {
        self.text.end_line();
    }

    /// A faint line under the title.
    pub fn title_note(&mut self, text: &str) {
        self.text.push(style::faint(text));
        self.text.end_line();
    }

    /// Columns right of the gutter.
    pub fn room(&self) -> usize {
        self.width.saturating_sub(GUTTER)
    }

    /// The text.
    pub fn finish(self) -> Clean {
        self.text
    }
}

fn gutter(label: &str, look: anstyle::Style) -> Clean {
    if label.is_empty() {
        " ".repeat(GUTTER).into()
    } else {
        Clean::styled(look, &format!("{label:<GUTTER$}"))
    }
}

/// How many columns a text takes once it is printable.
pub fn columns(text: &str) -> usize {
    textwrap::core::display_width(&printable(text))
}

/// `text` as one line cut to `room` columns, with a mark where it was cut.
pub fn cut(text: &str, room: usize) -> String {
    let text = printable(text.trim_end());
    if columns(&text) <= room {
        return text.into_owned();
    }
    let mut kept = String::new();
    for character in text.chars() {
        if columns(&kept) + 2 > room {
            break;
        }
        kept.push(character);
    }
    kept + "…"
}

/// A text as so many lines of `room` columns at most, with a mark where it was cut. Its own line ends are spaces.
pub fn clip(text: &str, room: usize, lines: usize) -> Vec<String> {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = printable(&words);
    let mut wrapped: Vec<String> = textwrap::wrap(&text, columns_of(room))
        .into_iter()
        .map(Into::into)
        .collect();
    if wrapped.len() > lines {
        wrapped.truncate(lines);
        if let Some(last) = wrapped.last_mut() {
            *last = match columns(last) < room {
                true => format!("{last}…"),
                false => cut(last, room.saturating_sub(1)),
            };
        }
    }
    wrapped
}

/// So many columns, in which names and options with hyphens stay in one piece.
fn columns_of(room: usize) -> textwrap::Options<'static> {
    textwrap::Options::new(room.max(20)).word_splitter(textwrap::WordSplitter::NoHyphenation)
}

/// A number with its thousands apart: `2,001`.
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `n thing` or `n things`.
pub fn count(n: usize, thing: &str) -> String {
    if n == 1 {
        format!("1 {thing}")
    } else {
        format!("{n} {thing}s")
    }
}
