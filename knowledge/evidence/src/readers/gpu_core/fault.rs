//! Which warps stopped with an exception, and where the others were.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::exceptions::exception_name;
use super::images::{Images, Site, demangled};
use super::sections::Sections;
use super::tables::{Grid, Thread, Warp, threads};
use crate::Hex;
use crate::model::{GpuFault, WarpGroup};

/// A warp that stopped with an exception.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub warp: Warp,
    /// The thread with the exception, or the first active one of the warp.
    pub thread: Option<Thread>,
    pub exception: u32,
    pub pc: Option<u64>,
    /// Where the kernel begins.
    pub entry: Option<u64>,
    site: Option<Site>,
}

impl Found {
    /// What the warp says of an exception: in a thread, in its own error address, or, from r555 on, in the state of
    /// its multiprocessor, which counts for the warp that is marked broken.
    pub fn new(sections: &Sections, images: &Images, grids: &HashMap<u64, Grid>, warp: &Warp) -> Option<Self> {
        let threads = threads(sections, warp);
        let raised = threads.iter().find(|thread| thread.exception != 0).cloned();
        let blamed = warp.multiprocessor_exception != 0 && warp.broken;
        if raised.is_none() && warp.error_pc.is_none() && !blamed {
            return None;
        }
        let exception = raised
            .as_ref()
            .map_or(warp.multiprocessor_exception, |thread| thread.exception);
        let thread = raised.or_else(|| first_active(&threads, warp));
        let of_multiprocessor = warp.multiprocessor_pc.filter(|_| blamed);
        let pc = warp
            .error_pc
            .or(of_multiprocessor)
            .or(thread.as_ref().map(|thread| thread.pc));
        let entry = entry(grids, warp);
        let site = pc.and_then(|pc| images.site(pc, entry));
        Some(Self {
            warp: warp.clone(),
            thread,
            exception,
            pc,
            entry,
            site,
        })
    }

    pub fn model(&self) -> GpuFault {
        GpuFault {
            exception: exception_name(self.exception),
            sm: self.warp.multiprocessor,
            warp: self.warp.number,
            lane: self.thread.as_ref().map(|thread| thread.lane),
            block: Some(self.warp.block),
            thread: self.thread.as_ref().map(|thread| thread.index),
            pc: self.pc.map(Hex),
            kernel: self.site.as_ref().map(|site| demangled(&site.mangled)),
            offset: self.site.as_ref().map(|site| Hex(site.offset)),
        }
    }
}

/// All warps by where they were, most warps first, at most `cap`.
pub(super) fn groups(
    sections: &Sections,
    images: &Images,
    grids: &HashMap<u64, Grid>,
    warps: &[Warp],
    cap: usize,
) -> Vec<WarpGroup> {
    let mut groups: BTreeMap<(Option<Arc<str>>, Option<u64>), (u64, u64)> = BTreeMap::new();
    for warp in warps {
        let entry = entry(grids, warp);
        let pc = first_active(&threads(sections, warp), warp)
            .map(|thread| thread.pc)
            .or(warp.error_pc);
        // Without threads in the dump, the launch still tells the kernel.
        let kernel = pc.or(entry).and_then(|address| images.site(address, entry));
        let offset = kernel.as_ref().filter(|_| pc.is_some()).map(|site| site.offset);
        let (count, faulted) = groups.entry((kernel.map(|site| site.mangled), offset)).or_default();
        *count += 1;
        *faulted += u64::from(Found::new(sections, images, grids, warp).is_some());
    }
    let mut groups: Vec<WarpGroup> = groups
        .into_iter()
        .map(|((kernel, offset), (count, faulted))| WarpGroup {
            kernel: kernel.as_deref().map(demangled),
            offset: offset.map(Hex),
            count,
            faulted,
        })
        .collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.count));
    groups.truncate(cap);
    groups
}

fn first_active(threads: &[Thread], warp: &Warp) -> Option<Thread> {
    let active = |thread: &&Thread| {
        warp.active_lanes
            .checked_shr(thread.lane)
            .is_some_and(|lanes| lanes & 1 == 1)
    };
    threads.iter().find(active).or(threads.first()).cloned()
}

fn entry(grids: &HashMap<u64, Grid>, warp: &Warp) -> Option<u64> {
    grids.get(&warp.grid).map(|grid| grid.entry).filter(|entry| *entry != 0)
}
