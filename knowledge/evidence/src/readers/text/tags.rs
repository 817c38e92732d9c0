//! What a program puts in front of every line and no pattern of [`prefix`](super::prefix) knows.
//!
//! Every launcher, workflow engine and notebook has a form of its own: `[train] `, `worker-3 | `,
//! `[177/train/578 (pid 28936)] `. A traceback gives each of them away, since Python writes the line under its header
//! with two spaces and `File "` and nothing before: what stands before both is put there by somebody else.

use super::blocks::TRACEBACK_HEADER as HEADER;
use super::line::Line;

/// Tags that are kept for one artifact, and bytes of one.
const TAGS: usize = 64;
const TAG_BYTES: usize = 160;

/// What follows a tag on the line under a traceback's header.
const FRAME: &str = "  File \"";

/// The tags of one artifact.
#[derive(Debug, Default)]
pub struct Tags {
    learned: Vec<String>,
    /// What stood before the header of the last traceback: a tag, a progress bar or the beginning of a sentence.
    before_header: Option<String>,
}

impl Tags {
    /// A line without its tag, if it has one that was learned.
    pub fn strip<'l>(&mut self, line: &Line<'l>) -> &'l str {
        let text = line.text;
        if let Some(rest) = self.learned.iter().find_map(|tag| without(tag, text)) {
            return rest;
        }
        if let Some(before) = text.trim_end().strip_suffix(HEADER) {
            // A mail, a comment and a diff put signs before what they quote.
            let is_named = before.contains(char::is_alphanumeric) && !line.is_quoted();
            let is_tag = is_named && before.len() <= TAG_BYTES && self.learned.len() < TAGS;
            self.before_header = is_tag.then(|| before.to_owned());
            return text;
        }
        let frame = self
            .before_header
            .as_deref()
            .and_then(|tag| without(tag, text))
            .filter(|rest| rest.starts_with(FRAME));
        let Some(frame) = frame else {
            return text;
        };
        self.learned.extend(self.before_header.take());
        frame
    }
}

/// What follows a tag. The numbers in it may be others: it may have a time, or count.
fn without<'l>(tag: &str, text: &'l str) -> Option<&'l str> {
    let rest = text.get(tag.len()..)?;
    let is_same = |(one, other): (u8, u8)| one == other || one.is_ascii_digit() && other.is_ascii_digit();
    tag.bytes().zip(text.bytes()).all(is_same).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stripped(lines: &[&str]) -> Vec<String> {
        let mut tags = Tags::default();
        let of = |line: &&str| tags.strip(&Line::new(1, line)).to_owned();
        lines.iter().map(of).collect()
    }

    #[test]
    fn what_stands_before_a_header_and_its_frame_is_a_tag() {
        let lines = [
            "job 12:00:01 | Traceback (most recent call last):",
            "job 12:00:01 |   File \"train.py\", line 3, in <module>",
            "job 12:00:02 |     main()",
            "job 12:00:02 | ValueError: no",
            "other 12:00:02 | ValueError: no",
        ];
        let seen = stripped(&lines);
        assert_eq!(seen[1], "  File \"train.py\", line 3, in <module>");
        assert_eq!(seen[2..], ["    main()", "ValueError: no", lines[4]]);
    }

    #[test]
    fn signs_of_quoting_are_none() {
        let lines = [
            "# Traceback (most recent call last):",
            "#   File \"a.py\", line 3, in f",
        ];
        assert_eq!(stripped(&lines), lines);
    }

    #[test]
    fn a_progress_bar_before_a_header_is_none() {
        let lines = [
            " 10%|█ | 1/10 Traceback (most recent call last):",
            "  File \"train.py\", line 3, in <module>",
            "ValueError: no",
        ];
        assert_eq!(stripped(&lines), lines);
    }
}
