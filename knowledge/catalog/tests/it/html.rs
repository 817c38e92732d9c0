//! Prose as HTML.

use crate::cause_with_body;

#[test]
fn prose_becomes_safe_html() {
    let body = "\
## Heading

Plain *emphasis*, `code`, a [cause](seg-null-deref.md), the [web](https://example.org) and
[trouble](javascript:alert(1)).

<script>alert(2)</script>

Inline <b onclick=\"x()\">markup</b>.

| sign | cause |
|---|---|
| a | b |
";
    let html = cause_with_body(body).body_html(|id| format!("/causes/{id}"));
    assert!(
        !html.contains("<script") && !html.contains("<b ") && !html.contains("javascript:"),
        "{html}"
    );
    insta::assert_snapshot!(html);
}
