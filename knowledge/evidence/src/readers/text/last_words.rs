//! The very last lines of a text, where programs say why they end without printing a traceback.
//!
//! A line that only names an exception, or only says that a command could not be run, is no sign in the middle of a
//! log: handlers, retries and documents print such lines. As the last thing that a log says it is how the program
//! ended.

use std::collections::VecDeque;

use regex::Regex;

use super::line::{self, Line};
use super::severity::{Severity, severity};
use super::sink::Sink;
use super::{blocks, progress, regex};
use crate::model::{EndSign, Event, EventPayload, LastWords, Place, PythonException};

/// Lines that are kept, blank ones not counted, and bytes of each.
const LINES: usize = 64;
/// Of those, the last ones among which a line that only names an exception is how the program ended. That a command
/// could not be run may be followed by what a launcher says of it.
const EXCEPTIONS: usize = 16;
const LINE_BYTES: usize = 2 << 10;

/// Lines at the very end, one of which may say that all went well.
const CLOSING: usize = 3;
/// And before those, lines among which the summary of tests may stand.
const SUMMARY: usize = 24;

/// Lines behind a failure that launchers, shells and scripts print of it.
const AFTERMATH: u64 = 4;

/// Lines before a traceback in which what raised it logs why.
const BEFORE: u64 = 8;

/// Lines before the end in which a traceback was read: then it has the last word.
const NEAR: u64 = 64;

/// The last lines of a text.
#[derive(Debug, Default)]
pub struct End {
    lines: VecDeque<(u64, Vec<u8>)>,
}

impl End {
    /// Goes on to the next line.
    pub fn push(&mut self, number: u64, raw: &[u8]) {
        if raw.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        let mut kept = if self.lines.len() < LINES {
            Vec::new()
        } else {
            self.lines.pop_front().map(|(_, line)| line).unwrap_or_default()
        };
        kept.clear();
        kept.extend_from_slice(raw.get(..LINE_BYTES).unwrap_or(raw));
        self.lines.push_back((number, kept));
    }

    /// The lines that are kept, the last one first.
    pub fn backwards(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.lines.iter().rev().map(|(number, raw)| (*number, raw.as_slice()))
    }

    /// The line on which torch says that a rank leaves without taking leave of the others. It came to the end of its
    /// program; that the others then lose what it kept for them, or fail to write to it, tells of nothing else.
    pub fn left(&self) -> Option<u64> {
        let words = b"destroy_process_group() was not called before program exit";
        let says = |(_, raw): &&(u64, Vec<u8>)| memchr::memmem::find(raw, words).is_some();
        self.lines.iter().find(says).map(|(number, _)| *number)
    }

    /// The line up to which everything went well, by what stands among the very last lines: tests that passed, a process
    /// that ended with 0, or that the training is finished. The last is what scripts say as well, whatever became of
    /// the program that they ran: it tells nothing of a failure that stands right before it.
    pub fn all_is_well(&self) -> Option<GoodEnd> {
        let (had_to, test_failed) = (self.had_to_shut_down(), self.has_failed_test());
        let went_on = self.last_progress();
        let well = |(number, raw): &(u64, Vec<u8>)| {
            let cleaned = line::clean(raw);
            let line = Line::new(0, line::beginning(&cleaned));
            let well = is_well(line.text.trim_end()).filter(|well| match well {
                Well::Tests => !test_failed,
                Well::Exit | Well::Said => !had_to,
            })?;
            Some(GoodEnd {
                line: match well {
                    Well::Tests | Well::Exit => *number,
                    Well::Said => number.saturating_sub(AFTERMATH).max(went_on),
                },
                said: *number,
                tests_passed: if matches!(well, Well::Tests) { *number } else { 0 },
                sign: match well {
                    Well::Tests => EndSign::TestsPassed,
                    Well::Exit => EndSign::ExitZero,
                    Well::Said => EndSign::Finished,
                },
            })
        };
        // Ranks that are through lose the one that is through first, and only warn of it.
        let last = self.lines.iter().rev().skip_while(|(_, raw)| is_warning_of_torch(raw));
        let end = last.clone().take(CLOSING).find_map(well);
        // What a service that runs tests does after them, and says of itself, tells nothing of them.
        let tests = last
            .take(CLOSING + SUMMARY)
            .filter_map(well)
            .find(|end| end.tests_passed > 0);
        match (end, tests) {
            (Some(end), Some(tests)) => Some(GoodEnd {
                tests_passed: tests.tests_passed,
                ..end
            }),
            (end, tests) => end.or(tests),
        }
    }

    /// A server that does not get its port, or whose engine died, shuts down in good order.
    fn had_to_shut_down(&self) -> bool {
        let went_on = self.last_progress();
        let mut last = self.lines.iter().rev().take_while(|(number, _)| *number > went_on);
        let why = regex!(
            r"error while attempting to bind on address|\bEngineDeadError\b|\bEngineCore encountered a fatal error\b|^error: creating server: "
        );
        last.any(|(_, raw)| why.is_match(&String::from_utf8_lossy(raw)))
    }

