//! A process that lives, in place of its core: what is mapped and where its threads are is told by whoever looked, and
//! its memory is read where it is, while it runs.

use std::fs::File;

use super::dump::{CoreDump, Segment};
use super::headers::Machine;
use super::held::Held;
use super::image::Image;
use super::modules::modules;
use super::notes::{CoreThread, Mapping};

/// A range of a process's memory (`/proc/PID/maps`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveRange {
    /// First address.
    pub start: u64,
    /// First address after it.
    pub end: u64,
    /// Whether it may be read; what may not, or is a device's, is left alone.
    pub readable: bool,
    /// Whether it may be written.
    pub writable: bool,
    /// Whether it may be executed.
    pub executable: bool,
    /// Where in the file `start` is, in bytes.
    pub file_offset: u64,
    /// The file that is mapped there.
    pub path: Option<String>,
}

/// A process as somebody found it.
#[derive(Debug)]
pub struct LiveProcess {
    /// The processor it runs on.
    pub machine: Machine,
    /// Its threads, the main one first. Of registers that nobody knows the value is 0.
    pub threads: Vec<CoreThread>,
    /// Its memory by ascending address.
    pub ranges: Vec<LiveRange>,
    /// Its auxiliary vector (`/proc/PID/auxv`).
    pub auxiliary: Vec<(u64, u64)>,
    /// `/proc/PID/mem`, where each byte is at its address.
    pub memory: File,
}

impl From<LiveProcess> for CoreDump {
    fn from(live: LiveProcess) -> Self {
        let segments = live.ranges.iter().map(LiveRange::segment).collect();
        let held = live.ranges.iter().filter_map(LiveRange::held).collect();
        let mapped = live.ranges.into_iter().filter_map(LiveRange::mapping).collect();
        let image = Image::File {
            file: live.memory,
            len: u64::MAX,
        };
        let mut core = Self::of_parts(
            live.machine,
            live.threads,
            mapped,
            segments,
            held,
            live.auxiliary,
            image,
        );
        core.modules = modules(&core).found;
        core
    }
}

impl LiveRange {
    fn segment(&self) -> Segment {
        Segment {
            start: self.start,
            end: self.end,
            readable: self.readable,
            writable: self.writable,
            executable: self.executable,
        }
    }

    fn held(&self) -> Option<Held> {
        (self.readable && self.start < self.end).then_some(Held {
            start: self.start,
            end: self.end,
            offset: self.start,
        })
    }

    fn mapping(self) -> Option<Mapping> {
        Some(Mapping {
            start: self.start,
            end: self.end,
            file_offset: self.file_offset,
            path: self.path?,
        })
    }
}
