//! Reads GPU core dumps as the CUDA driver writes them (r400 to r575), light and full.
//!
//! A light dump has no memory, and still names the kernel, the block, the thread, the exception and the instruction.
//! Source lines are the business of the crate that knows DWARF: [`read_with_images`] gives it the cubins.

mod exceptions;
mod fault;
mod images;
mod sections;
mod tables;

use std::collections::HashMap;
use std::fs::File;

use object::read::ReadCache;

use crate::model::{Event, EventPayload, Evidence, Frame, FrameKind, GpuCore, GpuException, Thread, ThreadId, Trust};
use crate::readers::{Input, Reading, read_problem};
use crate::{ArtifactKind, Hex, Limits, Problem};
use fault::Found;
use images::Images;
pub use images::demangled;
use sections::{Kind, Sections};
use tables::Device;

/// Warps reported that stopped with an exception.
const FAULTS: usize = 64;
/// Groups of warps reported.
const WARP_GROUPS: usize = 32;

/// Reads a GPU core dump, compressed or not.
pub fn read(input: &Input, limits: &Limits) -> Reading {
    read_with_images(input, limits).0
}

/// The same, with the cubins that have line tables for whoever can read those; relocated ones first.
pub fn read_with_images(input: &Input, limits: &Limits) -> (Reading, Vec<Image>) {
    match input.seekable() {
        Ok((file, torn)) => {
            let (mut reading, images) = read_file(file, input.name(), limits);
            reading.problems.extend(torn.iter().map(read_problem));
            reading.bytes = input.stored_bytes();
            (reading, images)
        }
        Err(error) => (Reading::problem(read_problem(&error)), Vec::new()),
    }
}

/// Reads a GPU core dump from its uncompressed file.
pub fn read_file(file: File, name: &str, limits: &Limits) -> (Reading, Vec<Image>) {
    let cache = ReadCache::new(file);
    let (sections, mut problems) = Sections::read(&cache, limits.resident_bytes);
    let images = Images::read(&sections);
    let mut evidence = Evidence::default();
    let (devices, all_devices) = tables::devices(&sections);
    if !all_devices {
        let message = format!(
            "the dump lists more than {} devices; the others were left out",
            devices.len()
        );
        problems.push(Problem::new("limit-devices", message));
    }
    if images.is_cut() {
        let message = "the dump's images have more functions than are read; some addresses will have no name";
        problems.push(Problem::new("limit-gpu-functions", message));
    }
    for device in devices {
        problems.extend(add_device(&mut evidence, &sections, &images, &device, name, limits));
    }
    if evidence.gpu_cores.is_empty() {
        let message =
            "the GPU core dump lists no device: it was cut off, or written by a driver older than this reader knows";
        problems.push(Problem::new("no-device", message));
    }
    let reading = Reading {
        kind: Some(ArtifactKind::GpuCore),
        evidence,
        problems,
        ..Reading::default()
    };
    (reading, with_lines(&sections))
}

fn add_device(
    evidence: &mut Evidence,
    sections: &Sections,
    images: &Images,
    device: &Device,
    name: &str,
    limits: &Limits,
) -> Option<Problem> {
    let grids = tables::grids(sections, device);
    let (warps, all_warps) = tables::warps(sections, device, limits.threads);
    let found: Vec<Found> = warps
        .iter()
        .filter_map(|warp| Found::new(sections, images, &grids, warp))
        .collect();
    let core = core(sections, images, device, &grids, &warps, &found, name);
    evidence.timeline.extend(found.first().map(|found| Event {
        event: evidence.timeline.len(),
        ..event(&core, found)
    }));
    evidence.threads.extend(
        found
            .first()
            .map(|found| thread(&core, found, sections, images, limits)),
    );
    evidence.gpu_cores.push(core);
    (!all_warps).then(|| {
        let message = format!(
            "only the first {} warps of device {} were read; the fault may be in another",
            limits.threads, device.number
        );
        Problem::new("limit-threads", message)
    })
}