    /// Whether a test failed before others passed: Go's, and NVIDIA's samples, are told one by one.
    fn has_failed_test(&self) -> bool {
        let failed = regex!(r"^(?:\s*--- FAIL: |FAIL(?:\s|$)|Test FAILED\b)");
        self.lines.iter().any(|(_, raw)| failed.is_match(&line::clean(raw)))
    }

    /// The line of progress behind which there is another: one alone may be of a peer.
    fn last_progress(&self) -> u64 {
        let mut progress = self.lines.iter().rev().filter(|(_, raw)| progress::is_progress(raw));
        progress.nth(1).map_or(0, |(number, _)| *number)
    }

    /// Puts what the last lines say, and nobody else has read, into the sink.
    pub fn read(&self, sink: &mut Sink) {
        let last = self.lines.back().map_or(0, |(number, _)| *number);
        let has_traceback = sink.events.iter().any(|event| is_traceback_near(event, last));
        let settled = self.settled(|_| true);
        // Where several processes wrote into each other's tracebacks, what they raised is on any line behind those.
        let torn = sink
            .events
            .iter()
            .filter(|event| is_torn(event))
            .map(progress::first_line)
            .min();
        let last_ones = match torn {
            Some(torn) => self.lines.iter().take_while(|(number, _)| *number < torn).count(),
            None => self.lines.len().saturating_sub(EXCEPTIONS),
        };
        let is_script = self.lines.back().is_some_and(|(_, raw)| raw.starts_with(b"Node.js v"));
        let ended = sink
            .events
            .iter()
            .filter(|event| is_end(event))
            .map(progress::first_line)
            .min();
        // Kubernetes lists what became of a container above the events that led there.
        let own = self.settled(|raw| !is_of_kubernetes(raw));
        for (place, (number, raw)) in self.lines.iter().enumerate() {
            if own[place] || settled[place] && is_of_kubernetes(raw) {
                continue;
            }
            let cleaned = line::clean(raw);
            let line = Line::new(*number, line::beginning(&cleaned));
            if line.is_quoted() || self.is_ignored_next(place) || is_told(sink, *number) {
                continue;
            }
            let is_last = place >= last_ones && !has_traceback && !self.is_below_ignored(place);
            // The kernel's modules name themselves as exceptions are named: `LustreError: `.
            let exception = if is_last && !line.origin.kernel {
                exception(line.text)
            } else {
                None
            };
            let exception = exception.map(|what| self.with_next(what, place));
            let exception = exception.or_else(|| is_script.then(|| script_error(line.text)).flatten().map(bare));
            // What a script misses once the program has ended, it was to make.
            let is_aftermath =
                |words: &LastWords| words.family == "files" && ended.is_some_and(|ended| ended < *number);
            // Who is asked to end, and saves its state, ends well. What fails then, fails for it.
            let is_first = || !sink.events.iter().any(|event| tells_before(event, *number));
            let asked = || stopped(line.text).filter(|_| is_first() && self.complains_after(place));
            let words = || {
                let found = command(line.text).filter(|words| !has_traceback || is_of_system(words));
                found.filter(|words| !is_aftermath(words)).or_else(asked)
            };
            if let Some(what) = exception.or_else(|| words().map(EventPayload::LastWords)) {
                sink.event(what, &line.origin, [*number, *number], line.text);
            }
        }
        let survived = sink.settled;
        if sink.events.iter().all(|event| is_open(event, survived)) {
            self.read_complaints(&settled, sink);
        } else if let Some(raised) = last_traceback(sink) {
            self.read_errors_before(raised, &settled, sink);
        }
    }

    /// Of each line whether progress follows it. In what somebody copied from a terminal, what the next command prints is
    /// no progress of the one before.
    fn settled(&self, counts: impl Fn(&[u8]) -> bool) -> Vec<bool> {
        let mut went_on = false;
        let mut settled: Vec<bool> = Vec::with_capacity(self.lines.len());
        for (_, raw) in self.lines.iter().rev() {
            went_on = !is_prompt(raw) && (went_on || progress::is_progress(raw) && counts(raw));
            settled.push(went_on);
        }
        settled.reverse();
        settled
    }

    /// An exception whose message breaks off in a colon goes on in the next line.
    fn with_next(&self, mut what: EventPayload, place: usize) -> EventPayload {
        if let EventPayload::PythonException(raised) = &mut what {
            self.add_next(&mut raised.message, place);
        }
        what
    }

    /// A message that breaks off in a colon goes on in the next line.
    fn add_next(&self, message: &mut String, place: usize) {
        if message.trim_end().ends_with(':')
            && let Some((number, next)) = self.lines.get(place + 1)
        {
            let next = line::clean(next);
            *message = format!("{}\n{}", message.trim_end(), Line::new(*number, &next).text.trim());
        }
    }

