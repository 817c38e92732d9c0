//! A request that could not be served, as message and snapshot together tell it.

use std::collections::BTreeMap;

use whycrash_plugin::facts::{CudaOom, MemorySnapshot, ProcessMemory};
use whycrash_plugin::{Citation, Event, Line, Report, Told, cite};

use crate::messages::ended;

/// A failed request on one device. Sizes are bytes; what no witness tells is absent.
pub struct Request {
    pub rank: Option<u32>,
    pub gpu: Option<u32>,
    pub requested: u64,
    pub capacity: Option<u64>,
    pub free: Option<u64>,
    /// Allocated by the program through the allocator.
    pub allocated: u64,
    /// Whether what the allocator holds is told at all: messages are cut short by who logs them.
    pub tells_own: bool,
    /// Held by the allocator, not allocated: free blocks, and blocks that wait for another stream. Torch takes a block
    /// off what is allocated when the program frees it, not when it can be used again.
    pub unallocated: u64,
    pub private_pools: u64,
    pub allowed: Option<u64>,
    pub this_process: Option<u64>,
    pub others: Vec<ProcessMemory>,
    /// What only a snapshot knows.
    pub blocks: Option<Blocks>,
    pub expandable: bool,
    /// The message, and the snapshot's facts.
    pub proof: Vec<Citation>,
    /// Where the setting of expandable segments stands.
    pub setting: Option<Citation>,
}

/// The allocator's blocks at the moment of the failure.
pub struct Blocks {
    /// Position of the snapshot among the report's.
    pub position: usize,
    pub snapshot: MemorySnapshot,
    /// Free blocks, whoever may use them.
    pub inactive: u64,
    /// Of those, what this request could have used.
    pub usable: u64,
    pub largest_usable: u64,
    pub pending_free: u64,
}

impl Request {
    /// Every request of the report that failed and ended its process, the first one first.
    pub fn all(report: &Report) -> Vec<Self> {
        let mut snapshots: Vec<Option<(usize, MemorySnapshot)>> = report
            .snapshots()
            .into_iter()
            .enumerate()
            .filter(|(_, snapshot)| snapshot.oom.is_some())
            .map(Some)
            .collect();
        let told: Vec<Told<CudaOom>> = report.told();
        let mut settings = Settings::default();
        let mut requests: Vec<Self> = told
            .iter()
            .filter(|told| ended(&told.event))
            .map(|told| Self::from_message(report, told, &mut settings))
            .collect();
        for request in &mut requests {
            let own = snapshots
                .iter_mut()
                .find(|slot| slot.as_ref().is_some_and(|(_, snapshot)| request.is_of(snapshot)));
            if let Some((position, snapshot)) = own.and_then(Option::take) {
                request.add(report, position, snapshot);
            }
        }
        // A snapshot without a message: the log is not in the report. With a message of another request, it tells of an
        // earlier one.
        if requests.is_empty() && told.is_empty() {
            requests.extend(
                snapshots
                    .into_iter()
                    .flatten()
                    .map(|(position, snapshot)| Self::from_snapshot(report, position, snapshot)),
            );
        }
        requests
    }

    fn from_message(report: &Report, told: &Told<CudaOom>, settings: &mut Settings) -> Self {
        let detail = &told.detail;
        let mut request = Self {
            rank: told.event.rank,
            gpu: detail.gpu,
            requested: detail.requested,
            capacity: detail.capacity,
            free: detail.free,
            allocated: detail.allocated.unwrap_or(0),
            tells_own: detail.allocated.or(detail.reserved_unallocated).is_some(),
            unallocated: detail.reserved_unallocated.unwrap_or(0),
            private_pools: detail.private_pools.unwrap_or(0),
            allowed: detail.allowed,
            this_process: detail.this_process,
            others: detail.other_processes.clone(),
            blocks: None,
            expandable: false,
            proof: vec![report.cite(&told.event)],
            setting: None,
        };
        request.find_own_process();
        for variable in ["PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"] {
            let value = report.context_text(&format!("environment.{variable}"));
            if value.is_some_and(|value| {
                value
                    .to_ascii_lowercase()
                    .replace(' ', "")
                    .contains("expandable_segments:true")
            }) {
                request.expandable = true;
                request.setting = report.cite_fact(&format!("context.environment.{variable}"));
            }
        }
        if !request.expandable
            && let Some(line) = settings.before(report, &told.event)
        {
            request.expandable = true;
            request.setting = Some(cite::line(line));
        }
        request
    }

