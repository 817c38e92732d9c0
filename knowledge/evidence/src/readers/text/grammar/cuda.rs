//! Failed calls into CUDA, HIP and their libraries, and assertions in kernels.
//!
//! What torch prints behind the error's text (`CUDA kernel errors might be …`, `Compile with TORCH_USE_CUDA_DSA …`)
//! differs by version and says nothing.

use super::{Parts, cuda_log};
use crate::model::{CudaError, DeviceAssert, EventPayload};
use crate::readers::text::line::Line;
use crate::readers::text::rules::Rule;
use crate::readers::text::sink::Sink;
use crate::readers::text::{Block, regex};

/// A failed call.
pub const RULE: Rule = Rule {
    literals: &[
        "CUDA error: ",
        "HIP error: ",
        "cuda runtime error (",
        "THCudaCheck FAIL",
        "CUDA driver error: ",
        "CUBLAS_STATUS_",
        "CUDNN_STATUS_",
        "CUSOLVER_STATUS_",
        "CUSPARSE_STATUS_",
        "CUFFT_",
        "CURAND_STATUS_",
        "NVRTC_ERROR_",
        "nvrtc: error:",
        "unable to find an engine to execute this computation",
        "Unable to find a valid cuDNN algorithm",
        "CUDA failure ",
        "Cannot re-initialize CUDA in forked subprocess",
        "CUDA error (",
        "CUDA Error: ",
        "CUDA error at ",
        "CUDA Error at ",
        "cudaError",
        "CUDA_ERROR_",
        "Triton Error [CUDA]: ",
        " in file /",
        "GPUassert: ",
        "Cuda Runtime (",
        "Memory access fault by GPU node",
    ],
    read,
};

/// An assertion in a kernel.
pub const ASSERT_RULE: Rule = Rule {
    literals: &["], thread: ["],
    read: read_assert,
};

fn read(line: &Line, sink: &mut Sink) -> Option<Box<dyn Block>> {
    if line.is_quoted() || cuda_log::is_line(line.text) {
        return None;
    }
    let error = library(line.text)
        .or_else(|| runtime(line.text))
        .or_else(|| old(line.text))
        .or_else(|| other(line.text))
        .or_else(|| wrapped(line.text))?;
    sink.event(
        EventPayload::CudaError(error),
        &line.origin,
        [line.number, line.number],
        line.text,
    );
    None
}