    /// Where nothing tells why a program ended, the lines that say that something failed.
    fn read_complaints(&self, settled: &[bool], sink: &mut Sink) {
        for (place, (number, raw)) in self.lines.iter().enumerate() {
            if settled[place] {
                continue;
            }
            let cleaned = line::clean(raw);
            let line = Line::new(*number, line::beginning(&cleaned));
            if line.is_quoted() || self.is_ignored_next(place) || is_told(sink, *number) {
                continue;
            }
            let below_stack = || self.is_below_stack(place).then(|| open(LastWords::ERROR, line.text));
            if let Some(mut words) = complaint(&cleaned, &line).or_else(below_stack) {
                self.add_next(&mut words.message, place);
                sink.event(
                    EventPayload::LastWords(words),
                    &line.origin,
                    [*number, *number],
                    line.text,
                );
            }
        }
    }

    /// Libraries in C++ log what failed, and raise an exception that only says that something did.
    fn read_errors_before(&self, traceback: u64, settled: &[bool], sink: &mut Sink) {
        let before = |(_, (number, _)): &(usize, &(u64, Vec<u8>))| {
            (traceback.saturating_sub(BEFORE)..traceback).contains(number)
        };
        for (place, (number, raw)) in self.lines.iter().enumerate().filter(before) {
            let cleaned = line::clean(raw);
            let line = Line::new(*number, line::beginning(&cleaned));
            if settled[place] || line.is_quoted() || self.is_ignored_next(place) || is_told(sink, *number) {
                continue;
            }
            if let Some(words) = complaint(&cleaned, &line).filter(|words| words.family == LastWords::ERROR) {
                sink.event(
                    EventPayload::LastWords(words),
                    &line.origin,
                    [*number, *number],
                    line.text,
                );
            }
        }
    }

