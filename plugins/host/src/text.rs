//! The lines of a text artifact.

use std::ops::ControlFlow;

/// A text in memory, with the offsets of its lines.
#[derive(Debug, Default)]
pub(crate) struct Text {
    bytes: Vec<u8>,
    starts: Vec<usize>,
}

impl Text {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        let mut starts: Vec<usize> = (!bytes.is_empty()).then_some(0).into_iter().collect();
        starts.extend(bytes.iter().enumerate().filter(|(i, b)| **b == b'\n' && i + 1 < bytes.len()).map(|(i, _)| i + 1));
        Self { bytes, starts }
    }

    pub(crate) fn count(&self) -> u64 {
        self.starts.len() as u64
    }

    fn line(&self, index: usize) -> Option<&[u8]> {
        let start = *self.starts.get(index)?;
        let end = self.starts.get(index + 1).copied().unwrap_or(self.bytes.len());
        let line = self.bytes.get(start..end)?;
        Some(line.trim_ascii_end())
    }

    /// Lines from number `first` on, which counts from 1.
    pub(crate) fn range(&self, first: u64, count: usize) -> Vec<(u64, String)> {
        let start = first.max(1) as usize - 1;
        (start..start.saturating_add(count))
            .map_while(|i| Some((i as u64 + 1, String::from_utf8_lossy(self.line(i)?).into_owned())))
            .collect()
    }

    pub(crate) fn for_each(&self, mut f: impl FnMut(u64, &[u8]) -> ControlFlow<()>) {
        for index in 0..self.starts.len() {
            let Some(line) = self.line(index) else { return };
            if f(index as u64 + 1, line).is_break() {
                return;
            }
        }
    }
}
