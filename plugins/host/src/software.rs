//! Which version of which software was there, as the evidence tells it.
//!
//! "This library of that version" is what people most often know about a crash. Versions stand in the context that a
//! collector wrote, in the names of binaries, in GPU core dumps and in what libraries print; each is told with the
//! fact that says so.

use std::collections::BTreeSet;

use serde_json::Value;
use whycrash_evidence::Evidence;
use whycrash_evidence::model::EventPayload;

/// Versions that are told of one report.
const MOST: usize = 10_000;

/// A piece of software.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub(crate) struct Software {
    pub(crate) name: String,
    pub(crate) version: String,
    /// Path of the fact that says so.
    pub(crate) fact: String,
}

/// Everything whose version the evidence tells, by name; each version of each name once.
pub(crate) fn software(evidence: &Evidence) -> Vec<Software> {
    let told = packages(evidence)
        .chain(machine(evidence))
        .chain(binaries(evidence))
        .chain(printed(evidence))
        .chain(drivers(evidence));
    let mut seen = BTreeSet::new();
    let once = told.filter(|one| seen.insert((one.name.clone(), one.version.clone())));
    let mut all: Vec<Software> = once.take(MOST).collect();
    all.sort();
    all
}

fn packages(evidence: &Evidence) -> impl Iterator<Item = Software> {
    let packages = evidence.context.get("packages").and_then(Value::as_object);
    packages.into_iter().flatten().filter_map(|(name, version)| {
        Some(Software {
            name: package_name(name),
            version: version.as_str()?.to_owned(),
            fact: format!("context.packages.{name}"),
        })
    })
}

/// What a collector says of the machine and the interpreter.
fn machine(evidence: &Evidence) -> impl Iterator<Item = Software> {
    let members = [
        ("nvidia-driver", &["driver"][..]),
        ("cuda", &["cuda"]),
        ("linux", &["kernel"]),
        ("python", &["python", "version"]),
    ];
    members.into_iter().filter_map(|(name, path)| {
        let (first, rest) = path.split_first()?;
        let value = rest
            .iter()
            .try_fold(evidence.context.get(*first)?, |value, member| value.get(member));
        Some(Software {
            name: name.to_owned(),
            version: value?.as_str()?.to_owned(),
            fact: format!("context.{}", path.join(".")),
        })
    })
}

fn binaries(evidence: &Evidence) -> impl Iterator<Item = Software> {
    evidence.modules.iter().enumerate().filter_map(|(index, module)| {
        let (name, version) = of_binary(&module.path)?;
        Some(Software {
            name,
            version,
            fact: format!("modules.{index}.path"),
        })
    })
}

/// What NCCL prints of itself where it fails.
fn printed(evidence: &Evidence) -> impl Iterator<Item = Software> {
    evidence
        .timeline
        .iter()
        .enumerate()
        .filter_map(|(index, event)| match &event.payload {
            EventPayload::NcclError(error) => Some(Software {
                name: "nccl".to_owned(),
                version: error.version.clone()?,
                fact: format!("timeline.{index}.detail.version"),
            }),
            _ => None,
        })
}

fn drivers(evidence: &Evidence) -> impl Iterator<Item = Software> {
    evidence.gpu_cores.iter().enumerate().filter_map(|(index, core)| {
        Some(Software {
            name: "nvidia-driver".to_owned(),
            version: core.driver.clone()?,
            fact: format!("gpu_cores.{index}.driver"),
        })
    })
}

/// `nvidia-nccl-cu12` is NCCL, whoever packed it.
fn package_name(name: &str) -> String {
    let name = name.to_ascii_lowercase().replace('_', "-");
    let of_nvidia = name
        .strip_prefix("nvidia-")
        .and_then(|rest| rest.rsplit_once("-cu"))
        .filter(|(_, cuda)| !cuda.is_empty() && cuda.bytes().all(|byte| byte.is_ascii_digit()))
        .map(|(rest, _)| rest.to_owned());
    of_nvidia.unwrap_or(name)
}

/// Name and version by the name of a shared library: `libnccl.so.2.21.5` (ld.so(8)), or `libc-2.31.so`.
fn of_binary(path: &str) -> Option<(String, String)> {
    let file = path.rsplit('/').next()?;
    let file = file.strip_prefix("lib").unwrap_or(file);
    let (name, version) = match file.split_once(".so.") {
        Some(named) => named,
        None => file.strip_suffix(".so")?.rsplit_once('-')?,
    };
    let is_version = version.starts_with(|c: char| c.is_ascii_digit())
        && version
            .split('.')
            .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    (is_version && !name.is_empty()).then(|| (name.to_ascii_lowercase().replace('_', "-"), version.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binaries_tell_their_version_by_their_name() {
        for (path, told) in [
            ("/usr/lib/x86_64-linux-gnu/libnccl.so.2.21.5", Some(("nccl", "2.21.5"))),
            ("/opt/cuda/libcudart.so.12.4.127", Some(("cudart", "12.4.127"))),
            ("/lib/x86_64-linux-gnu/libc-2.31.so", Some(("c", "2.31"))),
            ("libcuda.so.575.57.08", Some(("cuda", "575.57.08"))),
            ("/lib/libc.so.6", Some(("c", "6"))),
            ("/usr/lib/libfoo.so", None),
            ("/usr/lib/libfoo-bar.so", None),
            ("/x/libtorch_cuda.so", None),
            ("/x/.so.1", None),
            ("/x/lib.so.", None),
            ("", None),
        ] {
            let told = told.map(|(name, version)| (name.to_owned(), version.to_owned()));
            assert_eq!(of_binary(path), told, "{path}");
        }
    }

    #[test]
    fn packages_of_nvidias_are_called_what_is_in_them() {
        assert_eq!(package_name("nvidia-nccl-cu12"), "nccl");
        assert_eq!(package_name("nvidia_cuda_runtime_cu12"), "cuda-runtime");
        assert_eq!(package_name("nvidia-ml-py"), "nvidia-ml-py");
        assert_eq!(package_name("Torch"), "torch");
    }
}
