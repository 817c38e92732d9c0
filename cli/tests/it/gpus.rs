//! What is recorded of GPUs, with drivers that are fakes: the code that loads and asks them is the real one.

use std::path::PathBuf;
use std::process::Output;

use serde_json::{Value, json};

use crate::support::Home;

const NVML: &str = include_str!("fake_drivers/nvml.c");
const CUDA: &str = include_str!("fake_drivers/cuda.c");

/// A home with a folder of drivers.
struct Machine {
    home: Home,
}

impl Machine {
    fn new() -> Self {
        Self { home: Home::new() }
    }

    /// Builds a library of this machine.
    fn with(self, library: &str, source: &str, flags: &[&str]) -> Self {
        let source = self.home.file(&format!("drivers/{library}.c"), source);
        let library = self.drivers().join(library);
        let mut compile = self.home.isolated("cc");
        compile
            .args(["-w", "-shared", "-fPIC"])
            .args(flags)
            .arg("-o")
            .args([&library, &source]);
        assert!(compile.status().expect("cc runs").success());
        self
    }

    fn nvml(flags: &[&str]) -> Self {
        Self::new().with("libnvidia-ml.so.1", NVML, flags)
    }

    fn cuda(flags: &[&str]) -> Self {
        Self::new().with("libcuda.so.1", CUDA, flags)
    }

    fn drivers(&self) -> PathBuf {
        self.home.work().join("drivers")
    }

    /// What is kept of a job that fails, on a machine whose drivers do these things.
    fn context(&self, job: &str, does: &[(&str, &str)]) -> Value {
        let (output, context) = self.run(job, does);
        assert_eq!(output.status.code(), Some(3), "{does:?}");
        context
    }

    fn run(&self, job: &str, does: &[(&str, &str)]) -> (Output, Value) {
        let arguments = [
            "run",
            "--quiet",
            "--no-diagnosis",
            "--gpu-interval",
            "50ms",
            "--output",
            "report",
            "--",
        ];
        let mut run = self.home.whycrash(&arguments);
        run.args(["sh", "-c", job]).env("LD_LIBRARY_PATH", self.drivers());
        let output = run.envs(does.iter().copied()).output().expect("it runs");
        (output, self.home.context())
    }
}

/// Milliseconds and bytes of a device.
fn used(context: &Value, device: usize) -> Vec<(u64, u64)> {
    serde_json::from_value(context["gpu_timeline"][device]["used"].clone()).unwrap_or_default()
}

fn unavailable(context: &Value, what: &str) -> String {
    let all = context["unavailable"].as_array().cloned().unwrap_or_default();
    let found = all.iter().find(|missing| missing["what"] == what);
    found.map(|missing| missing["why"].to_string()).unwrap_or_default()
}

/// Of the first device nothing is lost, whatever the other one does.
fn the_first_goes_on(context: &Value) {
    let changes = used(context, 0);
    assert!(changes.len() > 5, "{changes:?}");
    assert!(
        changes
            .windows(2)
            .all(|pair| pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1),
        "{changes:?}"
    );
    assert_eq!(context["gpu_timeline"][0]["uuid"], "GPU-fake-0");
    assert_eq!(context["gpu_timeline"][0]["failures"], json!([]));
}

#[test]
fn two_gpus_are_described_and_their_memory_is_followed() {
    let machine = Machine::nvml(&[]);
    let context = machine.context("sleep 1; exit 3", &[]);
    assert_eq!(context["driver"], "999.1-fake");
    assert_eq!(context["cuda"], "12.8");
    assert_eq!(context["gpus"][1]["name"], "Fake GPU 1");
    assert_eq!(context["gpus"][1]["uuid"], "GPU-fake-1");
    assert_eq!(context["gpus"][1]["memory"], 80_u64 << 30);
    the_first_goes_on(&context);
    // What does not change is told once.
    assert_eq!(used(&context, 1).len(), 1);
    assert_eq!(context["gpu_timeline"][1]["peak_used"], 1 << 20);
    assert!(context["gpu_notes"].is_null(), "{context}");
}

#[test]
fn a_machine_without_gpus_or_driver_says_so() {
    let context = Machine::nvml(&[]).context("exit 3", &[("FAKE_NVML", "has none")]);
    assert_eq!(context["gpus"], json!([]));
    let context = Machine::new().context("exit 3", &[]);
    assert!(unavailable(&context, "GPUs").contains("does not load"), "{context}");
    assert!(context["cuda_driver"].is_null(), "{context}");
    assert_eq!(unavailable(&context, "CUDA driver"), "");
}

#[test]
fn an_old_driver_is_asked_with_the_functions_that_it_has() {
    let context = Machine::nvml(&["-DOLD"]).context("sleep 1; exit 3", &[]);
    the_first_goes_on(&context);
    assert_eq!(context["gpus"][0]["memory"], 80_u64 << 30);
    // One that can not even count has no devices to tell of, and harms nobody.
    let context = Machine::nvml(&["-DWITHOUT_COUNT"]).context("exit 3", &[]);
    assert_eq!(context["driver"], "999.1-fake");
}

