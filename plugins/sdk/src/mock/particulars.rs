//! Binaries, GPUs, ranks, software, other reports and causes of a report for tests.

use serde_json::Value;

use super::{Report, hex, list, number, page, text};
use crate::bindings::whycrash::plugin::evidence::{Code, Module, Software};
use crate::{gpu, history, knowledge, ranks};

impl Report {
    /// Where the code of these frames lies.
    pub fn codes(&self, thread: u32, first: u32, count: u32) -> Vec<Code> {
        let code = |frame: &Value| Code {
            build_id: optional(frame, "build_id"),
            offset: hex(frame, "offset"),
            lines: frame["at"]["line"][0].as_u64().zip(frame["at"]["line"][1].as_u64()),
        };
        let thread = list(&self.evidence, "threads").get(thread as usize);
        let frames = thread.map_or(&[][..], |thread| list(thread, "frames"));
        page(frames, first, count).map(code).collect()
    }

    /// Binaries mapped into the processes.
    pub fn modules(&self, first: u32, count: u32) -> Vec<Module> {
        let module = |value: &Value| Module {
            path: text(value, "path"),
            build_id: optional(value, "build_id"),
            first: hex(value, "start").unwrap_or_default(),
            end: hex(value, "end").unwrap_or_default(),
            symbols: optional(value, "symbols"),
            artifact: text(value, "artifact"),
        };
        page(list(&self.evidence, "modules"), first, count)
            .map(module)
            .collect()
    }

    /// Software whose version the evidence tells: all of it, or what has this name.
    pub fn software(&self, name: Option<&str>) -> Vec<Software> {
        let software = self.software.as_array().into_iter().flatten().map(|value| Software {
            name: text(value, "name"),
            version: text(value, "version"),
            fact: text(value, "fact"),
        });
        software
            .filter(|one| name.is_none_or(|name| name == one.name))
            .collect()
    }

    /// One entry for each device of each GPU core dump.
    pub fn gpu_cores(&self) -> Vec<gpu::Core> {
        let core = |value: &Value| gpu::Core {
            artifact: text(value, "artifact"),
            device: number(value, "device").unwrap_or_default(),
            exception: optional(value, "exception"),
            kernel: optional(value, "kernel"),
            offset: hex(value, "offset"),
            file: optional(value, "file"),
            line: number(value, "line"),
            block: dimensions(value, "block"),
            thread: dimensions(value, "thread"),
            grid_size: dimensions(value, "grid_size"),
            block_size: dimensions(value, "block_size"),
            name: optional(value, "name"),
            architecture: optional(value, "architecture"),
        };
        list(&self.evidence, "gpu_cores").iter().map(core).collect()
    }

    /// The warps of a core that stopped with an exception.
    pub fn gpu_faults(&self, core: u32, first: u32, count: u32) -> Vec<gpu::Fault> {
        let fault = |value: &Value| gpu::Fault {
            exception: optional(value, "exception"),
            sm: number(value, "sm").unwrap_or_default(),
            warp: number(value, "warp").unwrap_or_default(),
            lane: number(value, "lane"),
            block: dimensions(value, "block"),
            thread: dimensions(value, "thread"),
            kernel: optional(value, "kernel"),
            offset: hex(value, "offset"),
        };
        page(self.of("gpu_cores", core, "faults"), first, count)
            .map(fault)
            .collect()
    }

    /// What its warps were doing, most first.
    pub fn gpu_warps(&self, core: u32, first: u32, count: u32) -> Vec<gpu::Warps> {
        let warps = |value: &Value| gpu::Warps {
            kernel: optional(value, "kernel"),
            offset: hex(value, "offset"),
            count: big(value, "count"),
            faulted: big(value, "faulted"),
        };
        page(self.of("gpu_cores", core, "warps"), first, count)
            .map(warps)
            .collect()
    }

    /// What the ranks did together.
    pub fn rank_overview(&self) -> Option<ranks::Overview> {
        let told = self.evidence.get("collectives")?;
        Some(ranks::Overview {
            recorded: numbers(told, "ranks"),
            unrecorded: numbers(told, "ranks_without_recorder"),
            culprits: numbers(told, "culprits"),
            circle: numbers(told, "circle"),
            behind_once: numbers(told, "behind_once"),
            verdicts: size(list(told, "verdicts")),
        })
    }

