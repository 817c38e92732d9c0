//! The answer as a report of JUnit's form, which most services that run tests show.

use whycrash_plugin_host::VerdictKind;

use super::answer::Answer;
use crate::output::Clean;

/// One test case: failed where something failed, in error where something could not be read.
pub fn junit(answer: &Answer<'_>) -> Clean {
    let element = match answer.kind() {
        Some(VerdictKind::Cause | VerdictKind::UnknownFailure) => Some("failure"),
        Some(VerdictKind::NothingFailed) => None,
        Some(VerdictKind::Unreadable) | None => Some("error"),
    };
    let count = |name: &str| usize::from(element == Some(name));
    let proof = answer
        .proof()
        .into_iter()
        .map(|(place, text)| format!("{place}: {text}"));
    let place = answer.place().map(|place| match answer.source() {
        Some(source) => format!("{place}: {source}"),
        None => place,
    });
    let fix = answer
        .best()
        .and_then(|best| best.fixes.first())
        .map(|fix| format!("Fix: {}", fix.summary));
    let why = Some(answer.why().to_owned()).filter(|why| !why.is_empty());
    let details = why
        .into_iter()
        .chain(place)
        .chain(proof)
        .chain(fix)
        .collect::<Vec<_>>()
        .join("\n");
    let (headline, details) = (escaped(&answer.headline()), escaped(&details));
    let kind = answer.best().map_or(answer.kind_name(), |best| best.cause.as_str());
    let inside = match element {
        Some(element) => {
            format!(
                "      <{element} type=\"{}\" message=\"{headline}\">{details}</{element}>\n",
                escaped(kind)
            )
        }
        None => format!("      <system-out>{headline}\n{details}</system-out>\n"),
    };
    let name = escaped(&answer.name);
    let (failures, errors) = (count("failure"), count("error"));
    let text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  \
         <testsuite name=\"whycrash\" tests=\"1\" failures=\"{failures}\" errors=\"{errors}\">\n    \
         <testcase classname=\"whycrash\" name=\"{name}\">\n{inside}    </testcase>\n  </testsuite>\n</testsuites>\n"
    );
    Clean::lines(&text)
}

/// Text of an element or of a value of an attribute, without characters that XML has no way to write.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(letter),
            control if control.is_control() => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}
