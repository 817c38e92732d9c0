//! The same library twice in the process that crashed inside of it.
//!
//! Two copies alone prove little: `PyTorch` brings libraries that the system has as well, and mostly that goes well. It
//! is the place of the crash that makes them count.

use whycrash_plugin::{Finding, Frame, Module, Report};

/// Innermost native frames of the crashed thread, one of which has to be in the library.
const NEAR: usize = 8;
/// Modules that are looked at.
const MODULES: u32 = 4096;

/// Libraries of which one process can have one, the page for two of them, and what goes wrong then.
const LIBRARIES: [(&[&str], &str, &str); 5] = [
    (
        &["nccl"],
        "seg-libnccl",
        "Whoever linked against one and calls into the other passes structures of another layout",
    ),
    (
        &["cudnn"],
        "abi-cudnn-mismatch",
        "The parts of cuDNN work only with those of their own release",
    ),
    (
        &[
            "cudart",
            "cublas",
            "cusparse",
            "cusolver",
            "cufft",
            "nvJitLink",
            "nvrtc",
        ],
        "abi-nvjitlink-shadowed",
        "One came with PyTorch and the other from another CUDA toolkit",
    ),
    (
        &["gomp", "iomp5", "omp"],
        "abi-openmp-twice",
        "Each runs threads of its own and knows nothing of the other's",
    ),
    (
        &["stdc++", "protobuf"],
        "abi-import-order-segv",
        "Symbols of one are used with objects of the other",
    ),
];

pub fn rule(report: &Report) -> Option<Finding> {
    let walk = report.walks().take_while(|walk| walk.thread.crashed).next()?;
    let native = walk.frames().filter(|(_, frame)| frame.kind == "native").take(NEAR);
    let frames: Vec<(u32, Frame)> = native.collect();
    let modules = report.modules(0, MODULES);
    let own = |(_, module): &(usize, &Module)| module.artifact == walk.thread.artifact;
    for (index, frame) in &frames {
        let Some((family, cause, why)) = frame.module.as_deref().and_then(family) else {
            continue;
        };
        let numbered = modules.iter().enumerate().filter(own);
        let copies = of_different_places(numbered.filter(|(_, module)| is_of(&module.path, family)));
        if copies.len() < 2 {
            continue;
        }
        let paths: Vec<&str> = copies.iter().map(|(_, module)| module.path.as_str()).collect();
        let finding = Finding::new(cause, 0.93)
            .titled(format!("Two copies of lib{} in one process", stem(paths[0])))
            .because(format!(
                "The process crashed in {}, and has mapped {}. {why}.",
                frame.module.as_deref().unwrap_or_default(),
                paths.join(" and ")
            ))
            .cite(walk.cite(*index, frame));
        let facts = copies
            .iter()
            .filter_map(|(place, _)| report.cite_fact(&format!("modules.{place}.path")));
        return Some(finding.cite_all(facts));
    }
    None
}

/// The kind of library that a path is of.
fn family(path: &str) -> Option<(&'static [&'static str], &'static str, &'static str)> {
    LIBRARIES.into_iter().find(|(names, _, _)| is_of(path, names))
}

fn is_of(path: &str, names: &[&str]) -> bool {
    let stem = stem(path);
    names.iter().any(|name| match *name {
        // Runtimes are whole names; the others have parts such as libcudnn_ops and libcublasLt.
        "omp" | "gomp" | "iomp5" | "stdc++" | "protobuf" | "nccl" => stem == *name,
        _ => stem.starts_with(name),
    })
}

/// The name of a library: `/opt/libgomp-a34b3233.so.1` is `gomp`.
fn stem(path: &str) -> &str {
    let file = path.rsplit('/').next().unwrap_or(path);
    let file = file.strip_prefix("lib").unwrap_or(file);
    let name = file.split_once(".so").map_or(file, |(name, _)| name);
    name.split('-').next().unwrap_or(name)
}

/// One of each library and folder, as long as one library is there from two of them. Different runtimes of OpenMP are copies
/// of one another as well.
fn of_different_places<'a>(modules: impl Iterator<Item = (usize, &'a Module)>) -> Vec<(usize, &'a Module)> {
    let mut kept: Vec<(usize, &Module)> = Vec::new();
    for (place, module) in modules {
        let rivals = |(_, other): &(usize, &Module)| is_copy(&other.path, &module.path);
        if kept.is_empty() || kept.iter().any(rivals) {
            kept.push((place, module));
        }
    }
    kept
}

/// Whether two paths are two files with the code of one library.
fn is_copy(one: &str, other: &str) -> bool {
    let are_openmp = ["gomp", "iomp5", "omp"].contains(&stem(one)) && ["gomp", "iomp5", "omp"].contains(&stem(other));
    one != other && (stem(one) == stem(other) || are_openmp)
}
