//! A page's prose as HTML.

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, html};

use crate::cause::Cause;
use crate::check::linked_cause;

impl Cause {
    /// The prose as HTML that is safe to put into a page: raw HTML in the Markdown comes out as text, and links
    /// lead to the web or, through `address_of` (a cause's id to its address), to other causes.
    pub fn body_html(&self, address_of: impl Fn(&str) -> String) -> String {
        let events = Parser::new_ext(&self.body, Options::ENABLE_TABLES).map(|event| match event {
            Event::Html(raw) | Event::InlineHtml(raw) => Event::Text(raw),
            Event::Start(Tag::Link {
                link_type,
                dest_url,
                title,
                id,
            }) => Event::Start(Tag::Link {
                link_type,
                dest_url: safe_target(dest_url, &address_of),
                title,
                id,
            }),
            Event::Start(Tag::Image {
                link_type,
                dest_url,
                title,
                id,
            }) => Event::Start(Tag::Image {
                link_type,
                dest_url: safe_target(dest_url, &address_of),
                title,
                id,
            }),
            other => other,
        });
        let mut out = String::with_capacity(self.body.len() * 2);
        html::push_html(&mut out, events);
        out
    }
}

/// Only the web and other causes may be linked to: `javascript:` and its kin become a link to nowhere.
fn safe_target(target: CowStr<'_>, address_of: impl Fn(&str) -> String) -> CowStr<'_> {
    if let Some(id) = linked_cause(&target) {
        return address_of(id).into();
    }
    if target.starts_with("https://") || target.starts_with("http://") {
        target
    } else {
        "#".into()
    }
}
