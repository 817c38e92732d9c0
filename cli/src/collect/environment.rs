//! The parts of the environment and the command line that say something about a crash, without secrets.

use std::borrow::Cow;
use std::collections::BTreeMap;
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
/// How tokens of services begin that many jobs use.
const TOKENS: &[&str] = &[
    "hf_",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "sk-",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "ASIA",
    "AIza",
    "eyJ",
    "ya29.",
    "pypi-",
    "npm_",
    "whycrash_",
    "wandb_",
    "nvapi-",
];
/// Stands where a secret was.
const REMOVED: &str = "[removed]";

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
            false => text(word),
        });
        secret_follows = option && !word.contains('=') && is_secret(word);
    }
    clean_words
}

/// Text such as a shell's, without the secrets in it: what stands around them stays.
fn text(text: &str) -> String {
    let ends = |c: char| c.is_whitespace() || ";&|'\"()".contains(c);
    let mut secret_follows = false;
    let mut clean_text = String::new();
    for part in text.split_inclusive(ends) {
        let token = part.trim_end_matches(ends);
        // What stands before the first `=` of an address is no name.
        let before_address = token.split("://").next().unwrap_or_default();
        let named = token
            .split_once('=')
            .filter(|(name, _)| name.len() < before_address.len() || !token.contains("://"));
        let (name, value) = named.map_or((token, None), |(name, value)| (name, Some(value)));
        let option = token.starts_with('-');
        match value {
            _ if secret_follows && !option && !token.is_empty() => clean_text.push_str(REMOVED),
            Some(value) => clean_text.push_str(&format!("{name}={}", clean(name, value))),
            None => clean_text.push_str(&clean("", token)),
        }
        if !token.is_empty() {
            let bearer = ["bearer", "basic"].contains(&token.to_lowercase().as_str());
            secret_follows = bearer || (option && value.is_none() && is_secret(token));
        }
        clean_text.push_str(part.get(token.len()..).unwrap_or_default());
    }
    clean_text
}

fn clean(name: &str, value: &str) -> String {
    if is_secret(name) || is_token(value) {
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

/// Whether a value looks like what services hand out as tokens, whatever it is called.
fn is_token(value: &str) -> bool {
    const LONG: usize = 16;
    value.len() >= LONG
        && TOKENS.iter().any(|start| value.starts_with(start))
        && value
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// `scheme://user:password@host/path?query` without user, password and the values of secret members of the query.
fn without_password(value: &str) -> String {
    let Some((scheme, rest)) = value.split_once("://") else {
        return value.to_owned();
    };
    let host_part = rest.split(['/', '?']).next().unwrap_or_default();
    let after = match host_part.rsplit_once('@') {
        Some((user, _)) => format!("{REMOVED}{}", rest.get(user.len()..).unwrap_or_default()),
        None => rest.to_owned(),
    };
    let Some((path, query)) = after.split_once('?') else {
        return format!("{scheme}://{after}");
    };
    let members = query.split('&').map(|member| match member.split_once('=') {
        Some((name, value)) => format!("{name}={}", clean_member(name, value)),
        None => member.to_owned(),
    });
    format!("{scheme}://{path}?{}", members.collect::<Vec<_>>().join("&"))
}

/// In addresses, secrets have names of their own: signatures, and keys of any kind.
fn clean_member<'v>(name: &str, value: &'v str) -> &'v str {
    let name_of_address = name.to_uppercase();
    let secret = is_secret(name) || ["SIG", "KEY"].iter().any(|word| name_of_address.contains(word));
    if secret || is_token(value) { REMOVED } else { value }
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
    fn what_stands_around_a_secret_stays() {
        let cases = [
            (
                "export API_TOKEN=x; python train.py --lr 3",
                "export API_TOKEN=[removed]; python train.py --lr 3",
            ),
            (
                "wget --password hunter2 https://a.b/c",
                "wget --password [removed] https://a.b/c",
            ),
            (
                "curl -H 'Authorization: Bearer abc.def' https://h/x?sig=1&n=2",
                "curl -H 'Authorization: Bearer [removed]' https://h/x?sig=[removed]&n=2",
            ),
            (
                "git clone https://me:pw@host/x.git",
                "git clone https://[removed]@host/x.git",
            ),
            ("login hf_abcdefghijklmnopq now", "login [removed] now"),
            ("a 'quoted  text' | b && c", "a 'quoted  text' | b && c"),
        ];
        for (before, after) in cases {
            assert_eq!(super::text(before), after);
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
