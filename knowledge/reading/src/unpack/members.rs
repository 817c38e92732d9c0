//! The members of one archive, on their way to whoever reads them.

use std::io::{self, Read};

use whycrash_evidence::readers::holes::{self, End};
use whycrash_evidence::readers::read_problem;
use whycrash_evidence::{Artifact, Problem};

use super::member_name::MemberName;
use super::refusals::{Refusals, shown};
use super::room::{Full, Room};

/// How unpacking a member ended.
#[derive(Debug)]
pub(super) enum Unpacked {
    /// All of it is there: so many bytes.
    Whole(u64),
    /// It could not be read to its end; the next one may be whole.
    Torn,
    /// A limit was met, or the disk has no room: there is none for another either.
    Stop,
}

/// What becomes of the members of an archive.
pub(super) struct Members<'a> {
    archive: &'a str,
    room: &'a mut Room,
    read: &'a mut dyn FnMut(&Artifact, &mut Room),
    has_any: bool,
    refusals: Refusals,
    problems: Vec<Problem>,
}

impl<'a> Members<'a> {
    pub(super) fn new(archive: &'a str, room: &'a mut Room, read: &'a mut dyn FnMut(&Artifact, &mut Room)) -> Self {
        Self {
            archive,
            room,
            read,
            has_any: false,
            refusals: Refusals::default(),
            problems: Vec::new(),
        }
    }

    /// What is wrong with the archive as a whole.
    pub(super) fn problem(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// Notes a member whose content can not be had, or must not.
    pub(super) fn refuse(&mut self, name: &[u8], why: &str) {
        self.refusals.add("not-unpacked", name, why);
    }

    /// Notes a member that is encrypted.
    pub(super) fn locked(&mut self, name: &[u8]) {
        self.refusals.add(
            "encrypted",
            name,
            "is encrypted: unpack it with its password, and give the files",
        );
    }

    /// Notes a member that holds no bytes of its own.
    pub(super) fn no_file(&mut self, name: &[u8], why: &str) {
        self.refusals.add("not-a-file", name, why);
    }

    /// The name of a member in its report; none for one that is not read, which is noted.
    pub(super) fn name(&mut self, raw: &[u8]) -> Option<String> {
        match MemberName::of(raw) {
            MemberName::Hidden => None,
            MemberName::Refused(why) => {
                self.refuse(raw, why);
                None
            }
            MemberName::Path(path) => {
                self.has_any = true;
                let name = format!("{}/{path}", self.archive);
                if !self.room.take_name(&name) {
                    self.refuse(
                        raw,
                        "has the name of a member before it, which is the one that was read",
                    );
                    return None;
                }
                Some(name)
            }
        }
    }

    /// Unpacks a member and has it read. `bytes` is how many the archive says it has, where it is bound by that.
    pub(super) fn file(&mut self, name: String, bytes: Option<u64>, content: &mut dyn Read) -> Unpacked {
        if !self.room.take_member() {
            let message = "the archives of the report hold more files than are read of one: the files from here on are \
                           left out; give the folder of those that matter";
            self.problem(Problem::new(
                "limit-members",
                format!("{}: {message}", shown(name.as_bytes())),
            ));
            return Unpacked::Stop;
        }
        let file = match tempfile::tempfile() {
            Ok(file) => file,
            Err(error) => return self.no_place(&error),
        };
        let (there, end) = holes::copy(content, &file, &mut |piece| self.room.take(piece));
        let (problem, unpacked) = match end {
            End::Whole if bytes.is_none_or(|bytes| bytes == there) => (None, Unpacked::Whole(there)),
            End::Whole => (Some(short(there, bytes.unwrap_or_default())), Unpacked::Torn),
            End::Torn(error) => (Some(read_problem(&error)), Unpacked::Torn),
            End::Full(full) => {
                self.problem(rest_left_out(full, &name));
                (Some(cut(full, there)), Unpacked::Stop)
            }
            End::Unwritten(error) => return self.no_place(&error),
        };
        let mut member = Artifact::of_file(name, file);
        member.problems.extend(problem);
        (self.read)(&member, self.room);
        unpacked
    }

    /// Reads over the content of what is left out; false where it can not be read, or is too much.
    pub(super) fn skip(&mut self, content: &mut dyn Read) -> bool {
        match holes::skip(content, &mut |piece| self.room.take(piece)) {
            End::Whole => true,
            End::Full(full) => {
                self.problem(rest_left_out(full, "a member that is left out"));
                false
            }
            End::Torn(error) | End::Unwritten(error) => {
                self.problem(read_problem(&error));
                false
            }
        }
    }

    /// Everything that is to be said of the archive.
    pub(super) fn finish(mut self) -> Vec<Problem> {
        self.problems.extend(self.refusals.problems());
        if !self.has_any && self.problems.is_empty() {
            let message =
                "the archive holds no file, or hidden ones alone, which are left out: pack what the crash left";
            self.problems.push(Problem::new("not-unpacked", message));
        }
        self.problems
    }

    fn no_place(&mut self, error: &io::Error) -> Unpacked {
        let message = format!(
            "the archive can not be unpacked in the temporary folder ({error}): make room there, set TMPDIR to another, \
             or give its files"
        );
        self.problem(Problem::new("not-unpacked", message));
        Unpacked::Stop
    }
}

fn short(there: u64, bytes: u64) -> Problem {
    let message = format!("the archive has {there} of its {bytes} bytes: it was cut off, or is damaged; get it again");
    Problem::new("truncated", message)
}

fn cut(full: Full, there: u64) -> Problem {
    let why = why(full);
    Problem::new(full.code(), format!("it was cut after {there} bytes, because {why}"))
}

fn rest_left_out(full: Full, name: &str) -> Problem {
    let (name, why) = (shown(name.as_bytes()), why(full));
    Problem::new(
        full.code(),
        format!("the archive is read up to {name} and no further, because {why}: unpack it, and give what matters"),
    )
}

fn why(full: Full) -> &'static str {
    match full {
        Full::Expansion => "what is in the archive is so many times its size that it can be no logs or snapshots",
        Full::Bytes => "what is in the archives of the report takes more than one may",
    }
}

impl Full {
    fn code(self) -> &'static str {
        match self {
            Self::Expansion => "limit-expansion-ratio",
            Self::Bytes => "limit-unpacked-bytes",
        }
    }
}
