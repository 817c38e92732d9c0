//! What aarch64 instructions do to memory.

/// Whether an instruction reads or writes memory; nothing when it does neither, or this does not know it.
///
/// Encodings: Arm Architecture Reference Manual, C4.1.94 "Loads and Stores". Of read-modify-write instructions the
/// write counts, as it does for the kernel.
pub(crate) fn access(word: u32) -> Option<&'static str> {
    let bits = |low: u32, count: u32| word >> low & ((1 << count) - 1);
    // Loads and stores have bit 27 set and bit 25 clear.
    if bits(27, 1) == 0 || bits(25, 1) != 0 {
        return None;
    }
    let is_vector = bits(26, 1) != 0;
    let is_load = match bits(28, 2) {
        // One register, by whatever address.
        0b11 => {
            let is_atomic = bits(24, 1) == 0 && bits(21, 1) != 0 && bits(10, 2) == 0;
            let operation = bits(22, 2);
            match (is_vector, is_atomic) {
                // A load that acquires (`ldapr`) is encoded among the atomic operations.
                (false, true) => bits(12, 4) == 0b1100,
                (true, _) => operation & 1 != 0,
                // 0 stores; of 64 bits with sign 2 is a prefetch, which never faults.
                (false, false) => operation != 0,
            }
        }
        // Relative to the instruction: always a load.
        0b01 if bits(24, 1) == 0 => true,
        // Compare and swap.
        0b00 if !is_vector && bits(23, 1) != 0 && bits(21, 1) != 0 => false,
        // Pairs, exclusives and vector structures have the direction in bit 22.
        _ => bits(22, 1) != 0,
    };
    Some(if is_load { "read" } else { "write" })
}
