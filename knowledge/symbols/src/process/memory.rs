//! The memory of a crashed process: what the core holds, and what the mapped files hold in its stead.

use whycrash_evidence::readers::elf_core::CoreDump;

use crate::costs::Costs;
use crate::process::modules::LoadedModules;

/// Memory of a process, as far as it is known.
pub(crate) trait Bytes {
    /// Fills the buffer, or nothing.
    fn read(&self, address: u64, buffer: &mut [u8]) -> Option<()>;

    /// A little-endian number of up to eight bytes.
    fn number(&self, address: u64, size: u8) -> Option<u64> {
        let mut bytes = [0; 8];
        self.read(address, bytes.get_mut(..usize::from(size))?)?;
        Some(u64::from_le_bytes(bytes))
    }

    /// The 64-bit word at an address.
    fn word(&self, address: u64) -> Option<u64> {
        self.number(address, 8)
    }
}

/// Memory by address. A core leaves out what files hold (code, read-only data), so those are read too.
#[derive(Clone, Copy)]
pub(crate) struct Memory<'a> {
    pub(crate) core: &'a CoreDump,
    pub(crate) modules: &'a LoadedModules<'a>,
    /// What reading it is paid out of.
    pub(crate) costs: &'a Costs,
}

/// What a read costs, whatever its length: finding the place takes longer than copying a word.
const READ: u64 = 64;

impl Bytes for Memory<'_> {
    fn read(&self, address: u64, buffer: &mut [u8]) -> Option<()> {
        self.costs.spend(READ + buffer.len() as u64)?;
        let mut done = self.core.read(address, buffer);
        while done < buffer.len() {
            let at = address.checked_add(done as u64)?;
            let rest = buffer.get_mut(done..)?;
            let from_core = self.core.read(at, rest);
            let read = if from_core > 0 {
                from_core
            } else {
                self.read_file(at, rest)?
            };
            done += read;
        }
        Some(())
    }
}

impl Memory<'_> {
    /// Bytes that the core lacks, from the binary mapped there. Pages the program could write are not taken: it may
    /// have changed them.
    fn read_file(&self, address: u64, buffer: &mut [u8]) -> Option<usize> {
        if self.core.segment_at(address).is_some_and(|segment| segment.writable) {
            return None;
        }
        let module = self.modules.at(address)?;
        let bytes = module.loaded_at(address)?;
        let len = bytes.len().min(buffer.len());
        buffer.get_mut(..len)?.copy_from_slice(bytes.get(..len)?);
        (len > 0).then_some(len)
    }

    /// True when the program could execute what is at an address.
    pub(crate) fn is_code(&self, address: u64) -> bool {
        self.core.segment_at(address).is_some_and(|segment| segment.executable)
    }
}
