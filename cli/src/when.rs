//! Times, as people say and read them on a command line.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Span, SpanRelativeTo, Timestamp};

/// The time that somebody means: so long ago (`2d`, `90m`, `1w 2h`), a date or a time of this machine's (`2026-11-29`,
/// `2026-11-29T12:00`), or a time anywhere (`2026-11-29T12:00:00Z`).
pub fn parse(text: &str) -> Result<Timestamp, String> {
    let text = text.trim();
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(time);
    }
    let local = text
        .parse::<DateTime>()
        .or_else(|_| text.parse::<Date>().map(Date::into));
    let time = match (local, text.parse::<Span>()) {
        (Ok(local), _) => local.to_zoned(TimeZone::system()).map(|zoned| zoned.timestamp()),
        (_, Ok(span)) => before(&Timestamp::now(), span),
        _ => {
            return Err(
                "say a span such as 2d, 90m or 1w, a date such as 2026-11-29, or a time such as \
                        2026-11-29T12:00:00Z"
                    .to_owned(),
            );
        }
    };
    time.map_err(|error| error.to_string())
}

/// So long before; days have 24 hours, since nobody means the hour of a clock that is changed.
fn before(now: &Timestamp, span: Span) -> Result<Timestamp, jiff::Error> {
    let length = span.abs().to_duration(SpanRelativeTo::days_are_24_hours())?;
    now.checked_sub(length)
}

/// A time for a line of a list: to the minute, as this machine's clock says it.
pub fn short(time: Timestamp) -> String {
    time.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string()
}
