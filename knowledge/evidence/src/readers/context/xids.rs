//! Xids that the driver told the collector of while the job ran.

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::model::{Event, EventPayload, Xid};

/// Xids that are looked at; the collector tells of fewer.
const XIDS: usize = 4096;

/// A device over time, as far as it matters here.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Device {
    uuid: Option<String>,
    xids: Vec<Told>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Told {
    /// Milliseconds since the job's start.
    at: u64,
    code: u32,
}

/// Each of them, where the kernel's log, which says more about them, could not be read.
pub fn events(context: &Map<String, Value>) -> Vec<Event> {
    let missing = context
        .get("unavailable")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let has_log = !missing
        .into_iter()
        .any(|missing| missing.get("what").is_some_and(|what| what == "kernel log"));
    if has_log {
        return Vec::new();
    }
    let started = context
        .get("started")
        .and_then(Value::as_str)
        .and_then(|text| text.parse().ok());
    let devices = context
        .get("gpu_timeline")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let of_device = |(index, device): (usize, &Value)| {
        let device = Device::deserialize(device).unwrap_or_default();
        let gpu = name(context, index, &device);
        device.xids.into_iter().map(move |told| event(&told, &gpu, started))
    };
    devices.enumerate().flat_map(of_device).take(XIDS).collect()
}

/// The PCI address of a device as the kernel's log has it, so that both name one device alike; else its UUID.
fn name(context: &Map<String, Value>, index: usize, device: &Device) -> String {
    let pci = context
        .get("gpus")
        .and_then(|gpus| gpus.get(index)?.get("pci")?.as_str());
    let Some((domain, rest)) = pci.and_then(|pci| pci.split_once(':')) else {
        return device.uuid.clone().unwrap_or_else(|| format!("GPU {index}"));
    };
    let domain = domain.get(domain.len().saturating_sub(4)..).unwrap_or(domain);
    let address = rest.rsplit_once('.').map_or(rest, |(address, _function)| address);
    format!("PCI:{domain}:{address}")
}

fn event(told: &Told, gpu: &str, started: Option<Timestamp>) -> Event {
    let after = i64::try_from(told.at).ok().map(SignedDuration::from_millis);
    let time = started
        .zip(after)
        .and_then(|(started, after)| started.checked_add(after).ok());
    let xid = Xid {
        code: told.code,
        pci: gpu.to_owned(),
        count: 1,
        ..Xid::default()
    };
    Event {
        time: time.map(|time| time.to_string()),
        text: format!("the NVIDIA driver told of Xid {} for the GPU at {gpu}", told.code),
        ..Event::new(EventPayload::Xid(xid))
    }
}