/// Number, name and text of the runtime's errors since CUDA 10.1 (`cudaGetErrorString`).
const ERRORS: [(u32, &str, &str); 64] = [
    (1, "cudaErrorInvalidValue", "invalid argument"),
    (2, "cudaErrorMemoryAllocation", "out of memory"),
    (3, "cudaErrorInitializationError", "initialization error"),
    (4, "cudaErrorCudartUnloading", "driver shutting down"),
    (9, "cudaErrorInvalidConfiguration", "invalid configuration argument"),
    (13, "cudaErrorInvalidSymbol", "invalid device symbol"),
    (34, "cudaErrorStubLibrary", "CUDA driver is a stub library"),
    (
        35,
        "cudaErrorInsufficientDriver",
        "CUDA driver version is insufficient for CUDA runtime version",
    ),
    (
        36,
        "cudaErrorCallRequiresNewerDriver",
        "API call is not supported in the installed CUDA driver",
    ),
    (
        46,
        "cudaErrorDevicesUnavailable",
        "CUDA-capable device(s) is/are busy or unavailable",
    ),
    (
        46,
        "cudaErrorDevicesUnavailable",
        "all CUDA-capable devices are busy or unavailable",
    ),
    (
        53,
        "cudaErrorPriorLaunchFailure",
        "unspecified launch failure in prior launch",
    ),
    (98, "cudaErrorInvalidDeviceFunction", "invalid device function"),
    (100, "cudaErrorNoDevice", "no CUDA-capable device is detected"),
    (101, "cudaErrorInvalidDevice", "invalid device ordinal"),
    (200, "cudaErrorInvalidKernelImage", "device kernel image is invalid"),
    (201, "cudaErrorDeviceUninitialized", "invalid device context"),
    (
        209,
        "cudaErrorNoKernelImageForDevice",
        "no kernel image is available for execution on the device",
    ),
    (214, "cudaErrorECCUncorrectable", "uncorrectable ECC error encountered"),
    (
        216,
        "cudaErrorDeviceAlreadyInUse",
        "exclusive-thread device already in use by a different thread",
    ),
    (
        217,
        "cudaErrorPeerAccessUnsupported",
        "peer access is not supported between these two devices",
    ),
    (218, "cudaErrorInvalidPtx", "a PTX JIT compilation failed"),
    (
        220,
        "cudaErrorNvlinkUncorrectable",
        "uncorrectable NVLink error detected during the execution",
    ),
    (
        221,
        "cudaErrorJitCompilerNotFound",
        "PTX JIT compiler library not found",
    ),
    (
        222,
        "cudaErrorUnsupportedPtxVersion",
        "the provided PTX was compiled with an unsupported toolchain",
    ),
    (
        226,
        "cudaErrorContained",
        "Invalid access of peer GPU memory over nvlink or a hardware error",
    ),
    (
        302,
        "cudaErrorSharedObjectSymbolNotFound",
        "shared object symbol not found",
    ),
    (
        303,
        "cudaErrorSharedObjectInitFailed",
        "shared object initialization failed",
    ),
    (
        304,
        "cudaErrorOperatingSystem",
        "OS call failed or operation not supported on this OS",
    ),
    (400, "cudaErrorInvalidResourceHandle", "invalid resource handle"),
    (
        700,
        "cudaErrorIllegalAddress",
        "an illegal memory access was encountered",
    ),
    (
        701,
        "cudaErrorLaunchOutOfResources",
        "too many resources requested for launch",
    ),
    (702, "cudaErrorLaunchTimeout", "the launch timed out and was terminated"),
    (
        704,
        "cudaErrorPeerAccessAlreadyEnabled",
        "peer access is already enabled",
    ),
    (705, "cudaErrorPeerAccessNotEnabled", "peer access has not been enabled"),
    (709, "cudaErrorContextIsDestroyed", "context is destroyed"),
    (710, "cudaErrorAssert", "device-side assert triggered"),
    (711, "cudaErrorTooManyPeers", "peer mapping resources exhausted"),
    (714, "cudaErrorHardwareStackError", "hardware stack error"),
    (
        715,
        "cudaErrorIllegalInstruction",
        "an illegal instruction was encountered",
    ),
    (716, "cudaErrorMisalignedAddress", "misaligned address"),
    (
        717,
        "cudaErrorInvalidAddressSpace",
        "operation not supported on global/shared address space",
    ),
    (718, "cudaErrorInvalidPc", "invalid program counter"),
    (719, "cudaErrorLaunchFailure", "unspecified launch failure"),
    (
        720,
        "cudaErrorCooperativeLaunchTooLarge",
        "too many blocks in cooperative launch",
    ),
    (721, "cudaErrorTensorMemoryLeak", "tensor memory not completely freed"),
    (800, "cudaErrorNotPermitted", "operation not permitted"),
    (801, "cudaErrorNotSupported", "operation not supported"),
    (802, "cudaErrorSystemNotReady", "system not yet initialized"),
    (
        803,
        "cudaErrorSystemDriverMismatch",
        "system has unsupported display driver / cuda driver combination",
    ),
    (
        804,
        "cudaErrorCompatNotSupportedOnDevice",
        "forward compatibility was attempted on non supported HW",
    ),
    (
        900,
        "cudaErrorStreamCaptureUnsupported",
        "operation not permitted when stream is capturing",
    ),
    (
        901,
        "cudaErrorStreamCaptureInvalidated",
        "operation failed due to a previous error during capture",
    ),
    (
        902,
        "cudaErrorStreamCaptureMerge",
        "operation would result in a merge of separate capture sequences",
    ),
    (
        903,
        "cudaErrorStreamCaptureUnmatched",
        "capture was not initiated in this stream",
    ),
    (
        904,
        "cudaErrorStreamCaptureUnjoined",
        "capturing stream has unjoined work",
    ),
    (
        905,
        "cudaErrorStreamCaptureIsolation",
        "dependency created on uncaptured work in another stream",
    ),
    (
        906,
        "cudaErrorStreamCaptureImplicit",
        "operation would make the legacy stream depend on a capturing blocking stream",
    ),
    (
        907,
        "cudaErrorCapturedEvent",
        "operation not permitted on an event last recorded in a capturing stream",
    ),
    (
        908,
        "cudaErrorStreamCaptureWrongThread",
        "attempt to terminate a thread-local capture sequence from another thread",
    ),
    (909, "cudaErrorTimeout", "wait operation timed out"),
    (
        911,
        "cudaErrorExternalDevice",
        "an async error has occured in external entity outside of CUDA",
    ),
    (912, "cudaErrorInvalidClusterSize", "cluster misconfiguration"),
    (999, "cudaErrorUnknown", "unknown error"),
];