fn core(
    sections: &Sections,
    images: &Images,
    device: &Device,
    grids: &HashMap<u64, tables::Grid>,
    warps: &[tables::Warp],
    found: &[Found],
    name: &str,
) -> GpuCore {
    let first = found.first();
    let faults: Vec<_> = found.iter().take(FAULTS).map(Found::model).collect();
    let leading = faults.first().cloned().unwrap_or_default();
    let grid = first.and_then(|found| grids.get(&found.warp.grid));
    GpuCore {
        artifact: name.to_owned(),
        device: device.number,
        exception: leading.exception,
        kernel: leading.kernel,
        offset: leading.offset,
        file: None,
        line: None,
        block: leading.block,
        thread: leading.thread,
        pc: leading.pc,
        grid_size: grid.map(|grid| grid.size),
        block_size: grid.map(|grid| grid.block_size),
        name: device.name.clone(),
        architecture: device.architecture.clone(),
        driver: tables::driver(sections),
        faults,
        warps: fault::groups(sections, images, grids, warps, WARP_GROUPS),
    }
}

fn event(core: &GpuCore, found: &Found) -> Event {
    let exception = core.exception.clone().unwrap_or_else(|| "an exception".to_owned());
    let kernel = core.kernel.as_deref().unwrap_or("an unknown kernel");
    let text = format!(
        "device {}: {exception} in {kernel}, block {:?}, thread {:?}",
        core.device,
        core.block.unwrap_or_default(),
        core.thread.unwrap_or_default()
    );
    let what = EventPayload::GpuException(GpuException {
        exception,
        code: found.exception,
        device: Some(core.device),
        sm: Some(found.warp.multiprocessor),
        warp: Some(found.warp.number),
        pc: core.pc,
        kernel: core.kernel.clone(),
        core: None,
    });
    Event {
        text,
        artifact: core.artifact.clone(),
        ..Event::new(what)
    }
}

/// The first faulting thread as a stack.
fn thread(core: &GpuCore, found: &Found, sections: &Sections, images: &Images, limits: &Limits) -> Thread {
    let callers = found
        .thread
        .iter()
        .flat_map(|thread| tables::backtrace(sections, thread));
    let callers = callers.filter(|address| Some(*address) != found.pc);
    let addresses: Vec<u64> = found.pc.into_iter().chain(callers).collect();
    let omitted = addresses.len().saturating_sub(limits.frames) as u64;
    let frames = addresses
        .into_iter()
        .take(limits.frames)
        .enumerate()
        .map(|(level, address)| {
            let site = images.site(address, found.entry);
            Frame {
                kind: FrameKind::Gpu,
                function: site.as_ref().map(|site| demangled(&site.mangled)),
                offset: site.map(|site| Hex(site.offset)),
                address: Some(Hex(address)),
                trust: if level == 0 { Trust::Context } else { Trust::Reported },
                ..Frame::default()
            }
        });
    let lane = found.thread.as_ref().map_or(0, |thread| thread.lane);
    Thread {
        id: ThreadId::Label(format!(
            "gpu{}-sm{}-warp{}-lane{lane}",
            core.device, found.warp.multiprocessor, found.warp.number
        )),
        name: None,
        rank: None,
        pid: None,
        crashed: true,
        artifact: core.artifact.clone(),
        frames: frames.collect(),
        frames_omitted: (omitted > 0).then_some(omitted),
        holds_gil: false,
        activity: None,
    }
}

/// A cubin of a dump, for whoever knows DWARF.
#[derive(Clone, Debug)]
pub struct Image {
    /// True when its sections have the addresses they were loaded at.
    pub relocated: bool,
    /// The ELF file.
    pub data: Vec<u8>,
}

/// The cubins with line tables (built with `-lineinfo` or `-G`), relocated ones first.
fn with_lines(sections: &Sections) -> Vec<Image> {
    let of = |kind, relocated| {
        let images = sections.of(kind).filter(|(_, section)| images::has_lines(section.data));
        images.map(move |(_, section)| Image {
            relocated,
            data: section.data.to_vec(),
        })
    };
    of(Kind::RelocatedImage, true)
        .chain(of(Kind::ElfImage, false))
        .collect()
}
