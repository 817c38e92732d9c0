//! `py-spy dump`: the stacks of a process that hangs.

use crate::Hex;
use crate::model::{Activity, Frame, FrameKind, Place, Thread, ThreadId};
use crate::readers::text::line::Line;
use crate::readers::text::prefix::Origin;
use crate::readers::text::rules::Rule;
use crate::readers::text::sink::{Sink, new_thread};
use crate::readers::text::{Block, Next, regex};

/// Opens a dump.
pub const RULE: Rule = Rule {
    literals: &["Process ", "Thread "],
    read,
};

fn read(line: &Line, _: &mut Sink) -> Option<Box<dyn Block>> {
    if let Some(found) = regex!(r"^Process (\d+): \S").captures(line.text) {
        let mut origin = line.origin.clone();
        origin.pid = found.get(1).and_then(|pid| pid.as_str().parse().ok());
        return Some(Box::new(Dump {
            origin,
            threads: Vec::new(),
        }));
    }
    let thread = parse_thread(line.text, &line.origin)?;
    Some(Box::new(Dump {
        origin: line.origin.clone(),
        threads: vec![thread],
    }))
}

/// `Thread 3448 (active+gil): "MainThread"`, `Thread 0x7F0A (idle): "worker"`.
fn parse_thread(text: &str, origin: &Origin) -> Option<Thread> {
    let found = regex!(r#"^Thread (0x[0-9A-Fa-f]+|\d+) \((active|idle)(\+gil)?\)(?:: "(.*)")?\s*$"#).captures(text)?;
    let id = found.get(1)?.as_str();
    let id = id
        .parse()
        .map_or_else(|_| ThreadId::Label(id.to_lowercase()), ThreadId::Os);
    Some(Thread {
        id,
        holds_gil: found.get(3).is_some(),
        activity: Some(Activity {
            running: found.get(2).map(|state| state.as_str() == "active"),
            ..Activity::default()
        }),
        name: found.get(4).map(|name| name.as_str().to_owned()),
        ..new_thread(origin)
    })
}

#[derive(Debug)]
struct Dump {
    origin: Origin,
    threads: Vec<Thread>,
}

impl Block for Dump {
    fn next(&mut self, line: &Line) -> Next {
        if let Some(thread) = parse_thread(line.text, &self.origin) {
            self.threads.push(thread);
        } else if let Some(thread) = self.threads.last_mut() {
            match parse_frame(line.text, line.number) {
                Some(frame) => thread.frames.push(frame),
                // Lists of local variables (`--locals`) are indented deeper than frames.
                None if line.text.starts_with("        ") || line.text.trim().is_empty() => {}
                None => return Next::Ended,
            }
        } else if !line.text.trim().is_empty() && !line.text.starts_with("Python ") {
            return Next::Ended;
        }
        Next::Quoted
    }

    fn finish(self: Box<Self>, sink: &mut Sink) {
        for mut thread in self.threads {
            thread.frames.truncate(sink.frame_limit());
            sink.thread(thread);
        }
    }
}

/// `    func (file.py:7)`, native: `    0x7f0aab1c1740 (libc.so.6)`, `    poll (libc.so.6)`.
fn parse_frame(text: &str, number: u64) -> Option<Frame> {
    let found = regex!(r"^    (\S.*?) \(([^()]+?)(?::(\d+))?\)\s*$").captures(text)?;
    let (name, place) = (found.get(1)?.as_str(), found.get(2)?.as_str());
    let address = name
        .strip_prefix("0x")
        .and_then(|digits| u64::from_str_radix(digits, 16).ok())
        .map(Hex);
    let native = place.contains(".so") || address.is_some();
    Some(Frame {
        kind: if native { FrameKind::Native } else { FrameKind::Python },
        function: address.is_none().then(|| name.to_owned()),
        file: (!native).then(|| place.to_owned()),
        module: native.then(|| place.to_owned()),
        line: found.get(3).and_then(|line| line.as_str().parse().ok()),
        address,
        at: Some(Place::Line([number, number])),
        ..Frame::default()
    })
}
