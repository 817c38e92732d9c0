//! What NCCL's RAS answers in words (`ncclras`, NCCL 2.24 and later): who is dead or silent, and whose counts differ.
//!
//! The answer names ranks that stand out; of the others it tells how many there are and how far.

use std::collections::BTreeMap;

use crate::model::{Communicator, CommunicatorRank, EventPayload, MissingRank, Place, RankProcess};
use crate::readers::nccl_ras::{failure, lost_process};
use crate::readers::text::line::Line;
use crate::readers::text::prefix::Origin;
use crate::readers::text::rules::Rule;
use crate::readers::text::sink::Sink;
use crate::readers::text::time::Stamp;
use crate::readers::text::{Block, Next, regex};

/// Opens an answer; in the monitoring mode one line tells of one peer.
pub const RULE: Rule = Rule {
    literals: &["Communicators... (", "PEER_DEAD: Process "],
    read,
};

fn read(line: &Line, sink: &mut Sink) -> Option<Box<dyn Block>> {
    if line.is_quoted() {
        return None;
    }
    if let Some((_, words)) = line.text.split_once("PEER_DEAD: ") {
        let process = process(words)?;
        tell(&process, true, &line.origin, [line.number; 2], sink);
        return None;
    }
    line.text.starts_with("Communicators... (").then(|| {
        Box::new(Answer {
            origin: line.origin.clone(),
            section: Section::Table,
            sizes: BTreeMap::new(),
            in_transition: Vec::new(),
            lost: Vec::new(),
            communicators: Vec::new(),
            operation: String::new(),
            told: Told::Nothing,
        }) as Box<dyn Block>
    })
}

/// `Process 3487984 on node 172.16.64.213 managing GPU 5`.
fn process(text: &str) -> Option<RankProcess> {
    let found = regex!(r"^\s*Process (\d+) on node (\S+) managing GPUs? (\d+)").captures(text)?;
    let part = |index| found.get(index).map(|part| part.as_str());
    Some(RankProcess {
        host: part(2).map(str::to_owned),
        pid: part(1).and_then(|pid| pid.parse().ok()),
        device: part(3).and_then(|device| device.parse().ok()),
    })
}

fn tell(process: &RankProcess, dead: bool, origin: &Origin, lines: [u64; 2], sink: &mut Sink) {
    let (warning, text) = lost_process(process, dead);
    let origin = Origin {
        pid: process.pid,
        ..origin.clone()
    };
    sink.event(EventPayload::NcclWarning(warning), &origin, lines, &text);
}

/// The part of an answer that a line is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    Table,
    Dead,
    Silent,
    /// What is missing from, failed in, or differs in the last communicator.
    Incomplete,
    Failed,
    Mismatch,
}

/// What the last line said of ranks that the next lines may name.
#[derive(Debug)]
enum Told {
    Nothing,
    Count(u64),
    Error(String),
}

#[derive(Debug)]
struct Answer {
    origin: Origin,
    section: Section,
    /// Ranks of each group's communicators.
    sizes: BTreeMap<String, u32>,
    /// Groups that are being made or torn down.
    in_transition: Vec<String>,
    lost: Vec<(RankProcess, bool, u64)>,
    communicators: Vec<Communicator>,
    /// The operation whose counts are told.
    operation: String,
    told: Told,
}

impl Block for Answer {
    fn next(&mut self, line: &Line) -> Next {
        let text = line.text.trim_end();
        let is_part = self.heading(text, line.number)
            || text.is_empty()
            || text.starts_with("===")
            || self.row(text)
            || text.starts_with("  ") && self.detail(text, line.number)
            || text == "No communicator data collected!";
        if is_part { Next::More } else { Next::Ended }
    }

    fn finish(mut self: Box<Self>, sink: &mut Sink) {
        for (process, dead, line) in &self.lost {
            tell(process, *dead, &self.origin, [*line; 2], sink);
        }
        for communicator in &self.communicators {
            let Some(Place::Line(lines)) = communicator.at.clone() else {
                continue;
            };
            for (error, text) in communicator.ranks.iter().filter_map(failure) {
                sink.event(EventPayload::NcclError(error), &self.origin, lines, &text);
            }
        }
        let time = self.origin.stamp.as_ref().map(Stamp::read).unwrap_or_default().time;
        for communicator in &mut self.communicators {
            communicator.time.clone_from(&time);
            for missing in &mut communicator.missing {
                let known = self.lost.iter().find(|(process, ..)| *process == missing.process);
                missing.dead = known.is_some_and(|(_, dead, _)| *dead);
            }
        }
        sink.communicators(self.communicators);
    }
}

impl Answer {
    /// A line that begins a part.
    fn heading(&mut self, text: &str, number: u64) -> bool {
        self.section = match text {
            "DEAD" => Section::Dead,
            "INCOMPLETE" => Section::Silent,
            "Errors" | "Warnings" | "TIMEOUT" => Section::Table,
            _ => {
                let Some(found) = regex!(r"^#(\d+)-\d+ \(([0-9a-f]+)\) (INCOMPLETE|ERROR|MISMATCH)$").captures(text)
                else {
                    return false;
                };
                let part = |index| found.get(index).map_or("", |part| part.as_str());
                self.open(part(1), part(2), number);
                match part(3) {
                    "INCOMPLETE" => Section::Incomplete,
                    "ERROR" => Section::Failed,
                    _ => Section::Mismatch,
                }
            }
        };
        self.told = Told::Nothing;
        true
    }

