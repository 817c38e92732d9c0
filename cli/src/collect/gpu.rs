//! GPUs, through the driver's management library: it makes no context and takes no GPU memory.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nvml_wrapper::enum_wrappers::device::TemperatureSensor;
use nvml_wrapper::{Device, Nvml};
use serde_json::{Value, json};

use super::Missing;

/// Changes remembered of each device, the last ones.
const CHANGES: usize = 20_000;

/// What is known about the GPUs of this machine, growing while the job runs.
#[derive(Debug, Default)]
struct Known {
    facts: Option<Result<Value, Missing>>,
    devices: Vec<Memory>,
}

/// The memory used on one device over time. Only changes are kept: between two, nothing changed.
#[derive(Debug, Default)]
struct Memory {
    /// Milliseconds since the job's start, and bytes used on the device by everybody.
    changes: VecDeque<(u64, u64)>,
    peak: u64,
    total: u64,
}

/// Samples GPU memory until the program ends.
#[derive(Clone, Debug, Default)]
pub struct Sampler {
    known: Arc<Mutex<Known>>,
}

impl Sampler {
    /// Starts sampling. The library is loaded in the background, so that the job does not wait for it.
    pub fn start(interval: Duration) -> Self {
        let sampler = Self::default();
        let worker = sampler.clone();
        let start = Instant::now();
        std::thread::spawn(move || {
            let nvml = match load() {
                Ok(nvml) => nvml,
                Err(missing) => {
                    worker.with(|known| known.facts = Some(Err(missing)));
                    return;
                }
            };
            let facts = facts(&nvml);
            worker.with(|known| known.facts = Some(Ok(facts)));
            loop {
                worker.sample(&nvml, start.elapsed());
                std::thread::sleep(interval);
            }
        });
        sampler
    }

    /// Facts about driver and devices.
    pub fn facts(&self) -> Result<Value, Missing> {
        let none = || {
            Err(Missing::for_good(
                "GPUs",
                "the job ended before the driver's management library was loaded",
            ))
        };
        self.with(|known| known.facts.clone()).unwrap_or_else(none)
    }

    /// Memory use over time, per device.
    pub fn timeline(&self) -> Value {
        self.with(|known| {
            let device = |(index, memory): (usize, &Memory)| {
                json!({"device": index, "total": memory.total, "peak_used": memory.peak, "used": memory.changes})
            };
            Value::Array(known.devices.iter().enumerate().map(device).collect())
        })
    }

    fn sample(&self, nvml: &Nvml, at: Duration) {
        let readings: Vec<_> = devices(nvml).map(|device| device.memory_info().ok()).collect();
        self.with(|known| {
            known.devices.resize_with(readings.len(), Memory::default);
            for (memory, reading) in known.devices.iter_mut().zip(readings) {
                let Some(reading) = reading else { continue };
                memory.total = reading.total;
                memory.add(at.as_millis() as u64, reading.used);
            }
        });
    }

    fn with<T>(&self, act: impl FnOnce(&mut Known) -> T) -> T {
        act(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Memory {
    fn add(&mut self, millis: u64, used: u64) {
        self.peak = self.peak.max(used);
        if self.changes.back().is_some_and(|(_, before)| *before == used) {
            return;
        }
        if self.changes.len() == CHANGES {
            self.changes.pop_front();
        }
        self.changes.push_back((millis, used));
    }
}

/// The library, or why it can not be had.
pub fn load() -> Result<Nvml, Missing> {
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
pub fn facts(nvml: &Nvml) -> Value {
    let cuda = nvml
        .sys_cuda_driver_version()
        .ok()
        .map(|version| format!("{}.{}", version / 1000, version % 1000 / 10));
    let devices: Vec<Value> = devices(nvml)
        .enumerate()
        .map(|(index, device)| describe(index, &device))
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

fn devices(nvml: &Nvml) -> impl Iterator<Item = Device<'_>> {
    (0..nvml.device_count().unwrap_or(0)).filter_map(|index| nvml.device_by_index(index).ok())
}
