//! Times as logs write them: often without a year, mostly without a zone.

/// A time as it was printed. Most lines have one and few become events, so it is only taken apart for those.
#[derive(Clone, Debug, PartialEq)]
pub enum Stamp {
    /// A date and a clock, with a zone or without.
    Dated {
        date: String,
        clock: String,
        zone: Option<String>,
    },
    /// A month, a day and a clock (glog, syslog).
    WithoutYear { month: u32, day: u32, clock: String },
    /// Seconds since the machine started.
    Uptime(f64),
}

/// What a stamp says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Time {
    /// RFC 3339; absent for seconds since boot. A time without a year has the year 0000 until the report's other
    /// artifacts tell the year ([`crate::merge()`]).
    pub time: Option<String>,
    /// What is uncertain.
    pub note: Option<String>,
}

impl Stamp {
    /// A full date.
    pub fn dated(date: &str, clock: &str, zone: Option<&str>) -> Self {
        Self::Dated {
            date: date.to_owned(),
            clock: clock.to_owned(),
            zone: zone.map(str::to_owned),
        }
    }

    /// A month, a day and a clock.
    pub fn without_year(month: Option<u32>, day: Option<u32>, clock: &str) -> Option<Self> {
        Some(Self::WithoutYear {
            month: month?,
            day: day?,
            clock: clock.to_owned(),
        })
    }

    /// Seconds since the machine started.
    pub fn uptime(seconds: &str) -> Option<Self> {
        seconds.parse().ok().map(Self::Uptime)
    }

    /// Takes it apart. Nothing where it is no time: `2026-99-99` has the form of a date only.
    pub fn read(&self) -> Time {
        match self {
            Self::Dated { date, clock, zone } => dated(date, clock, zone.as_deref()),
            Self::WithoutYear { month, day, clock } => without_year(*month, *day, clock),
            Self::Uptime(seconds) => Some(Time {
                time: None,
                note: Some(format!("{seconds:.6} s after boot")),
            }),
        }
        .unwrap_or_default()
    }
}

/// How a time is marked that has a zone other than that of UTC.
pub const ZONE: &str = "zone ";
/// How one is marked that has none.
pub const NO_ZONE: &str = "no zone";

/// Without a zone the clock is taken as UTC, and marked.
fn dated(date: &str, clock: &str, zone: Option<&str>) -> Option<Time> {
    let clock = clock.replace(',', ".");
    let (zone, note) = match zone {
        None => ("Z".to_owned(), Some(NO_ZONE.to_owned())),
        Some("Z") => ("Z".to_owned(), None),
        Some(zone) => {
            let zone = match zone.contains(':') {
                true => zone.to_owned(),
                false => format!("{}:{}", zone.get(..3)?, zone.get(3..)?),
            };
            let note = (zone != "+00:00").then(|| format!("{ZONE}{zone}"));
            (zone, note)
        }
    };
    let time: jiff::Timestamp = format!("{date}T{clock}{zone}").parse().ok()?;
    Some(Time {
        time: Some(time.to_string()),
        note,
    })
}

fn without_year(month: u32, day: u32, clock: &str) -> Option<Time> {
    // 2000 stands in for the check because it has a 29th of February.
    let time = dated(&format!("2000-{month:02}-{day:02}"), clock, None)?.time?;
    Some(Time {
        time: Some(time.replacen("2000", "0000", 1)),
        note: Some("no year, no zone".to_owned()),
    })
}
