//! Records of runs of Weights & Biases.
#![no_main]

use libfuzzer_sys::fuzz_target;
use whycrash_evidence::readers::Input;
use whycrash_evidence::readers::series::wandb;
use whycrash_fuzz::{bounded, check, check_text, limits, with_artifact};

fuzz_target!(|bytes: &[u8]| {
    with_artifact("run-a.wandb", bytes, |artifact| {
        let limits = limits();
        let input = Input::open(artifact, &limits).expect("a regular file opens");
        let reading = bounded((32 << 20) + 128 * bytes.len(), || wandb::read(&input, &limits));
        check_text(&reading, artifact, &limits);
        check(reading, bytes.len(), &limits);
    });
});
