//! GPUs, memory, ranks, software and causes of a report for tests.

use serde_json::Value;

use super::{Report, hex, list, number, page, text};
use crate::bindings::whycrash::plugin::evidence::{Code, Module, Software};
use crate::{gpu, knowledge, memory, ranks};

impl Report {
    /// How many entries a list of the evidence has.
    pub fn count(&self, of: &str) -> u32 {
        size(list(&self.evidence, of))
    }

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

    /// The packages of the context. In a plugin there is also what binaries, drivers and libraries tell.
    pub fn software(&self, name: Option<&str>) -> Vec<Software> {
        let packages = self.evidence["context"]["packages"].as_object();
        let software = packages.into_iter().flatten().map(|(name, version)| Software {
            name: name.to_lowercase().replace('_', "-"),
            version: version.as_str().unwrap_or_default().to_owned(),
            fact: format!("context.packages.{name}"),
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

    /// One entry for each device of each memory snapshot.
    pub fn memory_summaries(&self) -> Vec<memory::Snapshot> {
        let snapshot = |value: &Value| memory::Snapshot {
            artifact: text(value, "artifact"),
            device: number(value, "device").unwrap_or_default(),
            reserved: big(value, "reserved"),
            allocated: big(value, "allocated"),
            active: big(value, "active"),
            requested: big(value, "requested"),
            inactive: big(value, "inactive"),
            largest_inactive: big(value, "largest_inactive"),
            pending_free: big(value, "pending_free"),
            private_pools: big(value, "private_pools"),
            segments: big(value, "segments"),
            blocks: big(value, "blocks"),
            events: big(value, "events"),
            peak_allocated: big(value, "peak_allocated"),
            peak_active: big(value, "peak_active"),
            expandable_segments: value["expandable_segments"].as_bool(),
            failed_requests: big(value, "oom_events"),
        };
        list(&self.evidence, "memory_snapshots").iter().map(snapshot).collect()
    }

    /// The last request that failed.
    pub fn failed_request(&self, snapshot: u32) -> Option<memory::FailedRequest> {
        let oom = self.snapshot(snapshot)?.get("oom")?;
        Some(memory::FailedRequest {
            requested: big(oom, "requested"),
            device_free: big(oom, "device_free"),
            allocated: big(oom, "allocated"),
            reserved: big(oom, "reserved"),
            stream: hex(oom, "stream").unwrap_or_default(),
            usable_inactive: big(oom, "usable_inactive"),
            largest_usable: big(oom, "largest_usable"),
            trace_event: big(oom, "trace_event"),
            frames: texts(oom, "frames"),
        })
    }

    /// Memory by the stack that allocated it, most first.
    pub fn clusters(&self, snapshot: u32, at: memory::Moment, first: u32, count: u32) -> Vec<memory::Cluster> {
        let cluster = |value: &Value| memory::Cluster {
            bytes: big(value, "bytes"),
            blocks: big(value, "count"),
            growth: list(value, "growth").iter().filter_map(Value::as_u64).collect(),
            frames: texts(value, "frames"),
        };
        let snapshot = self.snapshot(snapshot);
        let from = match at {
            memory::Moment::End => snapshot,
            memory::Moment::Peak => snapshot.and_then(|snapshot| snapshot.get("peak")),
        };
        let clusters = from.map_or(&[][..], |from| list(from, "clusters"));
        page(clusters, first, count).map(cluster).collect()
    }

    /// Memory by what it can be reused for.
    pub fn pools(&self, snapshot: u32, first: u32, count: u32) -> Vec<memory::Pool> {
        let pool = |value: &Value| memory::Pool {
            stream: hex(value, "stream").unwrap_or_default(),
            private_pool: value["private_pool"][0].as_u64().zip(value["private_pool"][1].as_u64()),
            size_class: text(value, "size_class"),
            reserved: big(value, "reserved"),
            allocated: big(value, "allocated"),
            pending_free: big(value, "pending_free"),
            inactive: big(value, "inactive"),
            largest_inactive: big(value, "largest_inactive"),
        };
        page(self.of("memory_snapshots", snapshot, "pools"), first, count)
            .map(pool)
            .collect()
    }

    /// How much was allocated over the trace, as finely as the overview has it.
    pub fn usage(&self, snapshot: u32, first: u64, end: u64, count: u32) -> Vec<memory::Stretch> {
        let Some(usage) = self.snapshot(snapshot).and_then(|snapshot| snapshot.get("usage")) else {
            return Vec::new();
        };
        let column = |name: &str, row: usize| list(usage, name).get(row).and_then(Value::as_u64);
        let rows = (0..list(usage, "event").len()).filter_map(|row| {
            Some(memory::Stretch {
                event: column("event", row)?,
                time_us: column("time_us", row),
                least: column("min", row)?,
                most: column("max", row)?,
            })
        });
        rows.filter(|row| row.event >= first && row.event < end)
            .take(count as usize)
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

    fn snapshot(&self, number: u32) -> Option<&Value> {
        list(&self.evidence, "memory_snapshots").get(number as usize)
    }

    /// A list of an entry of a list.
    fn of(&self, member: &str, entry: u32, of: &str) -> &[Value] {
        let entry = list(&self.evidence, member).get(entry as usize);
        entry.map_or(&[], |entry| list(entry, of))
    }
}

fn size(entries: &[Value]) -> u32 {
    u32::try_from(entries.len()).unwrap_or(u32::MAX)
}

fn optional(value: &Value, member: &str) -> Option<String> {
    value[member].as_str().map(str::to_owned)
}

fn big(value: &Value, member: &str) -> u64 {
    value[member].as_u64().unwrap_or_default()
}

fn numbers(value: &Value, member: &str) -> Vec<u32> {
    let numbers = list(value, member).iter().filter_map(Value::as_u64);
    numbers.filter_map(|number| u32::try_from(number).ok()).collect()
}

fn texts(value: &Value, member: &str) -> Vec<String> {
    let texts = list(value, member).iter().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

fn dimensions(value: &Value, member: &str) -> Option<gpu::Dimensions> {
    match numbers(value, member).as_slice() {
        [x, y, z] => Some((*x, *y, *z)),
        _ => None,
    }
}
