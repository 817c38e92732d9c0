//! Markdown as text for a terminal: as much of it as the cause pages use.

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::page::{Page, style};

/// Puts a Markdown text on a page.
pub fn render(page: &mut Page, markdown: &str) {
    let mut writer = Writer {
        page,
        text: String::new(),
        lists: Vec::new(),
        marker: None,
        code: false,
    };
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        writer.take(event);
    }
}

/// What is being put together.
struct Writer<'p> {
    page: &'p mut Page,
    /// The paragraph, heading or row so far.
    text: String,
    /// The lists we are in: the next number of each that has numbers.
    lists: Vec<Option<u64>>,
    /// What stands before the next paragraph of a list.
    marker: Option<String>,
    /// Within a block of code: its line breaks are kept.
    code: bool,
}

impl Writer<'_> {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(&tag),
            Event::End(tag) => self.end(tag),
            Event::Code(text) => self.text.push_str(&format!("`{text}`")),
            Event::SoftBreak | Event::HardBreak => self.text.push(' '),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.text.push_str(&text),
            Event::Rule => self.page.line(0, ""),
            _ => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::List(first) => {
                self.flush();
                self.lists.push(*first);
            }
            Tag::Item => {
                let number = self.lists.last_mut().and_then(Option::as_mut);
                let marker = number.map_or_else(
                    || "-".to_owned(),
                    |number| {
                        *number += 1;
                        format!("{}.", *number - 1)
                    },
                );
                self.marker = Some(marker);
            }
            Tag::Heading { .. } | Tag::Table(_) => self.page.line(0, ""),
            Tag::Paragraph if self.lists.is_empty() => self.page.line(0, ""),
            Tag::CodeBlock(_) => {
                self.flush();
                self.page.line(0, "");
                self.code = true;
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(level) => {
                let heading = std::mem::take(&mut self.text);
                let look = if level <= HeadingLevel::H2 {
                    style::LABEL
                } else {
                    style::STRONG
                };
                self.page.styled_item(0, "", look, &heading);
            }
            TagEnd::Paragraph | TagEnd::Item => self.flush(),
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::CodeBlock => {
                let code = std::mem::take(&mut self.text);
                code.lines().for_each(|line| self.page.line(4, line));
                self.code = false;
            }
            TagEnd::TableCell => self.text.push_str("  "),
            TagEnd::TableRow | TagEnd::TableHead => {
                let row = std::mem::take(&mut self.text);
                self.page.line(2, row.trim_end());
            }
            _ => {}
        }
    }

    fn flush(&mut self) {
        let text = std::mem::take(&mut self.text);
        if text.is_empty() || self.code {
            return;
        }
        let indent = self.lists.len().saturating_sub(1) * 2;
        let marker = self.marker.take().unwrap_or_default();
        // Further paragraphs of an item stand under its first.
        let indent = if marker.is_empty() && !self.lists.is_empty() {
            indent + 2
        } else {
            indent
        };
        self.page.item(indent, &marker, &text);
    }
}
