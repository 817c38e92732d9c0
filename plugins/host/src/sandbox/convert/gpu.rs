//! GPU core dumps.

use whycrash_evidence::model::{GpuCore, GpuFault, WarpGroup};

use crate::sandbox::bindings::gpu;

fn dimensions([x, y, z]: [u32; 3]) -> gpu::Dimensions {
    (x, y, z)
}

pub(in crate::sandbox) fn core(core: &GpuCore) -> gpu::Core {
    gpu::Core {
        artifact: core.artifact.clone(),
        device: core.device,
        exception: core.exception.clone(),
        kernel: core.kernel.clone(),
        offset: core.offset.map(|offset| offset.0),
        file: core.file.clone(),
        line: core.line,
        block: core.block.map(dimensions),
        thread: core.thread.map(dimensions),
        grid_size: core.grid_size.map(dimensions),
        block_size: core.block_size.map(dimensions),
        name: core.name.clone(),
        architecture: core.architecture.clone(),
    }
}

pub(in crate::sandbox) fn fault(fault: &GpuFault) -> gpu::Fault {
    gpu::Fault {
        exception: fault.exception.clone(),
        sm: fault.sm,
        warp: fault.warp,
        lane: fault.lane,
        block: fault.block.map(dimensions),
        thread: fault.thread.map(dimensions),
        kernel: fault.kernel.clone(),
        offset: fault.offset.map(|offset| offset.0),
    }
}

pub(in crate::sandbox) fn warps(group: &WarpGroup) -> gpu::Warps {
    gpu::Warps {
        kernel: group.kernel.clone(),
        offset: group.offset.map(|offset| offset.0),
        count: group.count,
        faulted: group.faulted,
    }
}
