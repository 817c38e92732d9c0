//! A page: a gutter of labels on the left, wrapped text on its right.

use std::fmt::Write as _;

/// The few styles there are.
pub mod style {
    use anstyle::{AnsiColor, Style};

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
}

/// Columns of the gutter.
const GUTTER: usize = 10;

/// Text under construction.
#[derive(Debug)]
pub struct Page {
    text: String,
    width: usize,
    label: Option<(&'static str, anstyle::Style)>,
}

impl Page {
    /// An empty page of this many columns.
    pub fn new(width: usize) -> Self {
        Self {
            text: String::new(),
            width,
            label: None,
        }
    }

    /// Starts a section: an empty line, and a label in the gutter beside its first line.
    pub fn section(&mut self, label: &'static str) {
        if !self.text.is_empty() {
            self.text.push('\n');
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
        let hang = if marker.is_empty() {
            0
        } else {
            textwrap::core::display_width(marker) + 1
        };
        let room = self.width.saturating_sub(GUTTER + indent + hang).max(20);
        let mut first = true;
        for line in text.lines().flat_map(|line| textwrap::wrap(line, room)) {
            let before = match (first, marker.is_empty()) {
                (_, true) => String::new(),
                (true, false) => format!("{marker} "),
                (false, false) => " ".repeat(hang),
            };
            let line = if line.is_empty() {
                String::new()
            } else {
                format!("{style}{line}{style:#}")
            };
            self.line(indent, &format!("{before}{line}"));
            first = false;
        }
    }

    /// One line as it is, never wrapped: source, log lines, tables.
    pub fn line(&mut self, indent: usize, text: &str) {
        if text.is_empty() {
            self.text.push('\n');
            return;
        }
        let (label, look) = self.label.take().unwrap_or_default();
        let label = if label.is_empty() {
            " ".repeat(GUTTER)
        } else {
            format!("{look}{label:<GUTTER$}{look:#}")
        };
        let _ = writeln!(self.text, "{label}{:indent$}{text}", "");
    }

    /// One line at the very left, across the gutter.
    pub fn title(&mut self, text: &str) {
        for line in textwrap::wrap(text, self.width) {
            let _ = writeln!(self.text, "{}{line}{:#}", style::STRONG, style::STRONG);
        }
    }

    /// A faint line under the title.
    pub fn title_note(&mut self, text: &str) {
        let _ = writeln!(self.text, "{}{text}{:#}", style::FAINT, style::FAINT);
    }

    /// Columns right of the gutter.
    pub fn room(&self) -> usize {
        self.width.saturating_sub(GUTTER)
    }

    /// The text.
    pub fn finish(self) -> String {
        self.text
    }
}

/// `text` cut to `columns`, with a mark where it was cut.
pub fn cut(text: &str, columns: usize) -> String {
    if textwrap::core::display_width(text) <= columns {
        return text.to_owned();
    }
    let mut kept = String::new();
    for character in text.chars() {
        if textwrap::core::display_width(&kept) + 2 > columns {
            break;
        }
        kept.push(character);
    }
    kept + "…"
}

/// `n thing` or `n things`.
pub fn count(n: usize, thing: &str) -> String {
    if n == 1 {
        format!("1 {thing}")
    } else {
        format!("{n} {thing}s")
    }
}
