//! What the driver's management library says about the GPUs: it makes no context and takes no GPU memory. It may also
//! hang, or end the process that asks, so it is asked by a process of its own.

use std::fs::File;
use std::io::Write as _;
use std::time::{Duration, Instant};

use nvml_wrapper::enum_wrappers::device::TemperatureSensor;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};
use serde_json::{Value, json};

use super::Line;
use crate::collect::Missing;

/// Tells about the GPUs, then samples them until nobody listens any more.
pub fn serve(mut listener: File, interval: Duration) {
    let mut tell = |line: &Line| {
        let text = serde_json::to_string(line).unwrap_or_default() + "\n";
        listener.write_all(text.as_bytes())
    };
    let nvml = match load() {
        Ok(nvml) => nvml,
        Err(missing) => {
            let _ = tell(&Line::Missing(missing));
            return;
        }
    };
    if tell(&Line::Facts(facts(&nvml))).is_err() {
        return;
    }
    let start = Instant::now();
    let mut devices: Vec<_> = devices(&nvml).map(Watched::new).collect();
    loop {
        let at = start.elapsed().as_millis() as u64;
        for (index, device) in devices.iter_mut().enumerate() {
            if device.sample(index, at).is_some_and(|line| tell(&line).is_err()) {
                return;
            }
        }
        std::thread::sleep(interval);
    }
}

/// A device by the handle that it had at the start: numbers shift when another one falls off the bus.
struct Watched<'n> {
    device: Result<Device<'n>, NvmlError>,
    used: Option<u64>,
    failed: Option<String>,
}

impl<'n> Watched<'n> {
    fn new(device: Result<Device<'n>, NvmlError>) -> Self {
        Self {
            device,
            used: None,
            failed: None,
        }
    }

    /// What has changed since the last time.
    fn sample(&mut self, device: usize, at: u64) -> Option<Line> {
        let memory = match &self.device {
            Ok(handle) => handle.memory_info().map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        match memory {
            Ok(memory) => {
                self.failed = None;
                let changed = self.used.replace(memory.used) != Some(memory.used);
                changed.then_some(Line::Used {
                    device,
                    at,
                    used: memory.used,
                    total: memory.total,
                })
            }
            Err(why) => {
                let new = self.failed.as_ref() != Some(&why);
                self.failed = Some(why.clone());
                new.then_some(Line::Failed { device, at, why })
            }
        }
    }
}

/// The library, or why it can not be had.
fn load() -> Result<Nvml, Missing> {
    let mend = "install the NVIDIA driver; in a container, use the NVIDIA container toolkit (--gpus all)";
    Nvml::init().map_err(|error| {
        Missing::new(
            "GPUs",
            format!("the driver's management library does not load: {error}"),
            mend,
        )
    })
}

/// Driver, CUDA version and devices.
fn facts(nvml: &Nvml) -> Value {
    let cuda = nvml
        .sys_cuda_driver_version()
        .ok()
        .map(|version| format!("{}.{}", version / 1000, version % 1000 / 10));
    let devices: Vec<Value> = devices(nvml)
        .enumerate()
        .map(|(index, device)| match device {
            Ok(device) => describe(index, &device),
            Err(error) => json!({"index": index, "error": error.to_string()}),
        })
        .collect();
    json!({"driver": nvml.sys_driver_version().ok(), "cuda": cuda, "devices": devices})
}

fn describe(index: usize, device: &Device<'_>) -> Value {
    let capability = device.cuda_compute_capability().ok();
    json!({
        "index": index,
        "name": device.name().ok(),
        "uuid": device.uuid().ok(),
        "pci": device.pci_info().ok().map(|pci| pci.bus_id),
        "compute_capability": capability.map(|version| format!("{}.{}", version.major, version.minor)),
        "memory": device.memory_info().ok().map(|memory| memory.total),
        "ecc": device.is_ecc_enabled().ok().map(|state| state.currently_enabled),
        "temperature": device.temperature(TemperatureSensor::Gpu).ok(),
    })
}

fn devices(nvml: &Nvml) -> impl Iterator<Item = Result<Device<'_>, NvmlError>> {
    (0..nvml.device_count().unwrap_or(0)).map(|index| nvml.device_by_index(index))
}
