//! The parts of the environment and the command line that say something about a crash, without secrets.

use std::ffi::OsString;

use serde_json::{Map, Value};

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
    "OMPI_",
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
/// Words in the name of something nobody else should read.
const SECRET: &[&str] = &[
    "TOKEN",
    "SECRET",
    "PASSW",
    "PASSPHRASE",
    "CREDENTIAL",
    "APIKEY",
    "API_KEY",
    "ACCESS_KEY",
    "AUTH",
    "PRIVATE",
];
/// Stands where a secret was.
const REMOVED: &str = "[removed]";

/// The job's variables worth keeping, in the order of their names.
pub fn kept() -> Map<String, Value> {
    let mut variables: Vec<_> = std::env::vars_os()
        .map(|(name, value)| {
            (
                name.to_string_lossy().into_owned(),
                value.to_string_lossy().into_owned(),
            )
        })
        .filter(|(name, _)| KEPT.iter().any(|kept| name.starts_with(kept)))
        .collect();
    variables.sort();
    variables
        .into_iter()
        .map(|(name, value)| (name.clone(), Value::String(clean(&name, &value))))
        .collect()
}

/// The command line with the values of secret options removed.
pub fn command(words: &[OsString]) -> Vec<String> {
    let mut clean_words = Vec::new();
    let mut secret_follows = false;
    for word in words.iter().map(|word| word.to_string_lossy()) {
        let option = word.starts_with('-');
        let (name, value) = word
            .split_once('=')
            .map_or((&*word, None), |(name, value)| (name, Some(value)));
        let shown = match value {
            _ if secret_follows && !option => REMOVED.to_owned(),
            Some(value) => format!("{name}={}", clean(name, value)),
            None => without_password(&word),
        };
        secret_follows = option && value.is_none() && is_secret(name);
        clean_words.push(shown);
    }
    clean_words
}

fn clean(name: &str, value: &str) -> String {
    if is_secret(name) {
        REMOVED.to_owned()
    } else {
        without_password(value)
    }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_uppercase().replace('-', "_");
    // `TOKENIZERS_PARALLELISM` is no secret, and a cause of hangs.
    !name.starts_with("TOKENIZERS_") && SECRET.iter().any(|word| name.contains(word))
}

/// `scheme://user:password@host` without the password.
fn without_password(value: &str) -> String {
    let Some((scheme, rest)) = value.split_once("://") else {
        return value.to_owned();
    };
    let host_part = rest.split('/').next().unwrap_or_default();
    match host_part.rsplit_once('@') {
        Some((user, _)) => {
            let after = rest.get(user.len()..).unwrap_or_default();
            format!("{scheme}://{REMOVED}{after}")
        }
        None => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

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
        let shown = command(&words.map(OsString::from));
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
