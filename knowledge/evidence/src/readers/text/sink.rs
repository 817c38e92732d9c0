//! Where grammars put what they found.

mod room;

use std::collections::{BTreeMap, HashMap};

use room::Recorded;

use super::known::Told;
use super::prefix::Origin;
use super::time::{Stamp, Time};
use super::{identity, progress};
use crate::model::{Communicator, Crash, Event, EventPayload, Place, Thread, ThreadId};
use crate::{Limits, Problem};

/// Longest [`Event::text`].
const TEXT_CHARS: usize = 400;

/// What stacks are counted as, beside the kinds of events.
pub const STACKS: &str = "stacks";

/// Events and threads of one artifact, under its limits.
#[derive(Debug)]
pub struct Sink<'a> {
    limits: &'a Limits,
    artifact: &'a str,
    /// What happened, and what each is known by.
    pub events: Vec<Event>,
    keys: Vec<u64>,
    pub threads: Vec<Thread>,
    /// The last line of any event.
    pub newest_line: u64,
    /// What ended before this line was followed by progress.
    pub settled: u64,
    /// Ranks that waited for each other before this line have met.
    pub met: u64,
    /// What happened before this line did not keep the text's own program from coming to its end; 0 where nothing says so.
    pub came_to_its_end: u64,
    /// The line that says so; 0 where none does.
    pub said_well: u64,
    /// What stands before this line is of tests, none of which failed; 0 where nothing says so.
    pub tests_passed: u64,
    /// The rank whose answer the text is in, where one text has the answers of several.
    pub section_rank: Option<u32>,
    /// What was told since somebody last looked.
    pub told: Vec<Told>,
    /// How often something was told.
    told_ever: u64,
    /// Whether a stack was recorded since then.
    pub has_new_stack: bool,
    /// Whether the state of something was recorded since then.
    pub has_new_state: bool,
    labels: HashMap<&'static str, usize>,
    known_events: HashMap<u64, Repeated>,
    known_stacks: HashMap<u64, ThreadId>,
    /// How many stacks of a thread that names itself were kept.
    named: HashMap<ThreadId, usize>,
    /// When events that repeat last did.
    last_times: HashMap<usize, Stamp>,
    kinds: BTreeMap<&'static str, Recorded>,
    bytes: u64,
    /// The end of the text has come: what was set aside for it may be used.
    at_end: bool,
    /// Something had no room.
    is_full: bool,
    /// What grammars know and can not read: the first of each kind.
    unread: Vec<Problem>,
    communicators: Vec<Communicator>,
    /// How a process ended, from the first that told more of it than its signal.
    crash: Option<Crash>,
}

/// Events that are the same thing told again: one for all times that it was survived, and one for those since then.
#[derive(Clone, Copy, Debug)]
struct Repeated {
    survived: Option<usize>,
    now: usize,
}

impl<'a> Sink<'a> {
    pub fn new(artifact: &'a str, limits: &'a Limits) -> Self {
        Self {
            limits,
            artifact,
            events: Vec::new(),
            keys: Vec::new(),
            threads: Vec::new(),
            newest_line: 0,
            settled: 0,
            met: 0,
            came_to_its_end: 0,
            said_well: 0,
            tests_passed: 0,
            section_rank: None,
            told: Vec::new(),
            told_ever: 0,
            has_new_stack: false,
            has_new_state: false,
            labels: HashMap::new(),
            known_events: HashMap::new(),
            known_stacks: HashMap::new(),
            named: HashMap::new(),
            last_times: HashMap::new(),
            kinds: BTreeMap::new(),
            bytes: 0,
            at_end: false,
            is_full: false,
            unread: Vec::new(),
            communicators: Vec::new(),
            crash: None,
        }
    }

