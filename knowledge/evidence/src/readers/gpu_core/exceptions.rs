//! `CUDBGException_t` by number.

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
        other => return Some(format!("EXCEPTION_{other}")),
    };
    Some(name.to_owned())
}