    /// What did not match across ranks.
    pub fn rank_verdicts(&self, rank: Option<u32>, first: u32, count: u32) -> Vec<ranks::Verdict> {
        let verdict = |(number, value): (u32, &Value)| ranks::Verdict {
            number,
            group: text(value, "group"),
            group_description: text(value, "group_description"),
            sequence: big(value, "sequence"),
            kind: text(value, "kind"),
            ranks: numbers(value, "ranks"),
            entered: numbers(value, "entered"),
            operation: text(value, "operation"),
            detail: text(value, "detail"),
            time: optional(value, "time"),
            point_to_point: value["point_to_point"] == true,
            frames: texts(value, "frames"),
        };
        let verdicts = (0..).zip(list(&self.evidence["collectives"], "verdicts"));
        let wanted = verdicts.filter(|(_, value)| rank.is_none_or(|rank| numbers(value, "ranks").contains(&rank)));
        wanted.skip(first as usize).take(count as usize).map(verdict).collect()
    }

    /// None: in tests of a plugin nothing is documented.
    pub fn cause(&self, _: &str) -> Option<knowledge::Cause> {
        None
    }

    /// None: in tests of a plugin nothing is documented.
    pub fn recognise_tables(&self) -> Vec<String> {
        Vec::new()
    }

    /// Reports of the same group that came before.
    pub fn earlier(&self, first: u32, count: u32) -> Vec<history::EarlierReport> {
        let conclusion = |value: &Value| history::Conclusion {
            cause: text(value, "cause"),
            title: optional(value, "title"),
            confidence: value["confidence"].as_f64().unwrap_or_default(),
            plugin: text(value, "plugin"),
        };
        let earlier = list(&self.history, "earlier").iter().zip(0..).skip(first as usize);
        let told = earlier
            .take(count as usize)
            .map(|(value, number): (&Value, usize)| history::EarlierReport {
                id: text(value, "id"),
                title: text(value, "title"),
                received: text(value, "received"),
                conclusions: list(value, "conclusions").iter().map(conclusion).collect(),
                fact: format!("history.earlier.{number}.title"),
            });
        told.collect()
    }

    /// The other reports of the incident.
    pub fn incident(&self, first: u32, count: u32) -> Vec<history::OtherReport> {
        let others = list(&self.history, "incident").iter().zip(0..).skip(first as usize);
        let told = others
            .take(count as usize)
            .map(|(value, number): (&Value, usize)| history::OtherReport {
                id: text(value, "id"),
                title: text(value, "title"),
                received: text(value, "received"),
                group: optional(value, "group"),
                host: optional(value, "host"),
                ranks: numbers(value, "ranks"),
                signal: optional(value, "signal"),
                exception: optional(value, "exception"),
                fact: format!("history.incident.{number}.title"),
            });
        told.collect()
    }

    /// A list of an entry of a list.
    pub(super) fn of(&self, member: &str, entry: u32, of: &str) -> &[Value] {
        let entry = list(&self.evidence, member).get(entry as usize);
        entry.map_or(&[], |entry| list(entry, of))
    }
}

fn size(entries: &[Value]) -> u32 {
    u32::try_from(entries.len()).unwrap_or(u32::MAX)
}

pub(super) fn optional(value: &Value, member: &str) -> Option<String> {
    value[member].as_str().map(str::to_owned)
}

pub(super) fn big(value: &Value, member: &str) -> u64 {
    value[member].as_u64().unwrap_or_default()
}

pub(super) fn numbers(value: &Value, member: &str) -> Vec<u32> {
    let numbers = list(value, member).iter().filter_map(Value::as_u64);
    numbers.filter_map(|number| u32::try_from(number).ok()).collect()
}

pub(super) fn texts(value: &Value, member: &str) -> Vec<String> {
    let texts = list(value, member).iter().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

fn dimensions(value: &Value, member: &str) -> Option<gpu::Dimensions> {
    match numbers(value, member).as_slice() {
        [x, y, z] => Some((*x, *y, *z)),
        _ => None,
    }
}
