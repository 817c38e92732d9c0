//! How a line is followed along paths that are known, so that no grammar has to read it.

use super::known::{Path, Step};
use super::stream::Stream;
use super::{HELD_BYTES, Seen, StreamId, TextReader};

impl TextReader<'_> {
    /// Goes on with a stream: along a path that is known, or with the grammars.
    pub(super) fn follow(&mut self, seen: &Seen) {
        match self.streams.get_mut(&seen.stream) {
            None => self.begin(seen),
            Some(Stream::Open { .. }) => self.read(seen),
            Some(Stream::Known(path)) => {
                let step = self.known.step(path, seen.shape);
                if matches!(step, Step::On | Step::Last) && self.held_bytes + seen.raw.len() <= HELD_BYTES {
                    path.hold(seen.shape, &self.numbers, seen.line.number, seen.raw, seen.rules);
                    self.held_bytes += seen.raw.len();
                    if step == Step::Last {
                        self.end_known(seen.stream);
                    }
                    return;
                }
                // Ended before this line, or it turns out to be another one.
                let numbers = std::mem::take(&mut self.numbers);
                if step == Step::Ended {
                    self.end_known(seen.stream);
                } else {
                    self.read_held(seen.stream);
                }
                self.numbers = numbers;
                self.follow(seen);
            }
        }
    }

    /// The first line of what may become a path.
    fn begin(&mut self, seen: &Seen) {
        if seen.rules == 0 {
            self.plain_line(seen.line.number, seen.raw);
            return;
        }
        let mut path = self.spare.take().unwrap_or_default();
        path.begin(&seen.line.origin);
        match self.known.step(&path, seen.shape) {
            Step::Last => {
                path.push(seen.shape, &self.numbers, seen.line.number);
                let is_plain = self.known.recall(&path).is_some_and(|mut told| told.next().is_none());
                let is_known = self.recall(&path);
                self.spare = Some(path);
                if is_plain {
                    self.plain_line(seen.line.number, seen.raw);
                } else if !is_known {
                    self.read(seen);
                }
            }
            Step::On if self.held_bytes + seen.raw.len() <= HELD_BYTES => {
                path.hold(seen.shape, &self.numbers, seen.line.number, seen.raw, seen.rules);
                self.held_bytes += seen.raw.len();
                self.streams.insert(seen.stream, Stream::Known(path));
            }
            _ => {
                self.spare = Some(path);
                self.read(seen);
            }
        }
    }

    /// Counts what a known path tells of; false where it has to be read.
    fn recall(&mut self, path: &Path) -> bool {
        let Some(told) = self.known.recall(path) else {
            return self.leave_out(path);
        };
        if !told.clone().all(|told| self.sink.only_counts(&told)) {
            return false;
        }
        told.for_each(|told| self.sink.again(&told, path.stamp.as_ref()));
        true
    }

    /// Counts what a path would tell of where there is no room for any of it; false where it has to be read.
    fn leave_out(&mut self, path: &Path) -> bool {
        let kinds = self.known.foretell(path);
        let is_left_out = !kinds.is_empty() && kinds.iter().all(|kind| self.sink.is_full_of(kind));
        if is_left_out {
            kinds.iter().for_each(|kind| self.sink.leave_out(kind));
        }
        is_left_out
    }

    /// The lines that wait are a whole path.
    fn end_known(&mut self, stream: StreamId) {
        let Some(path) = self.take_held(stream) else { return };
        if !self.recall(&path) {
            self.read_lines(&path);
        }
        self.spare = Some(path);
    }

    /// The lines that wait are no path that is known.
    pub(super) fn read_held(&mut self, stream: StreamId) {
        if let Some(path) = self.take_held(stream) {
            self.read_lines(&path);
            self.spare = Some(path);
        }
    }

    fn take_held(&mut self, stream: StreamId) -> Option<Box<Path>> {
        match self.streams.remove(&stream)? {
            Stream::Known(path) => {
                self.held_bytes -= path.held_bytes();
                Some(path)
            }
            open @ Stream::Open { .. } => {
                self.streams.insert(stream, open);
                None
            }
        }
    }

    fn read_lines(&mut self, path: &Path) {
        for (number, raw, rules) in path.held() {
            self.look_at(number, raw, rules, Self::read);
        }
    }
}
