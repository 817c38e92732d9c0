//! The parts of the environment and the command line that say something about a crash, without secrets.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsString;

use serde_json::{Map, Value};

use crate::scrub::{self, REMOVED, is_secret_name};

/// What the names of variables worth keeping begin with.
const KEPT: &[&str] = &[
    "CUDA_",
    "CUBLAS",
    "CUDNN",
    "NCCL_",
    "NVIDIA_",
    "NVTE_",
    "NV_",
    "TORCH",
    "PYTORCH",
    "GLOO_",
    "TP_SOCKET",
    "OMP_",
    "KMP_",
    "GOMP_",
    "MKL_",
    "OPENBLAS_",
    "NUMEXPR_",
    "LD_",
    "MALLOC_",
    "GLIBC_TUNABLES",
    "PYTHON",
    "VIRTUAL_ENV",
    "CONDA_",
    "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE",
    "LOCAL_WORLD_SIZE",
    "GROUP_RANK",
    "ROLE_",
    "MASTER_",
    "SLURM_",
    "PMI_",
    "PMIX_",
    "OMPI_",
    "MV2_COMM_",
    "LSB_JOB",
    "PBS_JOB",
    "PBS_ARRAY_INDEX",
    "KUBERNETES_SERVICE_HOST",
    "JOB_NAME",
    "JOB_COMPLETION_INDEX",
    "POD_NAME",
    "NODE_NAME",
    "RAY_JOB_ID",
    "RAY_NODE_ID",
    "RAY_TASK_ID",
    "SKYPILOT_",
    "ACCELERATE_",
    "DEEPSPEED_",
    "DS_",
    "HF_",
    "TRANSFORMERS_",
    "TOKENIZERS_",
    "JAX_",
    "XLA_",
    "TF_",
    "TRITON_",
    "HIP_",
    "HSA_",
    "ROCR_",
    "RCCL_",
    "UCX_",
    "FI_",
    "ASAN_",
    "UBSAN_",
    "TSAN_",
    "WHYCRASH_",
];
/// Variables by their names.
pub type Variables = BTreeMap<String, String>;

/// Our own, which the job has inherited.
pub fn own() -> Variables {
    let text = |text: OsString| text.to_string_lossy().into_owned();
    std::env::vars_os()
        .map(|(name, value)| (text(name), text(value)))
        .collect()
}

/// Those of a process that lives; none where they may not be looked at.
pub fn of_process(pid: u32) -> Variables {
    let bytes = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let entries = bytes.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    let pair = |entry: Cow<'_, str>| {
        entry
            .split_once('=')
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
    };
    entries.filter_map(pair).collect()
}

/// The variables worth keeping, in the order of their names.
pub fn kept(variables: &Variables) -> Map<String, Value> {
    let kept = variables
        .iter()
        .filter(|(name, _)| KEPT.iter().any(|kept| name.starts_with(kept)));
    kept.map(|(name, value)| (name.clone(), Value::String(clean(name, value))))
        .collect()
}

/// The command line with the values of secret options removed.
pub fn command(words: &[String]) -> Vec<String> {
    let mut clean_words = Vec::new();
    let mut secret_follows = false;
    for word in words {
        let option = word.starts_with('-');
        clean_words.push(match secret_follows && !option {
            true => REMOVED.to_owned(),
            false => scrub::line(word),
        });
        secret_follows = option && !word.contains('=') && is_secret_name(word);
    }
    clean_words
}

fn clean(name: &str, value: &str) -> String {
    if is_secret_name(name) {
        REMOVED.to_owned()
    } else {
        scrub::line(value)
    }
}

#[cfg(test)]
mod tests {
    use super::{clean, command};

    #[test]
    fn secrets_are_removed() {
        let cases = [
            ("HF_TOKEN", "hf_abc", "[removed]"),
            ("SLURM_AUTH", "x", "[removed]"),
            ("TOKENIZERS_PARALLELISM", "false", "false"),
            ("NCCL_DEBUG", "INFO", "INFO"),
            (
                "MASTER_ADDR",
                "tcp://me:pw@node1:29500/x",
                "tcp://[removed]@node1:29500/x",
            ),
        ];
        for (name, value, expected) in cases {
            assert_eq!(clean(name, value), expected, "{name}={value}");
        }
    }

    #[test]
    fn secret_options_are_removed() {
        let words = [
            "train",
            "--api-key",
            "abc",
            "--lr",
            "3",
            "--hf-token=xyz",
            "--password",
            "--next",
        ];
        let shown = command(&words.map(String::from));
        assert_eq!(
            shown,
            [
                "train",
                "--api-key",
                "[removed]",
                "--lr",
                "3",
                "--hf-token=[removed]",
                "--password",
                "--next"
            ]
        );
    }
}
