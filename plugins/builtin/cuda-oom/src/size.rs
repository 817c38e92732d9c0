//! Sizes in words.

pub const MIB: u64 = 1 << 20;
pub const GIB: u64 = 1 << 30;

/// A size as the allocator's own messages write it.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..MIB => format!("{:.2} KiB", bytes as f64 / 1024.0),
        MIB..GIB => format!("{:.2} MiB", bytes as f64 / MIB as f64),
        _ => format!("{:.2} GiB", bytes as f64 / GIB as f64),
    }
}