/// Errors after which the context is dead (CUDA runtime API, `cudaError`).
fn is_sticky(code: u32) -> bool {
    matches!(code, 214 | 220 | 226 | 700 | 702 | 710 | 714..=719 | 721)
}

fn by_text(api: &str, text: &str) -> CudaError {
    let text = text.trim().trim_end_matches('.');
    let known = ERRORS.iter().find(|(_, _, known)| text.eq_ignore_ascii_case(known));
    CudaError {
        api: api.to_owned(),
        code: known.map(|(code, ..)| *code),
        name: known.map(|(_, name, _)| (*name).to_owned()),
        message: text.to_owned(),
        sticky: known.is_some_and(|(code, ..)| is_sticky(*code)),
        ..CudaError::default()
    }
}

/// ``CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)` ``, `cuDNN error: CUDNN_STATUS_…`.
fn library(text: &str) -> Option<CudaError> {
    let parts = Parts::of(
        regex!(
            r"(?P<name>(?P<family>CUBLAS|CUDNN|CUSOLVER|CUSPARSE|CURAND)_STATUS_[A-Z_0-9]+|(?P<fft>CUFFT)_[A-Z_]+|(?P<rtc>NVRTC)_ERROR_[A-Z_]+)(?:.*?when calling `(?P<call>[^`]+)`)?"
        ),
        text,
    )?;
    let name = parts.text("name")?;
    let failed = !name.ends_with("_STATUS_SUCCESS") && name != "CUFFT_SUCCESS";
    let said = regex!(r"(?i)error|failed|exception|returned").is_match(text);
    let family = parts
        .text("family")
        .or_else(|| parts.text("fft"))
        .or_else(|| parts.text("rtc"))?;
    (failed && said).then(|| CudaError {
        api: family.to_lowercase(),
        message: name.clone(),
        name: Some(name),
        call: parts.text("call"),
        ..CudaError::default()
    })
}

/// `CUDA error: an illegal memory access was encountered`, `CUDA driver error: …`.
fn runtime(text: &str) -> Option<CudaError> {
    let parts = Parts::of(
        regex!(r"(?P<api>CUDA driver|CUDA|HIP) error: (?P<text>[^\n]+?)(?: \(.{0,80}\))?$"),
        text,
    )?;
    let api = match parts.text("api")?.as_str() {
        "HIP" => "hip",
        "CUDA driver" => "driver",
        _ => "cuda",
    };
    Some(by_text(api, &parts.text("text")?))
}