/// The values of a series of a device.
fn health(context: &Value, device: usize, name: &str) -> Vec<Value> {
    let changes = context["gpu_timeline"][device]["health"][name].as_array().cloned();
    changes
        .unwrap_or_default()
        .iter()
        .map(|change| change[1].clone())
        .collect()
}

#[test]
fn how_gpus_do_is_followed_by_changes() {
    let context = Machine::nvml(&[]).context("sleep 2.5; exit 3", &[]);
    for (name, values) in [
        ("sm_clock_mhz", json!([1980, 345])),
        ("memory_clock_mhz", json!([2600])),
        (
            "throttled_by",
            json!([[], ["hardware-slowdown", "hardware-thermal-slowdown"]]),
        ),
        ("temperature_c", json!([41, 92])),
        ("power_w", json!([312])),
        ("busy_percent", json!([87])),
        ("ecc_corrected", json!([0, 10])),
        ("ecc_uncorrected", json!([0, 11])),
        ("rows_remapped_corrected", json!([0])),
        ("rows_remapped_uncorrected", json!([0, 1])),
        ("row_remap_pending", json!([false, true])),
        ("row_remap_failed", json!([false])),
        ("pcie_replays", json!([0, 7])),
        ("nvlink_errors", json!([0, 20])),
    ] {
        assert_eq!(
            json!(health(&context, 1, name)),
            values,
            "{name}: {}",
            context["gpu_timeline"]
        );
    }
    // What this one does not know is left out, and the rest is not.
    assert!(health(&context, 0, "ecc_corrected").is_empty());
    assert_eq!(health(&context, 0, "temperature_c"), [json!(41)]);
    assert!(context["gpu_timeline"][0]["processes"].is_null());
    let processes = &context["gpu_timeline"][1]["processes"];
    assert_eq!(
        (&processes[0]["pid"], processes[0]["used"].as_array().map(Vec::len)),
        (&json!(4711), Some(1))
    );
    // One that ended uses nothing from then on.
    let bytes = |change: usize| processes[1]["used"][change][1].clone();
    assert_eq!((bytes(0), bytes(1)), (json!(1 << 20), json!(0)), "{processes}");
}

