//! The answer as a command of a GitHub workflow, which shows it at the line of the program.
//! <https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands>

use whycrash_plugin_host::VerdictKind;

use super::answer::Answer;
use super::paths;
use crate::output::Clean;

/// One annotation: an error where something failed, a warning where something could not be read, else a notice.
pub fn annotations(answer: &Answer<'_>) -> Clean {
    let level = match answer.kind() {
        Some(VerdictKind::Cause | VerdictKind::UnknownFailure) => "error",
        Some(VerdictKind::Unreadable) | None => "warning",
        Some(VerdictKind::NothingFailed) => "notice",
    };
    let place = answer.code().map(|code| {
        let file = paths::from_here(&code.file);
        format!("file={},line={},", property(&file), code.line)
    });
    let proof = answer
        .proof()
        .into_iter()
        .next()
        .map(|(place, text)| format!("{place}: {text}"));
    let fix = answer
        .best()
        .and_then(|best| best.fixes.first())
        .map(|fix| format!("Fix: {}", fix.summary));
    let why = Some(answer.why().to_owned()).filter(|why| !why.is_empty());
    let message = [why, proof, fix].into_iter().flatten().collect::<Vec<_>>().join("\n");
    let title = property(&answer.headline());
    // Line ends of what is said are written as `%0A`: whatever it quotes, it stays one command.
    let command = format!(
        "::{level} {}title={title}::{}\n",
        place.unwrap_or_default(),
        data(&message)
    );
    Clean::lines(&command)
}

/// A message: what would end it is written as the runner expects it.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property, in which commas and colons end the value too.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
