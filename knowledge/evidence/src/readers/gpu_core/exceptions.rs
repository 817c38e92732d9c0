//! `CUDBGException_t` by number (`cudadebugger.h` of CUDA 13.4; older numbers have the names of older versions).

/// The name without its `CUDBG_EXCEPTION_` prefix; unknown numbers are kept as such.
pub(super) fn exception_name(number: u32) -> Option<String> {
    let name = match number {
        0 => return None,
        1 => "LANE_ILLEGAL_ADDRESS",
        2 => "LANE_USER_STACK_OVERFLOW",
        3 => "DEVICE_HARDWARE_STACK_OVERFLOW",
        4 => "WARP_ILLEGAL_INSTRUCTION",
        5 => "WARP_OUT_OF_RANGE_ADDRESS",
        6 => "WARP_MISALIGNED_ADDRESS",
        7 => "WARP_INVALID_ADDRESS_SPACE",
        8 => "WARP_INVALID_PC",
        9 => "WARP_HARDWARE_STACK_OVERFLOW",
        10 => "DEVICE_ILLEGAL_ADDRESS",
        11 => "LANE_MISALIGNED_ADDRESS",
        12 => "WARP_ASSERT",
        14 => "WARP_ILLEGAL_ADDRESS",
        17 => "CLUSTER_OUT_OF_RANGE_ADDRESS",
        18 => "CLUSTER_BLOCK_NOT_PRESENT",
        19 => "WARP_STACK_CANARY",
        20 => "WARP_TMEM_ACCESS_CHECK",
        21 => "WARP_TMEM_LEAK",
        22 => "WARP_CALL_REQUIRES_NEWER_DRIVER",
        23 => "WARP_MISALIGNED_PC",
        24 => "WARP_PC_OVERFLOW",
        25 => "WARP_MISALIGNED_REG",
        26 => "WARP_ILLEGAL_INSTR_ENCODING",
        27 => "WARP_ILLEGAL_INSTR_PARAM",
        28 => "WARP_OUT_OF_RANGE_REGISTER",
        29 => "WARP_INVALID_CONST_ADDR_LDC",
        30 => "WARP_MMU_FAULT",
        31 => "WARP_ARRIVE",
        32 => "CLUSTER_POISON",
        33 => "WARP_API_STACK_ERROR",
        34 => "WARP_BLOCK_NOT_PRESENT",
        35 => "WARP_USER_STACK_OVERFLOW",
        36 => "TMA_SYSCALL",
        other => return Some(format!("EXCEPTION_{other}")),
    };
    Some(name.to_owned())
}