    /// Whether a program printed the line right below a stack, as those do that catch an exception and print its traceback
    /// and its message, and not its class.
    fn is_below_stack(&self, place: usize) -> bool {
        let line = |before: usize| {
            let (_, raw) = self.lines.get(place.checked_sub(before)?)?;
            Some(line::clean(raw))
        };
        let is_source = |line: &str| line.starts_with("    ");
        let is_frame = |line: &str| regex!(r#"^  File "[^"]+", line \d+, in \S"#).is_match(line);
        line(0).is_some_and(|line| !line.starts_with(char::is_whitespace))
            && line(1).is_some_and(|line| is_source(&line))
            && line(2).is_some_and(|line| is_frame(&line))
    }

    /// Whether the exception that a line names was ignored, as the line above its traceback says.
    fn is_below_ignored(&self, place: usize) -> bool {
        let above = self.lines.iter().take(place).rev().map(|(_, raw)| line::clean(raw));
        let mut above = above.skip_while(|line| blocks::is_inside(line));
        above.next().is_some_and(|line| blocks::announces_ignored(line.trim()))
    }

    /// Whether a line behind this one says that something failed.
    fn complains_after(&self, place: usize) -> bool {
        self.lines.iter().skip(place + 1).any(|(number, raw)| {
            let cleaned = line::clean(raw);
            complaint(&cleaned, &Line::new(*number, line::beginning(&cleaned))).is_some()
        })
    }

    /// Whether the line behind this one says that it does not matter; of one that goes on in the next, the line behind
    /// that.
    fn is_ignored_next(&self, place: usize) -> bool {
        let goes_on = self
            .lines
            .get(place)
            .is_some_and(|(_, raw)| raw.trim_ascii_end().ends_with(b":"));
        let next = self.lines.iter().skip(place + 1).take(1 + usize::from(goes_on));
        let does_not_matter = regex!(r"(?i)\bignoring this (?:choice|error)|\bfalling back\b");
        next.map(|(_, raw)| line::clean(raw))
            .any(|next| does_not_matter.is_match(&next))
    }
}

/// Whether a shell waits for a command on a line: `user@host:~/folder$ `, `[user@host folder]$ `, `(env) user@host:~# `.
fn is_prompt(raw: &[u8]) -> bool {
    regex!(r"^(?:\(\S+\) )?(?:\[?[\w.-]+@[\w.-]+[: ][^$#\]]{0,200}\]?[$#] |\$ \S)").is_match(&line::clean(raw))
}

/// Whether it is a row of a table of Kubernetes' events.
fn is_of_kubernetes(raw: &[u8]) -> bool {
    regex!(r"^\s*(?:\S+\s+)?(?:Normal|Warning)\s+[A-Z]").is_match(&String::from_utf8_lossy(raw))
}

/// Whether an event leaves open why a program failed: that it ended, and how, does not say why.
fn is_open(event: &Event, settled: u64) -> bool {
    let is_mute = is_end(event) || matches!(event.payload, EventPayload::SharedMemory(_));
    is_mute || progress::is_survived(event, settled)
}

/// Whether it tells that a process ended.
fn is_end(event: &Event) -> bool {
    matches!(
        event.payload,
        EventPayload::ProcessExit(_) | EventPayload::ElasticFailure(_)
    )
}

/// Whether a failure was told of before a line.
fn tells_before(event: &Event, number: u64) -> bool {
    !event.survived && progress::first_line(event) < number
}

/// What a server says that was asked to end.
fn stopped(text: &str) -> Option<LastWords> {
    let asked = regex!(
        r"(?i)^\W{0,3}(?:[\w. -]{1,40}\b)?(?:received|got|caught|handling) (?:signal )?(?:SIGTERM|15)\b[^%]{0,80}$|^SIGTERM (?:received|caught)\b.{0,80}$"
    );
    asked.is_match(text).then(|| open("stopped", text))
}

fn is_told(sink: &Sink, number: u64) -> bool {
    sink.events.iter().any(|event| tells_of(event, number))
}

/// A text whose very last lines say that all went well.
#[derive(Clone, Copy, Debug)]
pub struct GoodEnd {
    /// The line up to which it did.
    pub line: u64,
    /// The line that says so.
    pub said: u64,
    /// The line up to which tests came that passed: whatever failed in them was meant to. 0 where there were none.
    pub tests_passed: u64,
    /// Who says so.
    pub sign: EndSign,
}

/// `[rank0]:[W625 12:40:32.118200915 ProcessGroupNCCL.cpp:1496] …`.
fn is_warning_of_torch(raw: &[u8]) -> bool {
    let text = String::from_utf8_lossy(raw.get(..LINE_BYTES).unwrap_or(raw));
    regex!(r"(?-u)^(?:\d+: ?)?(?:\[rank\d+\]: ?)?\[W\d+ [\d:.]+ (?:ProcessGroup|TCPStore|socket)").is_match(&text)
}

/// Who says that all went well.
enum Well {
    /// Who counted tests.
    Tests,
    /// Who asked for the exit status.
    Exit,
    /// Whoever printed a line.
    Said,
}

/// pytest, unittest and doctest where no test failed, the words of launchers for an exit status of 0, and those of
/// programs that came to their end. loguru has a level for that.
fn is_well(text: &str) -> Option<Well> {
    // GoogleTest, CTest, cargo, Go, and many a runner of its own.
    let none_failed = regex!(
        r"^(?:\d+: )?\[ {2}PASSED {2}\] \d+ tests?\.$|^Test PASSED$|^100% tests passed, 0 tests failed out of \d+$|^test result: ok\. \d+ passed; 0 failed;|^\S+: [1-9]\d* passed, 0 failed\b|^PASS$|^ok\s+\S+\s+[\d.]+s$"
    );
    if none_failed.is_match(text) {
        return Some(Well::Tests);
    }
    if regex!(r"\b(?:failed|failures?|errors?)\b").is_match(text) {
        return None;
    }
    let tests = regex!(
        r"^(?:=+ )?\d+ passed\b.*|^All tests passed\b.*|^&&&& PASSED |^OK(?: \([\w=, ]+\))?$|^Test passed\.$|^test_\w+ \(.+\) \.\.\. ok$|^Number of trials: \d+/\d+ \(\d+ TERMINATED\)$"
    );
    let exit = regex!(
        r"(?i)\b(?:exit(?:ed|ing)?|finished|ended|return(?:ed)?)\b(?: with)?(?: exit)?(?: code| status)?(?: of \w+)?:? 0\.?$|\bexit_?code\x22?[:=] ?0\W*$|\bSuccessfully stopped SparkContext$|\bfinal status: SUCCEEDED\b|\x22exit\x22, \x22code\x22: 0\}$|Found 0 live models and 0 in-flight non-inference requests\W*$|^(?:INFO:\s+)?(?:Application shutdown complete\.|Finished server process \[\d+\])$|^(?:\| )?SUCCESS +\| "
    );
    let said = regex!(
        r"(?i)^\W*(?:the )?(?:training|pre-?training|fine-?tuning|job|run|experiment|evaluation)\b(?: is| has| was| has been)? (?:finished|completed?|done)\b[^:]{0,60}$|^\W*job\b.{0,60}\b(?:succeeded|(?:finished|completed) successfully)\W*$|\bworker group successfully finished\b|^(?:\[[\d:., -]+\])?\W*(?:finished|done)\W*$|^\W{0,4}(?:all )?done[.!] \w[^:]{0,100}$|^\[after training is done\]|^\{'train_runtime': [\d.]+,|\bdone training in [\d.]+ seconds$|^\d+ epochs completed in [\d.]+ hours|\bThe training was finished at \d+ epochs"
    );
    if tests.is_match(text) {
        return Some(Well::Tests);
    }
    if exit.is_match(text) {
        return Some(Well::Exit);
    }
    said.is_match(text).then_some(Well::Said)
}

/// What the loader, the driver and the system said of the machine holds whatever the program then made of it, and so
/// does that a library found no file and went on without.
fn is_of_system(words: &LastWords) -> bool {
    let went_on = words.family == "files" && words.message.starts_with('[');
    went_on || ["loader", "driver", "threads", "openmp", "device-memory", "build"].contains(&words.family.as_str())
}

fn is_traceback_near(event: &Event, last: u64) -> bool {
    // These only tell that another program ended, which had its own last words.
    let is_news = |raised: &PythonException| {
        ["ChildFailedError", "CalledProcessError"]
            .iter()
            .any(|name| raised.exception.ends_with(name))
            || regex!(r"\b(?:exited|returned|failed) with (?:a )?non-?zero (?:exit )?(?:status|code)")
                .is_match(&raised.message)
    };
    let is_own = matches!(&event.payload, EventPayload::PythonException(raised) if !raised.exception.is_empty() && !is_news(raised));
    is_own && progress::last_line(event).saturating_add(NEAR) > last
}

/// The line on which the last traceback begins.
fn last_traceback(sink: &Sink) -> Option<u64> {
    let tracebacks = sink
        .events
        .iter()
        .filter(|event| matches!(event.payload, EventPayload::PythonException(_)));
    tracebacks.map(progress::first_line).max()
}

/// Whether it is a traceback that does not say what was raised.
fn is_torn(event: &Event) -> bool {
    matches!(&event.payload, EventPayload::PythonException(raised) if raised.exception.is_empty())
}

/// Whether a line was read as an event. That descriptors or shared memory ran out does not say how the program ended.
fn tells_of(event: &Event, number: u64) -> bool {
    !matches!(event.payload, EventPayload::SharedMemory(_))
        && matches!(event.last_at.as_ref().or(event.at.as_ref()), Some(Place::Line([first, last])) if (*first..=*last).contains(&number))
}

/// `AssertionError: batch size 30 != 32`, without a stack.
fn exception(text: &str) -> Option<EventPayload> {
    // Java names the thread before, and behind an exception's stack the one that it came of.
    let text = regex!(r#"^(?:Exception in thread "[^"]*" |Caused by: )"#)
        .find(text)
        .map_or(text, |thread| text.get(thread.end()..).unwrap_or_default());
    let (exception, message) = blocks::bare_exception(text).or_else(|| blocks::bare_exception(said(text)?))?;
    // conda's words to a shell that was not set up for it; scripts go on.
    if exception == "CommandNotFoundError" && message.contains("conda activate") {
        return None;
    }
    let is_figure = message.trim().parse::<f64>().is_ok();
    (!is_figure && !says_that_it_goes_on(message)).then(|| bare((exception, message)))
}

/// What a logger or a launcher says of how a program ended, without its own words before it: `ERROR: ValueError: …`,
/// `ErrorMessage "TypeError: …"`, `training failed: KeyError: …`.
fn said(text: &str) -> Option<&str> {
    if let Some(quoted) = text.strip_prefix("ErrorMessage \"") {
        return Some(quoted.strip_suffix('"').unwrap_or(quoted));
    }
    // Of ASCII alone: sixty times every letter there is takes 50 ms to compile.
    let who = regex!(
        r"(?i-u)^(?:\[(?:error|fatal|critical)\]:?|(?:error|fatal|critical) ?[:|-]) (?:(?:could not|failed to|unable to) [\w ]{1,40}: )?|^(?:failed|unable) to [\w .'-]{1,60}: (?:internal: )?|^[\w. '-]{0,60}\b(?:failed|aborted|crashed|died|ended)(?: with| because of| due to)?:? "
    );
    text.get(who.find(text)?.end()..)
}

/// An exception of which name and message are all that is known.
fn bare((exception, message): (&str, &str)) -> EventPayload {
    EventPayload::PythonException(PythonException {
        exception: exception.to_owned(),
        message: message.to_owned(),
        ..PythonException::default()
    })
}

/// An error that ended a script in Node.js, which prints its own version last: the class is often plain `Error`, and what
/// was wrong begins the message.
fn script_error(text: &str) -> Option<(&str, &str)> {
    let found = regex!(
        r"^(?:Uncaught )?(Error)(?: \[\w+\])?: ((?:E[A-Z]{3,}|listen E[A-Z]+|connect E[A-Z]+|getaddrinfo E[A-Z_]+)\b.*|Cannot find (?:module|package) .+)$"
    )
    .captures(text.trim_end())?;
    Some((found.get(1)?.as_str(), found.get(2)?.as_str()))
}

/// A line that says that something failed, by its level or its words, of which nothing more is known here: what it means
/// is for the tables of pages to say, which need no reader of their own for each program that ends with words of its own.
fn complaint(cleaned: &str, line: &Line) -> Option<LastWords> {
    let before = cleaned.strip_suffix(line.text).unwrap_or_default();
    // Triton's server has quotation marks around whatever it logs.
    let logged = before.ends_with("] ").then(|| within_quotes(line.text)).flatten();
    let text = logged.unwrap_or(line.text);
    let is_quote = text.trim_start().starts_with(['"', '\'', '\u{201c}']);
    let severity = severity(before, text).filter(|_| !is_quote && !says_that_it_goes_on(text))?;
    let family = match severity {
        Severity::Error => LastWords::ERROR,
        Severity::Words => LastWords::COMPLAINT,
    };
    Some(open(family, text))
}

fn within_quotes(text: &str) -> Option<&str> {
    text.strip_prefix('"')?.trim_end().strip_suffix('"')
}

fn open(family: &str, text: &str) -> LastWords {
    LastWords {
        family: family.to_owned(),
        message: text.trim().to_owned(),
    }
}

fn says_that_it_goes_on(message: &str) -> bool {
    // Who tried again as often as it may, or could not: a card, a client, a batch that is not split any further.
    if regex!(r"(?i)\bretry counter exceeded|\bcould not split inputs and retry|\bretr(?:y|ies)(?: \w+){0,2} (?:exhausted|exceeded|reached)\b|\b(?:max|maximum|exhausted|exceeded)(?: \w+){0,3} retries\b").is_match(message) {
        return false;
    }
    regex!(r"(?i)\b(?:retry|retrying|try again|trying again|ignor|skipp|continuing|falling back|client (?:disconnected|hung up|closed|went away))").is_match(message)
}

/// What a shell, an interpreter, a parser of arguments or a container runtime says when it can not run a program.
fn command(text: &str) -> Option<LastWords> {
    let family = lacking(text).or_else(|| not_started(text))?;
    let does_without = || regex!(r"(?i)\b(?:ignor|skipp|continuing|falling back|without it)").is_match(text);
    if family == "disk" && does_without() {
        return None;
    }
    Some(LastWords {
        family: family.to_owned(),
        message: text.trim().to_owned(),
    })
}

/// Why a program could not be run, by who says it.
fn not_started(text: &str) -> Option<&'static str> {
    let forms: [(&'static str, &Regex); 13] = [
        (
            "usage",
            regex!(
                r"^error: (?:a value is required for |unexpected argument |invalid value |the following required arguments |unrecognized subcommand ).+$|^\S+(?: \S+)?: error: (?:argument |unrecognized arguments|the following arguments|ambiguous option|invalid ).+$|^Error: (?:No such option|Missing (?:option|argument)|Invalid value).*$|^Could not override '.+$|^Error merging \S.*$|^Invalid type assigned : .+$|^Unsupported interpolation type .+$|^Interpolation key '.+' not found$|^Cannot find primary config .+$|^In '.+': Could not find .+$|^│ The following arguments are required:.*│$|^│ (?:No such option|Missing (?:option|argument)|Invalid value|Got unexpected extra argument).*│$|^ERROR: (?:Could not consume arg|The function received no value).*$|^FATAL Flags parsing error:.*$|^\S+: (?:(?:unrecognized|unrecognised|unknown|illegal|ambiguous|invalid) option|option .+ requires an argument)\b.*$|^Unknown flags? in XLA_FLAGS: .+$"
            ),
        ),
        (
            "build",
            regex!(
                r"^\s*\S+\.(?:c|cc|cpp|cxx|cu|h|hpp|cuh):\d+:\d+: (?:fatal )?error: .+$|^\s*\S+\.cuh?\(\d+\): error: .+$|^\s*nvcc fatal\s*: .+$|^CMake Error\b.*$|^collect2: error: ld returned .+$"
            ),
        ),
        // Before the shell's: it too ends with "No such file or directory".
        (
            "loader",
            regex!(
                r"^\S+: error while loading shared libraries: .+$|^.*\.so[\w.]*: undefined symbol: \S+.*$|^\S+: (?:relocation error|symbol lookup error): .+$|^\S+: \S+: version `[^']+' not found \(required by .+\)$|^Could not load library \S+ Error: .+$|^.*\bFailed to load library \S*libonnxruntime_providers\w*\.so with error: .+$|^(?:\S+:\d+: guarantee\(false && )?\x22hipErrorNoBinaryForGpu: .+$|^Loaded runtime CuDNN library: .+$|^Unable to load any of \{lib.+\}$|^(?:INTEL|Intel) (?:MKL|oneMKL) (?:FATAL )?ERROR: .+$"
            ),
        ),
        (
            "shell",
            regex!(
                r"(?i)^(?:-?(?:bash|sh|zsh|dash)|/\S+|\S+\.sh): (?:line \d+: |\d+: )?.*: (?:command not found|not found|No such file or directory|Permission denied|cannot execute.*|Is a directory|Exec format error)$|^\S+: line \d+: (?:syntax error\b.*|\S+: (?:unbound variable|bad substitution|parameter (?:null or )?not set)|unexpected EOF while .*)$|^(?:exec|env|timeout|nohup|srun|slurmstepd|standard_init_linux\.go\S*)[: ].*(?:No such file or directory|Permission denied|command not found|exec format error)\x22?$|^(?:mpirun|mpiexec|orterun|prterun) was unable to (?:find|launch|start) .+$"
            ),
        ),
        (
            "interpreter",
            regex!(
                r"^\S*python[\d.]*: (?:can't open file|can't find '__main__'|No module named|Error while finding module) ?.*$|^Error: (?:Unable to access jarfile|Could not find or load main class) .+$|^Error: LinkageError occurred while loading main class .+$|^g?make(?:\[\d+\])?: \*\*\* No (?:rule to make target|targets specified and no makefile) .+$|^Can't open perl script .+$"
            ),
        ),
        (
            "container",
            regex!(
                r"^(?:docker: )?Error response from daemon: .+$|^nvidia-container-cli: .+$|^FATAL: {3}\S.*$|^.*(?:OCI runtime|runc) (?:create|exec) failed: .+$"
            ),
        ),
        (
            "threads",
            regex!(
                r"^runtime: failed to create new OS thread .+$|^OpenBLAS blas_thread_init: pthread_create(?: failed|:) .+$|^libgomp: Thread creation failed: .+$|^\S+: fork: (?:retry: )?(?:Resource temporarily unavailable|Cannot allocate memory)$"
            ),
        ),
        (
            "driver",
            regex!(
                r"^NVIDIA-SMI has failed because .+$|^(?:slurmstepd: error: )?NVML: .+: GPU is lost$|^Failed to initialize NVML: .+$|^Unable to determine the device handle for (?:GPU|gpu) ?\S+: .+$"
            ),
        ),
        (
            "stopped",
            regex!(
                r"(?i)^timeout: sending signal \w+ to command .+$|^.*\bDetected KeyboardInterrupt, attempting graceful shutdown.*$|^.*\bspot (?:interruption|termination|preemption) notice\b.*$|^.*\binstance .{0,40}will be (?:reclaimed|terminated|preempted)\b.*$"
            ),
        ),
        (
            "build",
            regex!(
                r"^\s*error: command '\S+' failed with exit (?:code|status) \d+$|^\s*ERROR: Failed building wheel for \S+$|^ninja: build stopped: .+$"
            ),
        ),
        (
            "package",
            regex!(
                r"^ERROR: (?:No matching distribution found for|Could not find a version that satisfies the requirement) .+$"
            ),
        ),
        (
            "openmp",
            regex!(r"^OMP: Error #15: .+$|^Error: mkl-service \+ Intel\(R\) MKL: .+$"),
        ),
        (
            "scheduler",
            regex!(
                r"^(?:Message:\s+|.*\bEvicted\b.*\s)?The node was low on resource: .+$|^(?:=>> )?PBS: job killed: .+$|^TERM_[A-Z]+: job killed .+$|^Job deleted at request of \S+$|^(?:Message:\s+|.*\x22)?Pod was active on the node longer than the specified deadline\b.*$|^.*\bHost EC2 \(instance i-\w+\) terminated\b.*$|^.*\bjob (?:cancelled|preempted|deleted)\b.*\(node failure\).*$|^(?:sbatch|srun|salloc): error: (?:Batch (?:script|job) .+|Unable to (?:allocate resources|create step .+): .+|Application launch failed: .+|[Ii]nvalid .+)$|^qsub: .+$|^There are not enough slots available in the system\b.*$"
            ),
        ),
    ];
    family(&forms, text)
}

/// What a command that was run found missing.
fn lacking(text: &str) -> Option<&'static str> {
    let forms: [(&'static str, &Regex); 13] = [
        // What `torchfrtrace` finds in the dumps of all ranks' recorders.
        ("recorder", regex!(r"^\s*missing ranks: \{\d[\d, ]*\}$")),
        (
            // llama.cpp's ggml, and TensorRT's error code 2 (`ErrorCode::kOUT_OF_MEMORY` has the name in its messages).
            "device-memory",
            regex!(
                r"^ggml_\w+: allocating [\d.]+ MiB on device \d+: cudaMalloc failed: out of memory$|^\w+: failed to allocate (?:CUDA|ROCm|Vulkan|SYCL)\d* buffer of size \d+$|^(?:\[[\d/:. -]+\] )?\[TRT\] \[E\] .*\bError Code 2: OutOfMemory\b.*$|^.*\bcu\w+\(.*\) failed -> CUDA_ERROR_OUT_OF_MEMORY\b.*$|^.*\bOP_REQUIRES failed at .*: OOM when allocating tensor with shape\[.* GPU_\d+_bfc.*$"
            ),
        ),
        (
            "model",
            regex!(
                r"^\w+: tensor '.+' has wrong (?:shape|size|number of elements) in model file\b.*$|^gguf_\w+: (?:invalid magic characters?\b.*|failed to read (?:header|key-value pairs|tensor (?:info|data)).*)$|^\w+: error loading model: .*\b(?:is not within the file bounds|corrupted or incomplete|unexpectedly reached end of file|invalid magic)\b.*$"
            ),
        ),
        (
            "network",
            regex!(
                r"^curl: \((?:5|6|7|16|18|28|35|52|55|56|60|92)\) .+$|^curl: \(22\) .*error: (?:408|429|5\d\d)\b.*$|^wget: unable to resolve host address .+$|^fatal: unable to access '.+': (?:Could not|Failed to|Recv|Send|SSL|OpenSSL|GnuTLS|server certificate).+$|^ssh: (?:connect to host|Could not resolve hostname) .+$|^.*\bERROR (?:408|429|5\d\d): .+$"
            ),
        ),
        (
            "refused",
            regex!(
                r"^curl: \(22\) .*error: 40[134]\b.*$|^curl: \((?:9|67|78)\) .+$|^.*\bERROR 40[134]: .+$|^fatal: (?:Authentication failed for|could not read Username for|repository) .+$|^fatal: unable to access '.+': The requested URL returned error: 40[134]$|^\S+@\S+: Permission denied \(.+\)\.$|^Host key verification failed\.$|^batch response: .+$|^403 - Forbidden - .+$|^error: failed to fetch some objects from .+$"
            ),
        ),
        (
            "archive",
            regex!(
                r"^(?:\S*/)?(?:tar|bsdtar): (?:Unexpected EOF in archive|This does not look like a tar archive|Skipping to next header|A lone zero block.*|Damaged tar archive.*|Truncated .*|Unrecognized archive format.*)$|^(?:gzip|gunzip|zcat|bzip2|bunzip2|xz|unxz|lz4|zstd|unzip): .*(?:unexpected end of (?:file|input)|not in \w+ format|invalid compressed data.*|[Cc]ompressed data is corrupt|File format not recognized|[Dd]ata (?:integrity )?error|[Cc]orrupt\w*|premature end|unsupported format|crc error)\W*.*$|^\s*End-of-central-directory signature not found\..*$"
            ),
        ),
        (
            "disk",
            regex!(
                r"^[\w./+-]+(?:\[\d+\])?: (?:.*: )?(?:No space left on device|Disk quota exceeded)(?: \(\d+\))?$|(?i)^.*\b(?:checkpoint|sav(?:e|ing)|writ(?:e|ing)|shard|snapshot)\b.*\[Errno (?:28|122)\] .+$"
            ),
        ),
        (
            "permission",
            regex!(
                r"^(?:\S*/)?(?:cp|mv|ln|mkdir|rmdir|touch|tee|tar|dd|install|rsync|chmod|chown|truncate|mktemp|unzip|cat|head|tail): .*: (?:Permission denied|Operation not permitted|Read-only file system)(?: \(\d+\))?$"
            ),
        ),
        (
            "files",
            regex!(
                r"^(?:\S*/)?(?:cp|mv|ln|cat|head|tail|tar|bsdtar|dd|install|rsync|sort|sed|awk|gawk|mawk|cut|split|shuf|chmod|touch|unzip|gzip|zcat|xz|zstd): .*: (?:No such file or directory|Not a directory)(?: \(\d+\))?$|^.+: No such file or directory at \S+ line \d+\.$|^(?:gzip|unzip): +cannot find or open .+$|^No data found\. Please verify arguments\b.*$|^\[ ?WARN:.*imread_\('.*'\): can't open/read file.*$|^gguf_\w+: failed to open (?:GGUF file )?'.*'(?: \(No such file or directory\))?$"
            ),
        ),
        (
            "memory",
            regex!(
                r"^FATAL ERROR: .*JavaScript heap out of memory$|^ggml_aligned_malloc: insufficient memory .*$|^.*\bos::commit_memory\(.*\) failed; error='(?:Not enough space|Cannot allocate memory)'.*$|^Could not reserve enough space for .+$|^[\w./+-]+: (?:.*: )?(?:Cannot allocate memory|memory exhausted)$|^(?:virtual memory exhausted|fatal error: runtime: out of memory|runtime: out of memory: .*)$|^.*\bContainer \[pid=\d+,containerID=\w+\] is running .{0,40}beyond .{0,8}(?:physical|virtual|PHYSICAL|VIRTUAL).{0,2} memory limit.*$"
            ),
        ),
        (
            "peer",
            regex!(
                r"^(?:ORTE|PRTE) has lost communication with a remote daemon\.$|^An MPI communication peer process has unexpectedly disconnected\..*$"
            ),
        ),
        (
            "unreachable",
            regex!(r"^A process or daemon was unable to complete a TCP connection$"),
        ),
        (
            "port",
            regex!(
                r"^.*\bcould not bind to port \d+, it was already in use$|^.*\bSocket '[^']+' already in use\W*$|^.*\b(?:[Aa]ddress|[Pp]ort \d+|port) (?:is )?already in use\.?$"
            ),
        ),
    ];
    family(&forms, text)
}

fn family(forms: &[(&'static str, &Regex)], text: &str) -> Option<&'static str> {
    let found = forms.iter().find(|(_, form)| form.is_match(text));
    found.map(|(family, _)| *family)
}
