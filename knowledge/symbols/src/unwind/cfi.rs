//! Call frame information: how to get from a function's registers to its caller's.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use gimli::{
    BaseAddresses, DebugFrame, EhFrame, EhFrameHdr, EndianSlice, FrameDescriptionEntry, LittleEndian, Pointer,
    UnwindContext, UnwindSection, Vendor,
};

use crate::files::object_file::ObjectFile;
use crate::files::shared::Shared;

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// The call frame information of one binary.
#[derive(Debug)]
pub(crate) struct CallFrames {
    bases: BaseAddresses,
    /// Whose extensions the rules use: those of aarch64 tell where return addresses are signed.
    vendor: Vendor,
    eh_frame: Option<Shared>,
    eh_frame_header: Option<Shared>,
    debug_frame: Option<Shared>,
    /// Entries by address, for a section without a search table.
    eh_frame_index: OnceLock<Vec<Entry>>,
    debug_frame_index: OnceLock<Vec<Entry>>,
    context: Mutex<UnwindContext<usize>>,
}

/// Where the entry for a range of addresses is in its section.
#[derive(Clone, Copy, Debug)]
struct Entry {
    start: u64,
    end: u64,
    offset: usize,
}

/// What is asked of a row of the table: the rules for one address.
pub(crate) struct Row<'a> {
    pub(crate) rules: &'a gimli::UnwindTableRow<usize>,
    /// The section, to take expressions from.
    pub(crate) section: &'a [u8],
    pub(crate) encoding: gimli::Encoding,
    pub(crate) return_address: gimli::Register,
    /// True for the code that a signal handler returns to.
    pub(crate) is_signal_trampoline: bool,
    /// Bytes of the entries that the rules are from: what finding them costs.
    pub(crate) length: u64,
}

impl CallFrames {
    /// Of one file; what its sections hold is parsed when it is asked for.
    pub(crate) fn load(file: &ObjectFile) -> Self {
        let address = |name| file.section_address(name).unwrap_or(0);
        let bases = BaseAddresses::default()
            .set_eh_frame(address(".eh_frame"))
            .set_eh_frame_hdr(address(".eh_frame_hdr"))
            .set_text(address(".text"))
            .set_got(address(".got"));
        Self {
            bases,
            vendor: if file.is_aarch64 {
                Vendor::AArch64
            } else {
                Vendor::Default
            },
            eh_frame: file.section(".eh_frame"),
            eh_frame_header: file.section(".eh_frame_hdr"),
            debug_frame: file.section(".debug_frame"),
            eh_frame_index: OnceLock::new(),
            debug_frame_index: OnceLock::new(),
            context: Mutex::new(UnwindContext::new()),
        }
    }

    /// Calls `use_row` with the rules for an address of the file, when there are any.
    pub(crate) fn with_row<T>(&self, address: u64, use_row: impl FnOnce(&Row<'_>) -> T) -> Option<T> {
        let mut context = self.context.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bytes) = &self.eh_frame {
            let mut section = EhFrame::new(bytes, LittleEndian);
            section.set_vendor(self.vendor);
            if let Some(entry) = self.eh_frame_entry(&section, address) {
                return with_row(&section, bytes, &self.bases, &mut context, &entry, address, use_row);
            }
        }
        let bytes = self.debug_frame.as_ref()?;
        let mut section = DebugFrame::new(bytes, LittleEndian);
        section.set_address_size(8);
        section.set_vendor(self.vendor);
        let index = self.debug_frame_index.get_or_init(|| index(&section, &self.bases));
        let entry = find(&section, &self.bases, index, address)?;
        with_row(&section, bytes, &self.bases, &mut context, &entry, address, use_row)
    }

    fn eh_frame_entry<'a>(
        &'a self,
        section: &EhFrame<Slice<'a>>,
        address: u64,
    ) -> Option<FrameDescriptionEntry<Slice<'a>>> {
        let entry = self.in_search_table(address).and_then(|offset| {
            section
                .fde_from_offset(&self.bases, offset, UnwindSection::cie_from_offset)
                .ok()
        });
        if let Some(entry) = entry.filter(|entry| entry.contains(address)) {
            return Some(entry);
        }
        // Without a search table, or with one that a tool left stale, the section itself is the truth.
        find(
            section,
            &self.bases,
            self.eh_frame_index.get_or_init(|| index(section, &self.bases)),
            address,
        )
    }

    /// Where the search table says that the entry for an address is. What the table says may be anything, and gimli
    /// computes with it: a count of more than 32 bits, or an entry before the section's start, would overflow.
    fn in_search_table(&self, address: u64) -> Option<gimli::EhFrameOffset> {
        let header = self.eh_frame_header.as_ref()?;
        if header.get(2) != Some(&COUNT_ENCODING) {
            return None;
        }
        let header = EhFrameHdr::new(header, LittleEndian).parse(&self.bases, 8).ok()?;
        let entry = header.table()?.lookup(address, &self.bases).ok()?;
        let (Pointer::Direct(entry), Pointer::Direct(start)) = (entry, header.eh_frame_ptr()) else {
            return None;
        };
        Some(gimli::EhFrameOffset(usize::try_from(entry.checked_sub(start)?).ok()?))
    }
}

/// The encoding of the number of entries that linkers write: 32 bits without a sign.
const COUNT_ENCODING: u8 = 3;

fn with_row<'a, S: UnwindSection<Slice<'a>>, T>(
    section: &S,
    bytes: &[u8],
    bases: &BaseAddresses,
    context: &mut UnwindContext<usize>,
    entry: &FrameDescriptionEntry<Slice<'a>>,
    address: u64,
    use_row: impl FnOnce(&Row<'_>) -> T,
) -> Option<T> {
    let row = entry.unwind_info_for_address(section, bases, context, address).ok()?;
    Some(use_row(&Row {
        rules: row,
        section: bytes,
        encoding: entry.cie().encoding(),
        return_address: entry.cie().return_address_register(),
        is_signal_trampoline: entry.is_signal_trampoline(),
        length: (entry.entry_len() as u64).saturating_add(entry.cie().entry_len() as u64),
    }))
}

/// All entries of a section, by address.
fn index<'a, S: UnwindSection<Slice<'a>>>(section: &S, bases: &BaseAddresses) -> Vec<Entry>
where
    S::Offset: gimli::UnwindOffset,
{
    let mut entries = section.entries(bases);
    let mut found = Vec::new();
    // Thousands of entries have the same one before them, which may be as long as all of them together.
    let mut common = HashMap::new();
    while let Ok(Some(entry)) = entries.next() {
        let gimli::CieOrFde::Fde(partial) = entry else { continue };
        let parsed = partial.parse(|section, bases, offset: S::Offset| {
            let known = common
                .entry(gimli::UnwindOffset::into(offset))
                .or_insert_with(|| section.cie_from_offset(bases, offset));
            known.clone()
        });
        if let Ok(entry) = parsed {
            found.push(Entry {
                start: entry.initial_address(),
                end: entry.end_address(),
                offset: entry.offset(),
            });
        }
    }
    found.sort_by_key(|entry| entry.start);
    found
}

fn find<'a, S: UnwindSection<Slice<'a>>>(
    section: &S,
    bases: &BaseAddresses,
    index: &[Entry],
    address: u64,
) -> Option<FrameDescriptionEntry<Slice<'a>>> {
    let after = index.partition_point(|entry| entry.start <= address);
    let entry = index.get(after.checked_sub(1)?).filter(|entry| address < entry.end)?;
    section
        .fde_from_offset(bases, S::Offset::from(entry.offset), UnwindSection::cie_from_offset)
        .ok()
}
