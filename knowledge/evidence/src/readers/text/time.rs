//! Times as logs write them: often without a year, mostly without a zone.

/// A time with what is uncertain about it. A time without a year has the year 0000 until the report's other
/// artifacts tell the year ([`crate::merge()`]).
#[derive(Clone, Debug, PartialEq)]
pub struct Stamp {
    /// RFC 3339; absent for seconds since boot.
    pub time: Option<String>,
    /// What is uncertain.
    pub note: Option<String>,
}

impl Stamp {
    /// A full date. Without a zone the clock is taken as UTC, and marked.
    pub fn dated(date: &str, clock: &str, zone: Option<&str>) -> Option<Self> {
        let clock = clock.replace(',', ".");
        let (zone, note) = match zone {
            None => ("Z".to_owned(), Some("no zone".to_owned())),
            Some("Z") => ("Z".to_owned(), None),
            Some(zone) if zone.contains(':') => (zone.to_owned(), None),
            Some(zone) => (format!("{}:{}", zone.get(..3)?, zone.get(3..)?), None),
        };
        let time: jiff::Timestamp = format!("{date}T{clock}{zone}").parse().ok()?;
        Some(Self {
            time: Some(time.to_string()),
            note,
        })
    }

    /// A month, a day and a clock (glog, syslog).
    pub fn without_year(month: Option<u32>, day: Option<u32>, clock: &str) -> Option<Self> {
        // 2000 stands in for the check because it has a 29th of February.
        let stamp = Self::dated(&format!("2000-{:02}-{:02}", month?, day?), clock, None)?;
        let time = stamp.time?.replacen("2000", "0000", 1);
        Some(Self {
            time: Some(time),
            note: Some("no year, no zone".to_owned()),
        })
    }

    /// Seconds since the machine started.
    pub fn uptime(seconds: &str) -> Option<Self> {
        let seconds: f64 = seconds.parse().ok()?;
        Some(Self {
            time: None,
            note: Some(format!("{seconds:.6} s after boot")),
        })
    }
}
