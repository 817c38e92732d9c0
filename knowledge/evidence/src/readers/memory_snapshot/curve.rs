//! Builds a usage curve of bounded size from a stream of unknown length.

use crate::model::UsageCurve;

/// Rows the finest curve has at most.
const ROWS: usize = 4096;
/// Rows the curve has at most that gives the whole at a glance.
const OVERVIEW_ROWS: usize = 512;

#[derive(Clone, Copy, Debug)]
struct Row {
    event: u64,
    time_us: Option<u64>,
    min: i64,
    max: i64,
}

/// When the rows are full, neighbours merge and each further row covers twice as many changes.
#[derive(Debug)]
pub(super) struct CurveBuilder {
    rows: Vec<Row>,
    /// Changes a row covers.
    width: u64,
    /// Changes in the last row.
    filled: u64,
}

impl Default for CurveBuilder {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            width: 1,
            filled: 1,
        }
    }
}

impl CurveBuilder {
    /// Takes the level after a change.
    pub fn push(&mut self, event: u64, time_us: Option<u64>, level: i64) {
        if self.filled < self.width
            && let Some(row) = self.rows.last_mut()
        {
            row.min = row.min.min(level);
            row.max = row.max.max(level);
            self.filled += 1;
            return;
        }
        if self.rows.len() == ROWS {
            self.rows = self.rows.chunks(2).map(merge).collect();
            self.width *= 2;
        }
        self.rows.push(Row {
            event,
            time_us,
            min: level,
            max: level,
        });
        self.filled = 1;
    }

    /// Bytes held.
    pub fn held(&self) -> usize {
        self.rows.capacity() * size_of::<Row>()
    }

    /// The curve at a glance, and its finer levels, finest first, with `base` added to every value.
    pub fn finish(&self, base: i64) -> (UsageCurve, Vec<UsageCurve>) {
        let mut finer = Vec::new();
        let mut overview = self.finest(base);
        while overview.len() > OVERVIEW_ROWS {
            let halved = overview.halved();
            finer.push(std::mem::replace(&mut overview, halved));
        }
        (overview, finer)
    }

    fn finest(&self, base: i64) -> UsageCurve {
        let level = |level: i64| u64::try_from(level.saturating_add(base)).unwrap_or(0);
        let timed = self.rows.iter().all(|row| row.time_us.is_some());
        UsageCurve {
            event: self.rows.iter().map(|row| row.event).collect(),
            time_us: if timed {
                self.rows.iter().filter_map(|row| row.time_us).collect()
            } else {
                Vec::new()
            },
            min: self.rows.iter().map(|row| level(row.min)).collect(),
            max: self.rows.iter().map(|row| level(row.max)).collect(),
        }
    }
}

fn merge(rows: &[Row]) -> Row {
    let first = rows[0];
    rows.iter().fold(first, |all, row| Row {
        min: all.min.min(row.min),
        max: all.max.max(row.max),
        ..all
    })
}