/// Before torch 1.5: `cuda runtime error (59) : device-side assert triggered at FILE:LINE`, `THCudaCheck FAIL …`. The
/// numbers are those before CUDA 10.1 renumbered them; the text tells the error.
fn old(text: &str) -> Option<CudaError> {
    let parts = Parts::of(
        regex!(
            r"cuda runtime error \(\d+\) : (?P<text>.+?)(?: at (?P<file>\S+):(?P<line>\d+))?$|THCudaCheck FAIL file=(?P<thc_file>\S+) line=(?P<thc_line>\d+) error=\d+ : (?P<thc_text>.+?)\s*$"
        ),
        text,
    )?;
    let message = parts.text("text").or_else(|| parts.text("thc_text"))?;
    Some(CudaError {
        file: parts.text("file").or_else(|| parts.text("thc_file")),
        line: parts.number("line").or_else(|| parts.number("thc_line")),
        ..by_text("cuda", &message)
    })
}

/// `CUDA failure 2: out of memory ; GPU=0 ; … ; file=F ; line=L ; expr=E` (ONNX Runtime), and what cuDNN finds no
/// way to do.
fn other(text: &str) -> Option<CudaError> {
    if let Some(parts) = Parts::of(
        regex!(r"CUDA failure (?P<code>\d+): (?P<text>[^;]+?) ;(?:.* expr=(?P<call>.+?)\s*$)?"),
        text,
    ) {
        return Some(CudaError {
            call: parts.text("call"),
            ..by_text("cuda", &parts.text("text")?)
        });
    }
    let parts = Parts::of(
        regex!(
            r"(?P<cudnn>(?:\w+ was unable|[Uu]nable) to find (?:an engine to execute this computation|a valid cuDNN algorithm to run convolution))|(?P<fork>Cannot re-initialize CUDA in forked subprocess)|(?P<nvrtc>nvrtc: error: .*)"
        ),
        text,
    )?;
    let (api, message) = [("cudnn", "cudnn"), ("cuda", "fork"), ("nvrtc", "nvrtc")]
        .into_iter()
        .find_map(|(api, name)| Some((api, parts.text(name)?)))?;
    Some(CudaError {
        api: api.to_owned(),
        message,
        ..CudaError::default()
    })
}

/// How libraries beside torch word a failed call:
///
/// * flash-attn: `CUDA error (csrc/flash_api.cpp:12): an illegal memory access was encountered`
/// * `TransformerEngine`: `x.cu:12 in function f: CUDA Error: …`; Triton: `Triton Error [CUDA]: …`
/// * bitsandbytes: `Error invalid device ordinal at line 12 in file /src/x.cu`; `TensorRT`: `Cuda Runtime (…)`
/// * `CuPy`, DALI, XLA, numba: `cudaErrorIllegalAddress: …`, `CUDA_ERROR_ILLEGAL_ADDRESS: …`
/// * NVIDIA's samples: `CUDA error at x.cu:12 code=700(cudaErrorIllegalAddress) "f()"`; many a program: `GPUassert: …
///   x.cu 12`
/// * AMD's runtime: `Memory access fault by GPU node-1 (Agent handle: 0x…) on address 0x…. Reason: …`
fn wrapped(text: &str) -> Option<CudaError> {
    if let Some(parts) = Parts::of(regex!(r"(?P<message>Memory access fault by GPU node.*)"), text) {
        return Some(CudaError {
            api: "hip".to_owned(),
            message: parts.text("message")?,
            sticky: true,
            ..CudaError::default()
        });
    }
    if let Some(parts) = Parts::of(
        regex!(
            r#"CUDA [Ee]rror at (?P<file>\S+?):(?P<line>\d+):? code=(?P<code>\d+)\((?P<name>\w+)\)(?: "(?P<call>[^"]*)")?"#
        ),
        text,
    ) {
        return Some(CudaError {
            file: parts.text("file"),
            line: parts.number("line"),
            call: parts.text("call"),
            ..by_name(&parts.text("name")?)?
        });
    }
    if let Some(parts) = Parts::of(
        regex!(
            r"CUDA error \((?P<file>[^():]+):(?P<line>\d+)\): (?P<a>.+?)\s*$|Triton Error \[CUDA\]: (?P<b>.+?)\s*$|\bCUDA Error: (?P<c>.+?)\s*$|^\s*Error (?P<d>[^:]+?) at line (?P<d_line>\d+) in file (?P<d_file>/\S+)|GPUassert: (?P<e>.+?) (?P<e_file>\S+\.cuh?) (?P<e_line>\d+)|Cuda Runtime \((?P<f>[^()]+)\)"
        ),
        text,
    ) {
        let message = ["a", "b", "c", "d", "e", "f"]
            .iter()
            .find_map(|name| parts.text(name))?;
        let error = by_text("cuda", &message);
        // The words around it are weak: only a text that CUDA has counts.
        return error.code.is_some().then(|| CudaError {
            file: ["file", "d_file", "e_file"].iter().find_map(|name| parts.text(name)),
            line: ["line", "d_line", "e_line"].iter().find_map(|name| parts.number(name)),
            ..error
        });
    }
    let parts = Parts::of(
        regex!(r"\b(?P<name>cudaError[A-Z]\w+|CUDA_ERROR_[A-Z_]+)\b(?::| \(\d+\)|\s*$)"),
        text,
    )?;
    by_name(&parts.text("name")?)
}

