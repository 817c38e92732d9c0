//! The errors of CUDA: their numbers, names and texts.

use crate::model::CudaError;

/// Number, name and text of the runtime's errors since CUDA 10.1 (`cudaGetErrorString`).
const ERRORS: [(u32, &str, &str); 67] = [
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
        401,
        "cudaErrorIllegalState",
        "the operation cannot be performed in the present state",
    ),
    (500, "cudaErrorSymbolNotFound", "named symbol not found"),
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
        805,
        "cudaErrorMpsConnectionFailed",
        "MPS client failed to connect to the MPS control daemon or the MPS server",
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

/// The error with this text, as far as it is one that CUDA has.
pub fn by_text(api: &str, text: &str) -> CudaError {
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

/// Numbers of errors whose texts are said of nothing but CUDA.
const UNIQUE: [u32; 33] = [
    34, 35, 36, 46, 53, 100, 209, 214, 216, 217, 218, 220, 221, 222, 226, 700, 701, 702, 704, 705, 710, 715, 717, 719,
    720, 803, 804, 805, 900, 902, 905, 906, 907,
];

/// The error whose text stands anywhere in a line, where nothing else is worded so.
pub fn by_unique_text(api: &str, line: &str) -> Option<CudaError> {
    let known = |(code, _, text): &&(u32, &str, &str)| UNIQUE.contains(code) && line.contains(text);
    ERRORS.iter().find(known).map(|(_, _, text)| by_text(api, text))
}

/// Numbers that counted before CUDA 10.1 and mean nothing since, and what they are now.
const RENUMBERED: [(u32, u32); 8] = [
    (30, 999),
    (38, 100),
    (39, 214),
    (48, 209),
    (59, 710),
    (73, 715),
    (74, 716),
    (77, 700),
];

/// The error with this number, as CUDA counts since 10.1 and HIP does as far as both have the error.
pub fn by_code(api: &str, number: u32) -> Option<CudaError> {
    let renumbered = RENUMBERED.iter().find(|(old, _)| *old == number);
    let number = renumbered.map_or(number, |(_, new)| *new);
    let (_, _, text) = ERRORS.iter().find(|(code, ..)| *code == number)?;
    Some(by_text(api, text))
}

/// The driver's names of what the runtime has other names for (CUDA driver API, `CUresult`). `CUDA_ERROR_OUT_OF_MEMORY`
/// and `CUDA_ERROR_NO_DEVICE` are left out: `TensorFlow` prints them while it tries smaller pieces, or goes on without
/// a GPU.
const DRIVER_NAMES: [(&str, u32); 19] = [
    ("CUDA_ERROR_INVALID_VALUE", 1),
    ("CUDA_ERROR_NOT_INITIALIZED", 3),
    ("CUDA_ERROR_DEVICE_UNAVAILABLE", 46),
    ("CUDA_ERROR_INVALID_DEVICE", 101),
    ("CUDA_ERROR_INVALID_IMAGE", 200),
    ("CUDA_ERROR_INVALID_PTX", 218),
    ("CUDA_ERROR_UNSUPPORTED_PTX_VERSION", 222),
    ("CUDA_ERROR_SYSTEM_NOT_READY", 802),
    ("CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", 803),
    ("CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", 804),
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

/// The error with this name, of the runtime's or the driver's.
pub fn by_name(name: &str) -> Option<CudaError> {
    let of_driver = DRIVER_NAMES.iter().find(|(driver, _)| *driver == name);
    let (_, _, text) = match of_driver {
        Some((_, code)) => ERRORS.iter().find(|(known, ..)| known == code),
        None => ERRORS.iter().find(|(_, known, _)| *known == name),
    }?;
    let api = if of_driver.is_some() { "driver" } else { "cuda" };
    Some(by_text(api, text))
}

/// What queues of AMD's runtime end with (`hsa_status_t`, `hsa.h` and `hsa_ext_amd.h`), and the errors of CUDA's that mean
/// the same.
const HSA_STATUSES: [(&str, u32); 5] = [
    ("HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION", 700),
    ("HSA_STATUS_ERROR_MEMORY_FAULT", 700),
    ("HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION", 715),
    ("HSA_STATUS_ERROR_INVALID_ISA", 209),
    ("HSA_STATUS_ERROR_EXCEPTION", 719),
];

/// What a status of AMD's runtime means, in CUDA's numbers.
pub fn by_hsa_status(name: &str) -> Option<CudaError> {
    let (_, code) = HSA_STATUSES.iter().find(|(known, _)| *known == name)?;
    by_code("hip", *code)
}
