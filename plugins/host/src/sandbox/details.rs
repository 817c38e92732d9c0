//! What a plugin may ask for about single blocks of memory, entries of a trace, and other reports: every answer
//! bounded, and every piece of work for it charged before it is done.

use whycrash_evidence::model::MemoryDetail;

use super::bindings::{history, memory};
use super::convert;
use super::particulars::{bytes, numbers, texts};
use super::run::Run;
use super::view::PAGE;

impl Run {
    pub(super) fn blocks_of(
        &mut self,
        snapshot: u32,
        address: u64,
        count: u32,
    ) -> wasmtime::Result<Vec<memory::Block>> {
        let case = self.case.clone();
        let Some((number, detail)) = case.memory_detail(snapshot) else {
            return Ok(Vec::new());
        };
        let first = first_block(detail, address);
        let blocks = detail.blocks.iter().enumerate().skip(first);
        let blocks = blocks.take((count as usize).min(PAGE));
        self.page(
            blocks.map(|(index, block)| convert::memory::block(number, index, detail, block)),
            |block| texts(&block.frames) + block.fact.len(),
        )
    }

    pub(super) fn trace_of(&mut self, snapshot: u32, first: u64, count: u32) -> wasmtime::Result<Vec<memory::Entry>> {
        let case = self.case.clone();
        let Some((number, detail)) = case.memory_detail(snapshot) else {
            return Ok(Vec::new());
        };
        let first = detail.trace.partition_point(|entry| entry.number < first);
        let entries = detail.trace.iter().enumerate().skip(first);
        let entries = entries.take((count as usize).min(PAGE));
        self.page(
            entries.map(|(index, entry)| convert::memory::entry(number, index, detail, entry)),
            |entry| texts(&entry.frames) + entry.fact.len(),
        )
    }

    pub(super) fn earlier_reports(&mut self, first: u32, count: u32) -> wasmtime::Result<Vec<history::EarlierReport>> {
        let report = self.case.report.clone();
        let earlier = report.history.iter().flat_map(|history| &history.earlier).enumerate();
        let wanted = earlier.skip(first as usize).take((count as usize).min(PAGE));
        self.page(
            wanted.map(|(number, report)| convert::history::earlier(number, report)),
            |report| {
                let concluded = report.conclusions.iter().map(|conclusion| {
                    let said = conclusion.cause.len() + conclusion.plugin.len() + bytes(conclusion.title.as_ref());
                    said + size_of::<history::Conclusion>()
                });
                let named = report.id.len() + report.title.len() + report.received.len() + report.fact.len();
                named + concluded.sum::<usize>()
            },
        )
    }

    pub(super) fn incident_reports(&mut self, first: u32, count: u32) -> wasmtime::Result<Vec<history::OtherReport>> {
        let report = self.case.report.clone();
        let others = report.history.iter().flat_map(|history| &history.incident).enumerate();
        let wanted = others.skip(first as usize).take((count as usize).min(PAGE));
        self.page(
            wanted.map(|(number, report)| convert::history::other(number, report)),
            |report| {
                let named = report.id.len() + report.title.len() + report.received.len() + report.fact.len();
                let optional = [&report.group, &report.host, &report.signal, &report.exception];
                let optional = optional.into_iter().map(|text| bytes(text.as_ref()));
                named + optional.sum::<usize>() + numbers(&report.ranks)
            },
        )
    }
}

/// The block that the address lies in, or the next one above it.
fn first_block(detail: &MemoryDetail, address: u64) -> usize {
    let above = detail.blocks.partition_point(|block| block.address.0 <= address);
    let holds = |index: &usize| {
        let block = detail.blocks.get(*index);
        block.is_some_and(|block| address < block.address.0.saturating_add(block.bytes))
    };
    above.checked_sub(1).filter(holds).unwrap_or(above)
}

#[cfg(test)]
mod tests {
    use whycrash_evidence::Hex;
    use whycrash_evidence::model::MemoryBlock;

    use super::*;

    #[test]
    fn blocks_are_found_by_an_address_in_them() {
        let block = |address: u64| MemoryBlock {
            address: Hex(address),
            bytes: 10,
            ..MemoryBlock::default()
        };
        let detail = MemoryDetail {
            blocks: [100, 110, 200].map(block).to_vec(),
            ..MemoryDetail::default()
        };
        for (address, first) in [
            (0, 0),
            (100, 0),
            (109, 0),
            (110, 1),
            (120, 2),
            (205, 2),
            (210, 3),
            (u64::MAX, 3),
        ] {
            assert_eq!(first_block(&detail, address), first, "{address}");
        }
        assert_eq!(first_block(&MemoryDetail::default(), 5), 0);
    }
}
