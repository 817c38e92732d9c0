//! One order for the events of all artifacts.
//!
//! Within an artifact the order is that of its lines: a log is not reordered by its own time stamps, which are taken
//! when a message is made and not when it is written. Between artifacts time decides where both sides have one; an
//! event without a time takes that of the event before it in its artifact. Clocks that are known to be off are
//! corrected for the order ([`Clocks`]). glog and syslog leave out the year: the
//! year of the other artifacts is taken, and if there is none, such times still order events among each other but are
//! not given as times.

use serde_json::{Map, Value};

use super::clocks::Clocks;
use crate::model::Event;
use crate::readers::text::time;

/// Seconds since 1970, with a fraction.
type Instant = jiff::Timestamp;

pub(super) fn one_order(mut timelines: Vec<Vec<Event>>, context: &Map<String, Value>, clocks: &Clocks) -> Vec<Event> {
    let year = known_year(&timelines, context);
    for event in timelines.iter_mut().flatten() {
        fill_year(event, year.as_deref());
    }
    fill_zones(&mut timelines);
    let mut keyed: Vec<(Option<Instant>, usize, usize, Event)> = Vec::new();
    for (artifact, timeline) in timelines.into_iter().enumerate() {
        let instants = carried(&timeline, clocks);
        for (index, (event, instant)) in timeline.into_iter().zip(instants).enumerate() {
            keyed.push((instant, artifact, index, event));
        }
    }
    // Artifacts without any time come last, in their own order.
    keyed.sort_by(|a, b| {
        let untimed = a.0.is_none().cmp(&b.0.is_none());
        untimed.then(a.0.cmp(&b.0)).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2))
    });
    let mut events: Vec<Event> = keyed.into_iter().map(|(_, _, _, event)| event).collect();
    for (number, event) in events.iter_mut().enumerate() {
        event.event = number;
        withhold_yearless(event);
        tell_skew(event, clocks);
    }
    events
}

/// A time stays what its clock said; the note tells how far that clock is off.
fn tell_skew(event: &mut Event, clocks: &Clocks) {
    // A time that is withheld is in the note.
    let is_timed = event.time.is_some() || event.time_note.is_some();
    let Some(ahead) = clocks.ahead_ms(event.rank).filter(|_| is_timed) else {
        return;
    };
    let way = if ahead > 0 { "ahead of" } else { "behind" };
    let seconds = ahead.unsigned_abs() as f64 / 1000.0;
    let skew = format!(
        "this rank's clock is {seconds:.1} s {way} that of rank {}",
        clocks.reference
    );
    event.time_note = Some(match event.time_note.take() {
        Some(note) => format!("{note}; {skew}"),
        None => skew,
    });
}

/// The instant each event is sorted by: never before that of an earlier line of the same artifact.
fn carried(timeline: &[Event], clocks: &Clocks) -> Vec<Option<Instant>> {
    let common = |event: &Event| {
        let ahead = clocks.ahead_ms(event.rank).unwrap_or(0);
        let span = jiff::SignedDuration::from_millis(ahead);
        instant(event)?.checked_sub(span).ok()
    };
    let first = timeline.iter().find_map(common);
    let mut last = first;
    timeline
        .iter()
        .map(|event| {
            last = common(event).max(last);
            last
        })
        .collect()
}

fn instant(event: &Event) -> Option<Instant> {
    event.time.as_deref()?.parse().ok()
}

fn known_year(timelines: &[Vec<Event>], context: &Map<String, Value>) -> Option<String> {
    let from_context = ["ended", "started"]
        .iter()
        .find_map(|name| context.get(*name).and_then(Value::as_str));
    let from_events = || {
        let mut times = timelines.iter().flatten().filter_map(|event| event.time.as_deref());
        times.find(|time| !time.starts_with("0000"))
    };
    from_context.or_else(from_events)?.get(..4).map(str::to_owned)
}

fn fill_year(event: &mut Event, year: Option<&str>) {
    let (Some(time), Some(year)) = (&event.time, year) else {
        return;
    };
    if let Some(last) = &mut event.last_time
        && last.starts_with("0000")
    {
        last.replace_range(..4, year);
    }
    if let Some(rest) = time.strip_prefix("0000") {
        event.time = Some(format!("{year}{rest}"));
        event.time_note = Some("year taken from the other artifacts, no zone".to_owned());
    }
}

/// Most programs print the clock of their machine and leave out its zone. Where another artifact states one, and the
/// last time of an artifact without is nearer to that one's when it is of the same zone, it is taken to be.
fn fill_zones(timelines: &mut [Vec<Event>]) {
    let stated = timelines.iter().find_map(|timeline| {
        let zone = timeline.iter().find_map(|event| offset(event.time_note.as_deref()?))?;
        Some((zone, timeline.iter().rev().find_map(instant)?))
    });
    let Some((zone, end)) = stated else {
        return;
    };
    for timeline in timelines {
        let Some(last) = timeline
            .iter()
            .filter(|event| lacks_zone(event))
            .filter_map(instant)
            .next_back()
        else {
            continue;
        };
        let shifted = last.checked_sub(zone).ok();
        if shifted.is_none_or(|shifted| shifted.duration_since(end).abs() >= last.duration_since(end).abs()) {
            continue;
        }
        for event in timeline.iter_mut().filter(|event| lacks_zone(event)) {
            shift(event, zone);
        }
    }
}

/// The zone in `zone +09:00`.
fn offset(note: &str) -> Option<jiff::SignedDuration> {
    let (sign, zone) = note.strip_prefix(time::ZONE)?.split_at_checked(1)?;
    let (hours, minutes) = zone.split_once(':')?;
    let minutes = hours.parse::<i64>().ok()? * 60 + minutes.parse::<i64>().ok()?;
    Some(jiff::SignedDuration::from_mins(if sign == "-" {
        -minutes
    } else {
        minutes
    }))
}

fn lacks_zone(event: &Event) -> bool {
    event
        .time_note
        .as_deref()
        .is_some_and(|note| note.ends_with(time::NO_ZONE))
}

fn shift(event: &mut Event, zone: jiff::SignedDuration) {
    let shifted = |time: &str| Some(time.parse::<Instant>().ok()?.checked_sub(zone).ok()?.to_string());
    for time in [&mut event.time, &mut event.last_time] {
        *time = time.take().map(|time| shifted(&time).unwrap_or(time));
    }
    event.time_note = event
        .time_note
        .take()
        .map(|note| note.replace(time::NO_ZONE, "zone taken from the other artifacts"));
}

/// Without a year a time orders, but is none: it goes into the note.
fn withhold_yearless(event: &mut Event) {
    event.last_time = event.last_time.take().filter(|time| !time.starts_with("0000-"));
    if let Some(rest) = event.time.as_deref().and_then(|time| time.strip_prefix("0000-")) {
        event.time_note = Some(format!(
            "{} (no year, no zone)",
            rest.trim_end_matches('Z').replace('T', " ")
        ));
        event.time = None;
    }
}
