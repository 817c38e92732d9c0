//! A table of agreement: a row per artifact, a column per thing that is compared.

/// How much of what is known was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Score {
    pub agree: usize,
    pub expected: usize,
}

impl Score {
    /// Whether one thing is as it should be.
    pub fn of(agrees: bool) -> Self {
        Self {
            agree: usize::from(agrees),
            expected: 1,
        }
    }

    pub fn add(&mut self, other: Self) {
        self.agree += other.agree;
        self.expected += other.expected;
    }

    fn percent(self) -> f64 {
        if self.expected == 0 {
            100.0
        } else {
            100.0 * self.agree as f64 / self.expected as f64
        }
    }
}

/// A thing that is compared, and how much of it must agree in total.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    pub name: &'static str,
    /// In percent; a column without a bar is for information.
    pub bar: Option<f64>,
}

/// One kind of artifact.
#[derive(Debug)]
pub struct Table {
    title: &'static str,
    columns: Vec<Column>,
    rows: Vec<(String, Vec<Score>)>,
    notes: Vec<String>,
}

const NAME_WIDTH: usize = 46;

impl Table {
    pub fn new(title: &'static str, columns: &[(&'static str, Option<f64>)]) -> Self {
        Self {
            title,
            columns: columns.iter().map(|(name, bar)| Column { name, bar: *bar }).collect(),
            rows: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Adds an artifact with a score for each column.
    pub fn row(&mut self, name: impl Into<String>, scores: impl IntoIterator<Item = Score>) {
        self.rows.push((name.into(), scores.into_iter().collect()));
    }

    /// Adds what a reader of the table has to know, such as why something differs on purpose.
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// True when no total is below its bar.
    pub fn passes(&self) -> bool {
        self.columns
            .iter()
            .zip(self.totals())
            .all(|(column, total)| column.is_reached(total))
    }

    fn totals(&self) -> Vec<Score> {
        let mut totals = vec![Score::default(); self.columns.len()];
        for (_, scores) in &self.rows {
            for (total, score) in totals.iter_mut().zip(scores) {
                total.add(*score);
            }
        }
        totals
    }

    pub fn print(&self) {
        println!("{}", self.title);
        let width = |column: &Column| column.name.len().max(15) + 2;
        let names: String = self
            .columns
            .iter()
            .map(|column| format!("{:>1$}", column.name, width(column)))
            .collect();
        println!("{:<NAME_WIDTH$}{names}", "");
        let line = |name: &str, cells: Vec<String>| {
            let cells: String = self
                .columns
                .iter()
                .zip(cells)
                .map(|(column, cell)| format!("{cell:>0$}", width(column)))
                .collect();
            println!("{name:<NAME_WIDTH$}{cells}");
        };
        let counts = |scores: &[Score]| {
            scores
                .iter()
                .map(|score| format!("{}/{}", score.agree, score.expected))
                .collect()
        };
        for (name, scores) in &self.rows {
            line(name, counts(scores));
        }
        let totals = self.totals();
        line("total", counts(&totals));
        line(
            "",
            totals.iter().map(|total| format!("{:.2} %", total.percent())).collect(),
        );
        let judged = self
            .columns
            .iter()
            .zip(&totals)
            .map(|(column, total)| match column.bar {
                None => String::new(),
                Some(bar) if column.is_reached(*total) => format!("bar {bar} %"),
                Some(bar) => format!("BELOW {bar} %"),
            });
        line("", judged.collect());
        for note in &self.notes {
            println!("  {note}");
        }
        println!();
    }
}

impl Column {
    fn is_reached(self, total: Score) -> bool {
        self.bar.is_none_or(|bar| total.percent() >= bar)
    }
}