    /// The limits it works under.
    pub fn limits(&self) -> &'a Limits {
        self.limits
    }

    /// Name of the artifact.
    pub fn artifact(&self) -> &'a str {
        self.artifact
    }

    /// Frames a thread may have.
    pub fn frame_limit(&self) -> usize {
        self.limits.frames
    }

    /// Whether more was found than is kept, or is about to be.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// How often something was told, and how much of it is kept.
    pub fn tally(&self) -> (u64, usize) {
        (self.told_ever, self.events.len() + self.threads.len())
    }

    /// What comes now is the end of the text.
    pub fn at_end(&mut self) {
        self.at_end = true;
    }

    /// Records an event that stands in these lines, or counts it where it is one that was told before.
    pub fn event(&mut self, what: EventPayload, origin: &Origin, lines: [u64; 2], text: &str) {
        let key = identity::event(&what, origin);
        let told = Told {
            key,
            kind: what.kind(),
            lines,
        };
        self.told.push(told);
        self.told_ever += 1;
        if self.is_same_again(key) {
            self.again(&told, origin.stamp.as_ref());
            return;
        }
        self.newest_line = self.newest_line.max(lines[1]);
        let Time { time, note } = origin.stamp.as_ref().map(Stamp::read).unwrap_or_default();
        let event = Event {
            time,
            time_note: note,
            rank: origin.rank,
            pid: origin.pid,
            text: shorten(text),
            artifact: self.artifact.to_owned(),
            at: Some(Place::Line(lines)),
            ..Event::new(what)
        };
        self.record(key, event, origin.stamp.as_ref());
    }

    /// Whether such an event was told before, and not survived since.
    pub fn is_same_again(&self, key: u64) -> bool {
        let event = self.known_events.get(&key).and_then(|known| self.events.get(known.now));
        event.is_some_and(|event| !progress::is_survived(event, self.settled))
    }

    /// Whether such an event was told before.
    pub fn knows(&self, what: &EventPayload, origin: &Origin) -> bool {
        self.known_events.contains_key(&identity::event(what, origin))
    }

    /// Whether telling this once more only counts: it is the same again, or was left out then as well.
    pub fn only_counts(&self, told: &Told) -> bool {
        self.is_same_again(told.key) || !self.known_events.contains_key(&told.key) && !self.at_end
    }

    /// Counts an event that was told before.
    pub fn again(&mut self, told: &Told, stamp: Option<&Stamp>) {
        let Some(known) = self.known_events.get(&told.key) else {
            self.leave_out(told.kind);
            return;
        };
        self.newest_line = self.newest_line.max(told.lines[1]);
        if let Some(event) = self.events.get_mut(known.now) {
            event.count += 1;
            event.last_at = Some(Place::Line(told.lines));
        }
        if let Some(stamp) = stamp {
            self.last_times.insert(known.now, stamp.clone());
        }
    }

    fn record(&mut self, key: u64, event: Event, stamp: Option<&Stamp>) {
        let Some(known) = self.known_events.get(&key).copied() else {
            if let Some(now) = self.keep(key, event) {
                self.known_events.insert(key, Repeated { survived: None, now });
            }
            return;
        };
        let survived = match known.survived {
            Some(survived) => {
                // What was survived until now is one event with what was survived before.
                self.join(survived, known.now);
                if let Some(place) = self.events.get_mut(known.now) {
                    *place = event;
                }
                self.last_times.remove(&known.now);
                Repeated {
                    survived: Some(survived),
                    ..known
                }
            }
            None => match self.keep(key, event.clone()) {
                Some(now) => Repeated {
                    survived: Some(known.now),
                    now,
                },
                None => {
                    if let Some(Place::Line(lines)) = event.at {
                        self.again(
                            &Told {
                                key,
                                kind: event.payload.kind(),
                                lines,
                            },
                            stamp,
                        );
                    }
                    known
                }
            },
        };
        self.known_events.insert(key, survived);
    }

    /// Adds an event to another one.
    fn join(&mut self, to: usize, from: usize) {
        let Some((count, last)) = self
            .events
            .get(from)
            .map(|from| (from.count, from.last_at.clone().or(from.at.clone())))
        else {
            return;
        };
        if let Some(event) = self.events.get_mut(to) {
            event.count += count;
            event.last_at = last;
        }
        if let Some(stamp) = self.last_times.get(&from).cloned() {
            self.last_times.insert(to, stamp);
        }
    }

    fn keep(&mut self, key: u64, event: Event) -> Option<usize> {
        let kind = event.payload.kind();
        if self.pay(kind, &event) {
            self.events.push(event);
            self.keys.push(key);
            if self.at_end {
                let latest = &mut self.kinds.entry(kind).or_default().latest;
                latest.push_back(self.events.len() - 1);
            }
            return Some(self.events.len() - 1);
        }
        self.replace_oldest_of_end(kind, key, event)
    }

    /// At the end, a new event takes the place of the first that was recorded there.
    fn replace_oldest_of_end(&mut self, kind: &'static str, key: u64, event: Event) -> Option<usize> {
        let latest = &mut self.kinds.get_mut(kind)?.latest;
        let index = latest.pop_front()?;
        latest.push_back(index);
        if let (Some(place), Some(old)) = (self.events.get_mut(index), self.keys.get_mut(index)) {
            self.known_events.remove(old);
            self.last_times.remove(&index);
            (*place, *old) = (event, key);
        }
        Some(index)
    }

    /// Records a stack and gives it a name of its own, such as `traceback-2`; one that was there before keeps its name.
    pub fn stack(&mut self, stem: &'static str, thread: Thread) -> ThreadId {
        let key = identity::stack(stem, &thread);
        if let Some(known) = self.known_stacks.get(&key) {
            return known.clone();
        }
        let count = self.labels.entry(stem).or_default();
        *count += 1;
        let id = ThreadId::Label(format!("{stem}-{count}"));
        self.keep_stack(
            key,
            Thread {
                id: id.clone(),
                ..thread
            },
        );
        id
    }

    /// Records a stack that names itself. The same thread in another place, as where a timer has the stacks printed again
    /// and again, is told apart by a number behind its name: a citation means one of them.
    pub fn thread(&mut self, thread: Thread) {
        let key = identity::stack(&thread.id.to_string(), &thread);
        if self.known_stacks.contains_key(&key) {
            return;
        }
        let own = thread.id.clone();
        let id = match self.named.get(&own) {
            None => own.clone(),
            Some(before) => ThreadId::Label(format!("{own}-{}", before + 1)),
        };
        if self.keep_stack(key, Thread { id, ..thread }) {
            *self.named.entry(own).or_default() += 1;
        }
    }

    /// Whether there was room for it.
    fn keep_stack(&mut self, key: u64, thread: Thread) -> bool {
        self.has_new_stack = true;
        let has_room = self.pay(STACKS, &thread);
        if has_room {
            self.known_stacks.insert(key, thread.id.clone());
            self.threads.push(Thread {
                artifact: self.artifact.to_owned(),
                ..thread
            });
        }
        has_room
    }

    /// Records the states of communicators, as far as there is room for their ranks.
    pub fn communicators(&mut self, states: Vec<Communicator>) {
        self.has_new_state = true;
        let ranks = |state: &Communicator| state.ranks.len() + state.missing.len() + 1;
        let held: usize = self.communicators.iter().map(ranks).sum();
        let mut left = self.limits.recorder_ranks.saturating_sub(held);
        for state in states {
            let Some(less) = left.checked_sub(ranks(&state)) else {
                let message = "the answers of NCCL name more ranks than any job has: some are left out";
                self.problem(Problem::new("limit-recorder", message));
                return;
            };
            left = less;
            self.communicators.push(Communicator {
                artifact: self.artifact.to_owned(),
                ..state
            });
        }
    }

    /// Takes the states that were recorded.
    pub fn take_communicators(&mut self) -> Vec<Communicator> {
        std::mem::take(&mut self.communicators)
    }

    /// The events in the order of their lines, with what was counted since they were recorded, and all stacks.
    pub fn finish(self) -> (Vec<Event>, Vec<Thread>, Vec<Problem>) {
        let problems = self.problems();
        let Self {
            mut events,
            threads,
            last_times,
            ..
        } = self;
        for (index, event) in events.iter_mut().enumerate() {
            event.last_time = last_times.get(&index).and_then(|stamp| stamp.read().time);
            set_count(&mut event.payload, event.count);
        }
        events.sort_by_key(progress::first_line);
        for (number, event) in events.iter_mut().enumerate() {
            event.event = number;
        }
        (events, threads, problems)
    }

    /// Records how a process ended, where nothing told it before.
    pub fn crash(&mut self, crash: Crash) {
        let artifact = self.artifact;
        self.crash.get_or_insert_with(|| Crash {
            artifact: artifact.to_owned(),
            ..crash
        });
    }

    /// How the text's own program ended; none where it came to its end after that, for then it was a child's.
    pub fn take_crash(&mut self) -> Option<Crash> {
        let end = self.came_to_its_end;
        let is_own = |crash: &Crash| !matches!(crash.at, Some(Place::Line([_, last])) if last < end);
        self.crash.take().filter(is_own)
    }

    /// Notes something that is known and can not be read, once.
    pub fn problem(&mut self, problem: Problem) {
        if self.unread.iter().all(|known| known.code != problem.code) {
            self.unread.push(problem);
        }
    }

    /// What did not fit, and what could not be read.
    fn problems(&self) -> Vec<Problem> {
        let kinds = || self.kinds.iter().filter(|(kind, _)| **kind != STACKS);
        let dropped: Vec<String> = kinds()
            .filter(|(_, of_kind)| of_kind.dropped > 0)
            .map(|(kind, of_kind)| format!("{} {kind}", of_kind.dropped))
            .collect();
        let stacks = self.kinds.get(STACKS).map_or(0, |stacks| stacks.dropped);
        let oversized: u64 = self.kinds.values().map(|of_kind| of_kind.oversized).sum();
        let mut problems = self.unread.clone();
        if !dropped.is_empty() {
            let message = format!(
                "further events were left out: {}; of each kind the first ones and those at the end are kept, {} in all",
                dropped.join(", "),
                self.events.len()
            );
            problems.push(Problem::new("limit-events", message));
        }
        if stacks > 0 {
            let message = format!(
                "{stacks} further stacks were left out; the first ones and those at the end are kept, {} in all",
                self.threads.len()
            );
            problems.push(Problem::new("limit-threads", message));
        }
        if oversized > 0 {
            let message = format!(
                "{oversized} further events and stacks were left out: those kept quote {} bytes already",
                self.bytes
            );
            problems.push(Problem::new("limit-evidence-bytes", message));
        }
        problems
    }
}

/// Kinds of events that have always been counted say so themselves too.
fn set_count(what: &mut EventPayload, count: u64) {
    match what {
        EventPayload::DeviceAssert(assert) => assert.count = count,
        EventPayload::Xid(xid) => xid.count = count,
        EventPayload::Sanitizer(report) => report.count = count,
        _ => {}
    }
}

/// An empty stack of this process.
pub fn new_thread(origin: &Origin) -> Thread {
    Thread {
        id: ThreadId::Label(String::new()),
        name: None,
        rank: origin.rank,
        pid: origin.pid,
        crashed: false,
        artifact: String::new(),
        frames: Vec::new(),
        frames_omitted: None,
        holds_gil: false,
        activity: None,
    }
}

fn shorten(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(TEXT_CHARS) {
        Some((cut, _)) => format!("{}…", text.get(..cut).unwrap_or_default()),
        None => text.to_owned(),
    }
}