/// The driver's names of what the runtime has other names for (CUDA driver API, `CUresult`). `CUDA_ERROR_OUT_OF_MEMORY`
/// and `CUDA_ERROR_NO_DEVICE` are left out: `TensorFlow` prints them while it tries smaller pieces, or goes on without
/// a GPU.
const DRIVER_NAMES: [(&str, u32); 12] = [
    ("CUDA_ERROR_INVALID_VALUE", 1),
    ("CUDA_ERROR_NOT_INITIALIZED", 3),
    ("CUDA_ERROR_INVALID_DEVICE", 101),
    ("CUDA_ERROR_NO_BINARY_FOR_GPU", 209),
    ("CUDA_ERROR_ECC_UNCORRECTABLE", 214),
    ("CUDA_ERROR_ILLEGAL_ADDRESS", 700),
    ("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", 701),
    ("CUDA_ERROR_LAUNCH_TIMEOUT", 702),
    ("CUDA_ERROR_ASSERT", 710),
    ("CUDA_ERROR_ILLEGAL_INSTRUCTION", 715),
    ("CUDA_ERROR_MISALIGNED_ADDRESS", 716),
    ("CUDA_ERROR_LAUNCH_FAILED", 719),
];

fn by_name(name: &str) -> Option<CudaError> {
    let of_driver = DRIVER_NAMES.iter().find(|(driver, _)| *driver == name);
    let (_, _, text) = match of_driver {
        Some((_, code)) => ERRORS.iter().find(|(known, ..)| known == code),
        None => ERRORS.iter().find(|(_, known, _)| *known == name),
    }?;
    let api = if of_driver.is_some() { "driver" } else { "cuda" };
    Some(by_text(api, text))
}

/// One line per failing thread, up to thousands: equal ones are one event with a count.
fn read_assert(line: &Line, sink: &mut Sink) -> Option<Box<dyn Block>> {
    let assert = device_assert(line.text)?;
    sink.event(
        EventPayload::DeviceAssert(assert),
        &line.origin,
        [line.number; 2],
        line.text,
    );
    None
}

fn device_assert(text: &str) -> Option<DeviceAssert> {
    let parts = Parts::of(
        regex!(
            r"^\s*(?P<file>.+?):(?P<line>\d+): (?P<function>.+?): block: \[(?P<block>\d+,\s?\d+,\s?\d+)\], thread: \[(?P<thread>\d+,\s?\d+,\s?\d+)\] Assertion `(?P<expression>.*)` failed\.?\s*$"
        ),
        text,
    )?;
    Some(DeviceAssert {
        file: parts.text("file")?,
        line: parts.number("line")?,
        function: parts.text("function")?,
        expression: parts.text("expression")?,
        block: parts.triple("block")?,
        thread: parts.triple("thread")?,
        count: 1,
    })
}