    /// In a container the driver knows this process by another number than the process itself does: torch then lists it
    /// among the others. It is the one that holds what the allocator holds, and the context's memory beside that.
    fn find_own_process(&mut self) {
        if self.this_process.is_some() {
            return;
        }
        let reserved = self.reserved();
        let candidates = self
            .others
            .iter()
            .enumerate()
            .filter(|(_, process)| process.bytes >= reserved);
        let own = candidates
            .min_by_key(|(_, process)| process.bytes)
            .map(|(index, _)| index);
        self.this_process = own.map(|index| self.others.remove(index).bytes);
    }

    fn from_snapshot(report: &Report, position: usize, snapshot: MemorySnapshot) -> Self {
        let oom = snapshot.oom.clone().unwrap_or_default();
        let mut request = Self {
            rank: None,
            gpu: Some(snapshot.device),
            requested: oom.requested,
            capacity: None,
            free: Some(oom.device_free),
            allocated: oom.allocated,
            tells_own: true,
            unallocated: oom.reserved.saturating_sub(oom.allocated),
            private_pools: 0,
            allowed: None,
            this_process: None,
            others: Vec::new(),
            blocks: None,
            expandable: false,
            proof: Vec::new(),
            setting: None,
        };
        request.add(report, position, snapshot);
        request
    }

    /// Whether a snapshot's failed request is this one: same device, and the same size as far as the message's rounding
    /// tells.
    fn is_of(&self, snapshot: &MemorySnapshot) -> bool {
        let Some(oom) = &snapshot.oom else { return false };
        let same_size = oom.requested.abs_diff(self.requested) <= (self.requested / 100).max(512);
        self.gpu.is_none_or(|gpu| gpu == snapshot.device) && same_size
    }

    fn add(&mut self, report: &Report, position: usize, snapshot: MemorySnapshot) {
        let oom = snapshot.oom.clone().unwrap_or_default();
        let fact = |member: &str| report.cite_fact(&format!("memory_snapshots.{position}.{member}"));
        // Who asked, before what the allocator had: the program's line, not the operator's.
        self.proof
            .extend(own_frame(&oom.frames).and_then(|(index, _)| fact(&format!("oom.frames.{index}"))));
        self.proof.extend(
            ["oom.requested", "oom.usable_inactive", "oom.largest_usable"]
                .into_iter()
                .filter_map(fact),
        );
        self.private_pools = self.private_pools.max(snapshot.private_pools);
        if snapshot.expandable_segments == Some(true) {
            self.expandable = true;
            self.setting = self.setting.take().or_else(|| fact("expandable_segments"));
        }
        self.blocks = Some(Blocks {
            position,
            inactive: snapshot.inactive,
            usable: oom.usable_inactive,
            largest_usable: oom.largest_usable,
            pending_free: snapshot.pending_free,
            snapshot,
        });
    }

    /// Bytes that the allocator holds from the driver.
    pub fn reserved(&self) -> u64 {
        self.allocated + self.unallocated
    }

    /// What was missing on the device.
    pub fn missing(&self) -> u64 {
        self.requested.saturating_sub(self.free.unwrap_or(0))
    }
}

/// Lines of logs that show the setting: of a script that is traced, of a dump of the environment. Each log is searched
/// once, however many requests failed in it.
#[derive(Default)]
struct Settings(BTreeMap<String, Vec<Line>>);

impl Settings {
    /// The first one before an event. The message itself only advises it.
    fn before(&mut self, report: &Report, event: &Event) -> Option<&Line> {
        const SET: &str =
            r"PYTORCH_(?:CUDA_)?ALLOC_CONF[\x27\x22]?\s*[=:]\s*[\x27\x22]?[\w:.,]*expandable_segments:True";
        let search = || report.search(Some(&event.artifact), SET, 16).unwrap_or_default();
        let lines = self.0.entry(event.artifact.clone()).or_insert_with(search);
        let before = event.lines.map_or(0, |(first, _)| first);
        lines
            .iter()
            .find(|line| line.number < before && !line.text.contains("try setting"))
    }
}

/// The innermost frame of a snapshot's stack that is no part of torch, or at least no operator of it: the line that
/// allocated.
pub fn own_frame(frames: &[String]) -> Option<(usize, &str)> {
    let named = || frames.iter().map(String::as_str).enumerate();
    let is_operator = |frame: &str| frame.starts_with("at::");
    let is_torch = |frame: &str| is_operator(frame) || frame.contains("-packages/torch/");
    named()
        .find(|(_, frame)| !is_torch(frame))
        .or_else(|| named().find(|(_, frame)| !is_operator(frame)))
}