    /// Makes a communicator the last one; it may have been there before.
    fn open(&mut self, group: &str, hash: &str, number: u64) {
        let known = self.communicators.iter().position(|known| known.hash == hash);
        let communicator = match known {
            Some(index) => self.communicators.remove(index),
            None => Communicator {
                at: Some(Place::Line([number; 2])),
                source: "ras".to_owned(),
                hash: hash.to_owned(),
                size: self.sizes.get(group).copied(),
                in_transition: self.in_transition.iter().any(|known| known == group),
                ..Communicator::default()
            },
        };
        self.communicators.push(communicator);
        self.operation.clear();
    }

    /// `    0         1         4       7-8        32        32   RUNNING  INCOMPLETE`, and the names of its columns.
    fn row(&mut self, text: &str) -> bool {
        let names = ["Group     Comms", "    #  in group"];
        let row = regex!(r"^\s*(\d+)\s+\d+\s+\d+\s+[\d-]+\s+(\d+)\s+\d+\s+([A-Z]+)\s+[A-Z]+\S*$").captures(text);
        let Some(row) = row.filter(|_| self.section == Section::Table) else {
            return names.iter().any(|name| text.starts_with(name));
        };
        let part = |index| row.get(index).map_or("", |part| part.as_str());
        if let Ok(size) = part(2).parse() {
            self.sizes.insert(part(1).to_owned(), size);
        }
        if part(3) != "RUNNING" {
            self.in_transition.push(part(1).to_owned());
        }
        true
    }

    /// A line of a part.
    fn detail(&mut self, text: &str, number: u64) -> bool {
        let text = text.trim();
        match self.section {
            Section::Dead | Section::Silent => {
                let dead = self.section == Section::Dead;
                self.lost.extend(process(text).map(|process| (process, dead, number)));
            }
            Section::Incomplete => self.missing(text),
            Section::Failed | Section::Mismatch => self.differs(text),
            Section::Table => {}
        }
        true
    }

    /// `The missing rank: 21`, `Rank 21 -- GPU 5 managed by process 3487984 on node 172.16.64.213`.
    fn missing(&mut self, text: &str) {
        let listed = text
            .strip_prefix("The missing rank")
            .and_then(|rest| rest.split_once(": "));
        let ranks = listed.into_iter().flat_map(|(_, ranks)| ranks.split(','));
        let mut ranks: Vec<MissingRank> = ranks
            .filter_map(|rank| rank.trim().parse().ok())
            .map(|rank| MissingRank {
                rank,
                unresponsive: true,
                ..MissingRank::default()
            })
            .collect();
        // One rank that is missing and one process that is lost are the same.
        if let ([missing], [(process, ..)]) = (ranks.as_mut_slice(), self.lost.as_slice()) {
            missing.process = process.clone();
        }
        ranks.extend(named_rank(text).map(|(rank, process)| MissingRank {
            rank,
            process,
            unresponsive: true,
            dead: false,
        }));
        if let Some(communicator) = self.communicators.last_mut() {
            communicator.missing.extend(ranks);
        }
    }

    /// What is said of ranks: how far they are, or what they reported.
    fn differs(&mut self, text: &str) {
        if let Some(found) =
            regex!(r"^Communicator ranks have different (?:collective|(\w+)) operation counts").captures(text)
        {
            let operation = found.get(1).map_or("collective", |operation| operation.as_str());
            operation.clone_into(&mut self.operation);
            return;
        }
        if text.starts_with("Communicator ranks have different status") {
            self.operation.clear();
        }
        let told = regex!(
            r"^(?:\d+ ranks|Rank \d+) (?:ha(?:ve|s) launched up to operation (?P<count>\d+)|(?P<none>ha(?:ve|s) not launched any operations)|reported (?P<error>.+?)(?: -- .*)?$)"
        )
        .captures(text);
        if let Some(told) = told {
            self.told = match (told.name("count"), told.name("error")) {
                (Some(count), _) => count.as_str().parse().map_or(Told::Nothing, Told::Count),
                (None, Some(error)) => Told::Error(error.as_str().to_owned()),
                (None, None) => Told::Count(0),
            };
        }
        let Some(communicator) = self.communicators.last_mut() else {
            return;
        };
        match (named_rank(text), &self.told) {
            (Some((rank, process)), told) => {
                let index = communicator.ranks.iter().position(|known| known.rank == rank);
                let index = index.unwrap_or_else(|| {
                    communicator.ranks.push(CommunicatorRank {
                        rank,
                        process,
                        ..CommunicatorRank::default()
                    });
                    communicator.ranks.len() - 1
                });
                let Some(known) = communicator.ranks.get_mut(index) else {
                    return;
                };
                match told {
                    Told::Count(count) => {
                        // Those that were counted are the ones that are named now.
                        if communicator.others.get(&self.operation) == Some(count) {
                            communicator.others.remove(&self.operation);
                        }
                        known.counts.insert(self.operation.clone(), *count);
                    }
                    Told::Error(error) => known.error = Some(error.clone()),
                    Told::Nothing => {}
                }
            }
            (None, Told::Count(count)) => {
                let others = communicator.others.entry(self.operation.clone()).or_default();
                *others = (*others).max(*count);
            }
            _ => {}
        }
    }
}

/// `Rank 3 … -- GPU 3 managed by process 483075 on node 172.16.64.210`.
fn named_rank(text: &str) -> Option<(u32, RankProcess)> {
    let found = regex!(r"^Rank (\d+) .*?-- (?:GPU (\d+)\S* managed by process (\d+) on node (\S+)|\[process)")
        .captures(text)?;
    let number = |index| found.get(index).and_then(|number| number.as_str().parse().ok());
    let process = RankProcess {
        host: found.get(4).map(|host| host.as_str().to_owned()),
        pid: number(3),
        device: number(2),
    };
    Some((number(1)?, process))
}