#[test]
fn errors_that_the_driver_tells_of_are_kept_with_their_device() {
    let machine = Machine::nvml(&[]);
    let context = machine.context("sleep 1; exit 3", &[("FAKE_NVML", "tells of errors")]);
    the_first_goes_on(&context);
    let codes = |device: usize| {
        let told = context["gpu_timeline"][device]["xids"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        told.iter().map(|xid| xid["code"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(codes(1), [json!(48), json!(63)]);
    assert_eq!(codes(0), [] as [Value; 0]);
    // Where the driver can not tell of them, the rest goes on, at its pace.
    let context = machine.context("sleep 1; exit 3", &[("FAKE_NVML", "loses its events")]);
    the_first_goes_on(&context);
    assert!(used(&context, 0).len() < 40, "{context}");
}

#[test]
fn an_error_of_one_device_is_its_own() {
    let machine = Machine::nvml(&[]);
    let context = machine.context("sleep 1; exit 3", &[("FAKE_NVML", "fails for one")]);
    assert!(!context["gpus"][0]["error"].is_null(), "{}", context["gpus"]);
    assert!(
        !context["gpu_timeline"][0]["failures"][0]["why"].is_null(),
        "{}",
        context["gpu_timeline"]
    );
    assert_eq!(context["gpu_timeline"][1]["uuid"], "GPU-fake-1");
    assert_eq!(used(&context, 1).len(), 1);
}

#[test]
fn a_device_that_is_lost_is_named_by_its_uuid() {
    let machine = Machine::nvml(&[]);
    let context = machine.context("sleep 1; exit 3", &[("FAKE_NVML", "loses one")]);
    the_first_goes_on(&context);
    let lost = &context["gpu_timeline"][1];
    assert_eq!(lost["uuid"], "GPU-fake-1");
    assert_eq!(lost["failures"].as_array().map(Vec::len), Some(1), "{lost}");
    let why = lost["failures"][0]["why"].as_str().unwrap_or_default();
    assert!(why.contains("off the bus"), "{lost}");
}

#[test]
fn a_count_that_changes_is_noted() {
    let machine = Machine::nvml(&[]);
    let context = machine.context("sleep 2; exit 3", &[("FAKE_NVML", "counts fewer")]);
    the_first_goes_on(&context);
    let text = context["gpu_notes"][0]["text"].as_str().unwrap_or_default();
    assert_eq!(text, "the driver counts 1 GPUs, and counted 2 before", "{context}");
}

#[test]
fn a_driver_that_hangs_is_said_to_hang() {
    let machine = Machine::nvml(&[]);
    let context = machine.context("sleep 6; exit 3", &[("FAKE_NVML", "hangs later")]);
    let hung = &context["gpu_timeline"][1];
    assert_eq!(hung["uuid"], "GPU-fake-1");
    assert_eq!(
        hung["failures"][0]["why"], "the driver does not answer: it hangs",
        "{hung}"
    );
    assert!(!used(&context, 0).is_empty());
}

#[test]
fn a_driver_that_hangs_at_its_start_is_said_to_hang() {
    let machine = Machine::nvml(&[]);
    let context = machine.context("sleep 6; exit 3", &[("FAKE_NVML", "hangs at init")]);
    assert_eq!(
        context["gpu_notes"][0]["text"], "the driver does not answer: it hangs",
        "{context}"
    );
    assert!(unavailable(&context, "GPUs").contains("hangs"), "{context}");
}

#[test]
fn a_driver_that_crashes_costs_its_record_alone() {
    let machine = Machine::nvml(&[]);
    let context = machine.context("sleep 1; exit 3", &[("FAKE_NVML", "crashes later")]);
    assert_eq!(context["gpus"][1]["uuid"], "GPU-fake-1");
    assert!(!used(&context, 0).is_empty());
    assert!(
        unavailable(&context, "GPUs over time").contains("ended the process"),
        "{context}"
    );
    let context = Machine::nvml(&[]).context("exit 3", &[("FAKE_NVML", "crashes at init")]);
    assert!(unavailable(&context, "GPUs").contains("ended the process"), "{context}");
    let context = Machine::nvml(&[]).context("exit 3", &[("FAKE_NVML", "fails at init")]);
    assert!(unavailable(&context, "GPUs").contains("does not load"), "{context}");
}

#[test]
fn the_cuda_driver_says_what_the_job_sees() {
    let machine = Machine::cuda(&[]);
    let driver = machine.context("exit 3", &[("CUDA_VISIBLE_DEVICES", "3,1")])["cuda_driver"].clone();
    assert_eq!(driver["version"], "13.0");
    assert_eq!(driver["cuda_visible_devices"], "3,1");
    assert_eq!(driver["forward_compatibility"], false);
    assert!(
        driver["library"]
            .as_str()
            .is_some_and(|path| path.ends_with("drivers/libcuda.so.1")),
        "{driver}"
    );
    assert_eq!(driver["peer_access"], json!([[0, 1]]));
    let second = &driver["devices"][1];
    assert_eq!(second["name"], "Fake GPU 1");
    assert_eq!(second["uuid"], "GPU-11111111-1111-1111-1111-111111111111");
    assert_eq!(second["pci"], "0000:01:00.0");
    assert_eq!(second["memory"], 80_u64 << 30);
    assert_eq!(
        (&second["mig"], &second["compute_capability_major"]),
        (&json!(false), &json!(9))
    );
    assert_eq!(second["multiprocessors"], 132);
    assert!(second["errors"].is_null(), "{second}");
}

#[test]
fn a_part_of_a_gpu_is_named_by_its_own_uuid() {
    let driver = Machine::cuda(&[]).context("exit 3", &[("FAKE_CUDA", "is partitioned")])["cuda_driver"].clone();
    assert_eq!(driver["devices"][0]["uuid"], "MIG-a0a0a0a0-a0a0-a0a0-a0a0-a0a0a0a0a0a0");
    assert_eq!(driver["devices"][0]["mig"], true);
}

#[test]
fn what_the_cuda_driver_refuses_or_lacks_is_said() {
    let said = |does: &str| Machine::cuda(&[]).context("exit 3", &[("FAKE_CUDA", does)])["cuda_driver"].clone();
    assert_eq!(said("has none")["error"], "cuInit: CUDA_ERROR_NO_DEVICE (100)");
    assert_eq!(said("fails in a new way")["error"], "cuInit: error 4711");
    let lost = said("loses one");
    assert_eq!(
        lost["devices"][0]["error"],
        "cuDeviceGet: CUDA_ERROR_INVALID_DEVICE (101)"
    );
    assert_eq!(lost["devices"][1]["name"], "Fake GPU 1");
    let old = Machine::cuda(&["-DOLD"]).context("exit 3", &[])["cuda_driver"].clone();
    assert_eq!(old["devices"][0]["uuid"], "GPU-10101010-1010-1010-1010-101010101010");
    assert_eq!(old["peer_access"], json!([]));
}

#[test]
fn a_cuda_driver_that_hangs_or_crashes_is_named_and_costs_nothing_else() {
    let machine = Machine::nvml(&[]).with("libcuda.so.1", CUDA, &[]);
    let context = machine.context("sleep 1; exit 3", &[("FAKE_CUDA", "hangs")]);
    assert!(unavailable(&context, "CUDA driver").contains("it hangs"), "{context}");
    the_first_goes_on(&context);
    let context = Machine::cuda(&[]).context("exit 3", &[("FAKE_CUDA", "crashes")]);
    assert!(unavailable(&context, "CUDA driver").contains("SIGSEGV"), "{context}");
}
