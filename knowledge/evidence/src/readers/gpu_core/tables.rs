//! Devices, multiprocessors, blocks, warps and threads as the tables list them.
//!
//! Offsets are those of the driver's structures (r400 to r575): members were only ever appended.

use std::collections::HashMap;

use super::sections::{Kind, Row, Sections};

/// Bytes of each table's row that every version has.
const DEVICE: usize = 72;
const GRID: usize = 104;
const MULTIPROCESSOR: usize = 8;
const BLOCK: usize = 24;
const WARP: usize = 32;
const THREAD: usize = 48;
const BACKTRACE: usize = 24;
const METADATA: usize = 32;

/// A row that other tables belong to, by the place of its section and its number there.
pub(super) type RowId = (usize, usize);

/// One device.
#[derive(Clone, Debug)]
pub(super) struct Device {
    pub row: RowId,
    pub number: u32,
    pub name: Option<String>,
    pub architecture: Option<String>,
}

/// One launch.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    pub id: u64,
    /// Address of its first instruction.
    pub entry: u64,
    pub size: [u32; 3],
    pub block_size: [u32; 3],
}

/// One warp, with where it ran.
#[derive(Clone, Debug)]
pub(super) struct Warp {
    pub row: RowId,
    pub multiprocessor: u32,
    pub number: u32,
    pub grid: u64,
    pub block: [u32; 3],
    pub active_lanes: u32,
    /// Address of the instruction that raised an exception, when the warp knows.
    pub error_pc: Option<u64>,
    pub broken: bool,
    /// The multiprocessor's exception, where the driver records it (r555).
    pub multiprocessor_exception: u32,
    pub multiprocessor_pc: Option<u64>,
}

/// One thread of a warp.
#[derive(Clone, Debug)]
pub(super) struct Thread {
    pub row: RowId,
    pub lane: u32,
    pub index: [u32; 3],
    pub pc: u64,
    pub exception: u32,
}

/// Devices read of one dump.
pub(super) const DEVICES: usize = 64;

/// The devices, and whether those are all.
pub(super) fn devices(sections: &Sections) -> (Vec<Device>, bool) {
    let device = |row: RowId, member: Row| Device {
        row,
        number: member.u32(24),
        name: sections.text(member.u64(0)),
        architecture: sections.text(member.u64(16)).or_else(|| {
            let (major, minor) = (member.u32(56), member.u32(60));
            (major > 0).then(|| format!("sm_{major}{minor}"))
        }),
    };
    let mut rows = numbered(sections.of(Kind::Devices), DEVICE);
    let devices = rows
        .by_ref()
        .take(DEVICES)
        .map(|(row, member)| device(row, member))
        .collect();
    (devices, rows.next().is_none())
}

/// The launches of a device by their id.
pub(super) fn grids(sections: &Sections, device: &Device) -> HashMap<u64, Grid> {
    let grids = numbered(sections.children(Kind::Grids, device.row), GRID);
    let grid = |member: Row| Grid {
        id: member.u64(0),
        entry: member.u64(24),
        size: member.triple(72),
        block_size: member.triple(84),
    };
    let mut by_id = HashMap::new();
    for (_, member) in grids {
        let grid = grid(member);
        by_id.entry(grid.id).or_insert(grid);
    }
    by_id
}

/// The warps of a device, at most `cap`, in order of multiprocessor, block and warp; and whether those are all.
pub(super) fn warps(sections: &Sections, device: &Device, cap: usize) -> (Vec<Warp>, bool) {
    let mut warps = Vec::new();
    for (multiprocessor, sm) in numbered(sections.children(Kind::Multiprocessors, device.row), MULTIPROCESSOR) {
        let (exception, pc_valid, pc) = (sm.u32(8), sm.u32(12), sm.u64(16));
        let multiprocessor_pc = (sm.reaches(24) && pc_valid != 0).then_some(pc);
        for (block, cta) in numbered(sections.children(Kind::Blocks, multiprocessor), BLOCK) {
            for (row, member) in numbered(sections.children(Kind::Warps, block), WARP) {
                if warps.len() == cap {
                    return (warps, false);
                }
                warps.push(Warp {
                    row,
                    multiprocessor: sm.u32(0),
                    number: member.u32(8),
                    grid: cta.u64(0),
                    block: cta.triple(8),
                    active_lanes: member.u32(16),
                    error_pc: (member.u32(24) != 0).then(|| member.u64(0)),
                    broken: member.u32(20) != 0,
                    multiprocessor_exception: exception,
                    multiprocessor_pc,
                });
            }
        }
    }
    (warps, true)
}

pub(super) fn threads(sections: &Sections, warp: &Warp) -> Vec<Thread> {
    let threads = numbered(sections.children(Kind::Threads, warp.row), THREAD);
    let thread = |row, member: Row| Thread {
        row,
        lane: member.u32(16),
        index: member.triple(20),
        pc: member.u64(0),
        exception: member.u32(32),
    };
    threads.map(|(row, member)| thread(row, member)).collect()
}

/// Return addresses of a thread, innermost first.
pub(super) fn backtrace(sections: &Sections, thread: &Thread) -> Vec<u64> {
    let rows = numbered(sections.children(Kind::Backtrace, thread.row), BACKTRACE);
    let mut levels: Vec<(u32, u64)> = rows.map(|(_, member)| (member.u32(16), member.u64(8))).collect();
    levels.sort_unstable();
    levels.into_iter().map(|(_, address)| address).collect()
}

/// The driver's version.
pub(super) fn driver(sections: &Sections) -> Option<String> {
    let (_, section) = sections.of(Kind::Metadata).next()?;
    let member = section.rows(METADATA).next()?;
    Some(format!("{}.{:02}", member.u32(8), member.u32(12)))
}

fn numbered<'s, 'a: 's>(
    tables: impl Iterator<Item = (usize, &'s super::sections::Section<'a>)>,
    known: usize,
) -> impl Iterator<Item = (RowId, Row<'a>)> {
    tables.flat_map(move |(place, table)| {
        table
            .rows(known)
            .enumerate()
            .map(move |(number, member)| ((place, number), member))
    })
}
