//! Failed calls into CUDA, HIP and their libraries, and assertions in kernels.
//!
//! What torch prints behind the error's text (`CUDA kernel errors might be …`, `Compile with TORCH_USE_CUDA_DSA …`)
//! differs by version and says nothing.

use super::cuda_codes::{by_code, by_hsa_status, by_name, by_text, by_unique_text};
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
        "HIP error(",
        "MUSA ",
        " failed, ret[",
        "Cuda Error in ",
        "nvalid error code (",
        "(error-code ",
        "CU result: ",
        "ROCm error: ",
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
        "cublas runtime error : ",
        "CUDA failure ",
        "CUDA runtime error",
        "Test CUDA failure",
        "Cannot re-initialize CUDA in forked subprocess",
        "CUDA error (",
        "CUDA Error: ",
        "CUDA Error [",
        "CUDA RT",
        "bytes!! Result = ",
        "CUDA failed with error ",
        "GPU last error detected in file ",
        "std::bad_alloc: ",
        "Cuda Error: ",
        "CUDA error at ",
        "CUDA Error at ",
        "cudaError",
        "CUDA_ERROR_",
        "Triton Error [CUDA]: ",
        " in file /",
        "GPUassert: ",
        "Cuda Runtime (",
        "Memory access fault by GPU node",
        "aborting with error : HSA_STATUS_ERROR_",
        "hipError",
        "CUDA error ",
        "cuda error",
        "Cuda error",
        "CUDA_ERR",
        "CUDA runtime API error",
        "cudaMalloc",
        "cuMemAlloc",
        "error code = HIP:",
        "cuInit err: ",
        "] Call to cu",
        "call to cu",
        // Texts of errors that nothing else has.
        "an illegal memory access was encountered",
        "an illegal instruction was encountered",
        "unspecified launch failure",
        "device-side assert triggered",
        "no kernel image is available for execution on the device",
        "PTX was compiled with an unsupported toolchain",
        "CUDA driver version is insufficient for CUDA runtime version",
        "API call is not supported in the installed CUDA driver",
        "no CUDA-capable device is detected",
        "too many resources requested for launch",
        "the launch timed out and was terminated",
        "uncorrectable ECC error encountered",
        "misaligned address",
        "CUDA-capable device(s) is/are busy or unavailable",
        "CUDA-capable devices are busy or unavailable",
        "operation not permitted when stream is capturing",
        "MPS client failed to connect to the MPS control daemon",
        "peer access ",
        "PTX JIT ",
        "unspecified launch failure in prior launch",
        "CUDA driver is a stub library",
        "uncorrectable NVLink error",
        "Invalid access of peer GPU memory",
        "on global/shared address space",
        "too many blocks in cooperative launch",
        "unsupported display driver / cuda driver combination",
        "forward compatibility was attempted on non supported HW",
        "separate capture sequences",
        "uncaptured work in another stream",
        "capturing blocking stream",
        "last recorded in a capturing stream",
        "cudaGetDeviceCount",
    ],
    read,
};

/// An assertion in a kernel.
pub const ASSERT_RULE: Rule = Rule {
    literals: &["], thread: [", "Device-side assertion `"],
    read: read_assert,
};

fn read(line: &Line, sink: &mut Sink) -> Option<Box<dyn Block>> {
    // GROMACS folds what it says, and the number comes first.
    let is_folded = regex!(r"^#\d+ \((?:cuda|hip)Error\w+\): ").is_match(line.text);
    // What a program tells at that level it expected.
    let is_of_debugging = regex!(r"^DEBUG[:\s]").is_match(line.text);
    if line.is_quoted() && !is_folded || is_of_debugging || cuda_log::is_line(line.text) {
        return None;
    }
    let error = library(line.text)
        .or_else(|| runtime(line.text))
        .or_else(|| old(line.text))
        .or_else(|| other(line.text))
        .or_else(|| wrapped(line.text))
        .or_else(|| in_own_words(line))?;
    sink.event(
        EventPayload::CudaError(error),
        &line.origin,
        [line.number, line.number],
        line.text,
    );
    None
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

/// `CUDA error: an illegal memory access was encountered`, `CUDA driver error: …`, with the place in the source behind it
/// or not; `CUDA error: (77)`; `CUDA error: Illegal address in cuCtxSynchronize()` (Blender). ggml calls AMD's runtime
/// `ROCm`; that of Moore Threads, MUSA, has CUDA's texts and numbers.
fn runtime(text: &str) -> Option<CudaError> {
    let parts = Parts::of(
        regex!(
            r"(?:(?P<api>CUDA driver|CUDA|HIP|ROCm) error: |\bMUSA (?:runtime |driver |API )?error:? )(?P<text>[^\n]+?)(?: \(.{0,80}\)|: (?P<file>\S+\.(?:c|cc|cpp|cxx|cu|cuh|h|hpp)): ?(?P<line>\d+))?$"
        ),
        text,
    )?;
    let api = match parts.text("api").as_deref() {
        Some("HIP" | "ROCm") => "hip",
        Some("CUDA driver") => "driver",
        Some(_) => "cuda",
        None => "musa",
    };
    let said = parts.text("text")?;
    let numbered = || {
        let number = Parts::of(regex!(r"^\(?(?P<code>\d{1,3})(?:[,;:)\[]| ?at\b| in\b| \(|$)"), &said)?;
        by_code(api, number.number("code")?)
    };
    let error = by_text(api, &said);
    Some(CudaError {
        file: parts.text("file"),
        line: parts.number("line"),
        ..numbered().or_else(|| of_call(api, &said)).unwrap_or(error)
    })
}

/// An error in a call of the driver: by CUDA's text, or in the words of Blender's loader of the driver (cuew).
fn of_call(api: &str, said: &str) -> Option<CudaError> {
    const WORDS: [(&str, u32); 6] = [
        ("uncorrectable ecc error", 214),
        ("unsupported ptx version", 222),
        ("illegal address", 700),
        ("launch exceeded resources", 701),
        ("launch exceeded timeout", 702),
        ("launch failed", 719),
    ];
    let parts = Parts::of(
        regex!(r"^(?P<words>[A-Za-z ]+?) in (?P<call>(?:cu|hip|optix)\w*)"),
        said,
    )?;
    let words = parts.text("words")?;
    let known = WORDS.iter().find(|(known, _)| words.eq_ignore_ascii_case(known));
    let error = known.map_or_else(|| Some(by_text(api, &words)), |(_, code)| by_code(api, *code))?;
    error.code.is_some().then(|| CudaError {
        call: parts.text("call"),
        ..error
    })
}

/// Before torch 1.5: `cuda runtime error (59) : device-side assert triggered at FILE:LINE`, `THCudaCheck FAIL …`. The
/// numbers are those before CUDA 10.1 renumbered them; the text tells the error.
fn old(text: &str) -> Option<CudaError> {
    if let Some(error) = old_cublas(text) {
        return Some(error);
    }
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

/// As long as torch had THC: `cublas runtime error : resource allocation failed at FILE:LINE`. Each text stood for one status.
fn old_cublas(text: &str) -> Option<CudaError> {
    const STATUSES: [(&str, &str); 8] = [
        ("library not initialized", "CUBLAS_STATUS_NOT_INITIALIZED"),
        ("resource allocation failed", "CUBLAS_STATUS_ALLOC_FAILED"),
        (
            "an invalid numeric value was used as an argument",
            "CUBLAS_STATUS_INVALID_VALUE",
        ),
        (
            "an absent device architectural feature is required",
            "CUBLAS_STATUS_ARCH_MISMATCH",
        ),
        ("an access to GPU memory space failed", "CUBLAS_STATUS_MAPPING_ERROR"),
        ("the GPU program failed to execute", "CUBLAS_STATUS_EXECUTION_FAILED"),
        ("an internal operation failed", "CUBLAS_STATUS_INTERNAL_ERROR"),
        ("unknown error", "CUBLAS_STATUS_INTERNAL_ERROR"),
    ];
    let parts = Parts::of(
        regex!(r"cublas runtime error : (?P<text>.+?)(?: at (?P<file>\S+):(?P<line>\d+))?\s*$"),
        text,
    )?;
    let said = parts.text("text")?;
    let (_, name) = STATUSES.iter().find(|(words, _)| said.starts_with(words))?;
    Some(CudaError {
        api: "cublas".to_owned(),
        name: Some((*name).to_owned()),
        message: said,
        file: parts.text("file"),
        line: parts.number("line"),
        ..CudaError::default()
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
/// * `TransformerEngine`: `x.cu:12 in function f: CUDA Error: …`; Triton: `Triton Error [CUDA]: …`; Paddle: `Check
///   failed: … Cuda Error: …`
/// * bitsandbytes: `Error invalid device ordinal at line 12 in file /src/x.cu`; `TensorRT`: `Cuda Runtime (…)`
/// * `CuPy`, DALI, XLA, numba: `cudaErrorIllegalAddress: …`, `CUDA_ERROR_ILLEGAL_ADDRESS: …`
/// * NVIDIA's samples: `CUDA error at x.cu:12 code=700(cudaErrorIllegalAddress) "f()"`; many a program: `GPUassert: …
///   x.cu 12`; `HAPI`: `Fatal CUDA Error [101] … at x.cu:12`; `AMReX`: `GPU last error detected in file x.H line 12: …`
/// * Thrust, as the standard library's exception: `std::bad_alloc: out of memory`
/// * TensorRT-LLM and `FasterTransformer`: `CUDA runtime error in f(x): … (/src/x.cu:12)`, `CUDA runtime error: … /src/x.cu:12`;
///   NCCL's tests: `Test CUDA failure x.cu:12 '…'`
/// * AMD's runtime: `Memory access fault by GPU node-1 (Agent handle: 0x…) on address 0x…. Reason: …`,
///   `:0:rocdevice.cpp :2690: … Device::callbackQueue aborting with error : HSA_STATUS_ERROR_…: …`
fn wrapped(text: &str) -> Option<CudaError> {
    if let Some(parts) = Parts::of(
        regex!(r"aborting with error : (?P<message>(?P<status>HSA_STATUS_ERROR_\w+).*)"),
        text,
    ) {
        return Some(CudaError {
            message: parts.text("message")?.trim().to_owned(),
            ..by_hsa_status(&parts.text("status")?)?
        });
    }
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
            r"CUDA error \((?P<file>[^():]+):(?P<line>\d+)\): (?P<a>.+?)\s*$|Triton Error \[CUDA\]: (?P<b>.+?)\s*$|\bC(?:UDA|uda) (?:RT\d? )?Error: (?P<c>.+?)\s*$|^\s*Error (?P<d>[^:]+?) at line (?P<d_line>\d+) in file (?P<d_file>/\S+)|GPUassert: (?P<e>.+?) (?P<e_file>\S+\.\w{1,4}) (?P<e_line>\d+)|Cuda Runtime \((?P<f>[^()]+)\)|\bCUDA Error \[\d+\] (?P<g>.+?) at (?P<g_file>\S+):(?P<g_line>\d+)|\bGPU last error detected in file (?P<h_file>\S+) line (?P<h_line>\d+): (?P<h>.+?)(?: !!!|\s*$)|\bstd::bad_alloc: (?P<i>out of memory)|\bCUDA failed with error (?P<j>.+?)\s*$"
        ),
        text,
    ) {
        let message = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]
            .iter()
            .find_map(|name| parts.text(name))?;
        let error = by_text("cuda", &message);
        // The words around it are weak: only a text that CUDA has counts.
        return error.code.is_some().then(|| CudaError {
            file: ["file", "d_file", "e_file", "g_file", "h_file"]
                .iter()
                .find_map(|name| parts.text(name)),
            line: ["line", "d_line", "e_line", "g_line", "h_line"]
                .iter()
                .find_map(|name| parts.number(name)),
            ..error
        });
    }
    if let Some(error) = with_place_behind(text) {
        return Some(error);
    }
    let parts = Parts::of(
        regex!(r"\b(?P<name>cudaError[A-Z]\w+|CUDA_ERROR_[A-Z_]+)\b(?::| \(\d+\)|\s*$)"),
        text,
    )?;
    by_name(&parts.text("name")?)
}

/// What is worded like no other call, with the place in the source behind it: only a text that CUDA has counts.
fn with_place_behind(text: &str) -> Option<CudaError> {
    let parts = Parts::of(
        regex!(
            r"CUDA runtime error(?: in (?P<call>.+?\)))?: (?P<a>[^:(]+?)\s*(?:\(?(?P<file>/?[\w./-]+\.\w+):(?P<line>\d+)\)?\s*)?$|Test CUDA failure .*?'(?P<b>[^':]+)'\s*$"
        ),
        text,
    )?;
    let error = by_text("cuda", &parts.text("a").or_else(|| parts.text("b"))?);
    error.code.is_some().then(|| CudaError {
        call: parts.text("call"),
        file: parts.text("file"),
        line: parts.number("line"),
        ..error
    })
}

/// However a program words it: an error's name with its text (`DriverError(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal …")`,
/// `error( cudaErrorIllegalAddress): an illegal …`, `700 cudaErrorIllegalAddress an illegal …`), a text that nothing else
/// has (`what():  predictor.cu(322): unspecified launch failure`), one that others have too behind the words that make it
/// CUDA's (`CUDA error 2 out of memory`, `cudaMalloc failed: out of memory`), or the name that torch says to search for.
fn in_own_words(line: &Line) -> Option<CudaError> {
    let text = line.text;
    if text.contains("NCCL WARN ") {
        return None;
    }
    let named = || {
        let found = regex!(r"\b(?:cudaError[A-Z]\w+|hipError[A-Z]\w+|CUDA_ERROR_[A-Z_]+)\b").find(text)?;
        let error = by_name(&found.as_str().replacen("hipError", "cudaError", 1))?;
        let is_told = text.contains(&error.message) || text.starts_with("Search for `") || has_number(text, &error);
        is_told.then_some(error)
    };
    let is_cuda = regex!(r"(?i)\b(?:cuda|hip)\w*\W{1,3}(?:runtime |driver )?(?:error|failure)|\bfailed\b");
    let unique = || {
        let error = by_unique_text("cuda", text)?;
        (!line.quotes(&error.message) || is_cuda.is_match(text)).then_some(error)
    };
    // ggml tries smaller layouts: what became of it is read at the end of the log.
    let tries = text.starts_with("ggml_");
    let common = || {
        let parts = Parts::of(
            regex!(
                r"(?i)\b(?:cuda(?:malloc\w*|mem\w+|launch\w*|stream\w*|device\w*|event\w*|get\w*|set\w*|free\w*)?|cu(?:mem|launch|ctx|stream|device)\w*)\b(?:\([^()]*\))?[ _-]?(?:runtime |driver |api )*(?:(?:error|err|failure|failed|returned)\b\W*(?:code\W*|ret\W*)?\d*\W*|: )(?P<text>out of memory|invalid argument|unknown error|initialization error|invalid device ordinal|invalid configuration argument|invalid device function|invalid resource handle|operation not supported|system not yet initialized|driver shutting down|misaligned address)\b"
            ),
            text,
        )?;
        Some(by_text("cuda", &parts.text("text")?.to_lowercase()))
    };
    named()
        .or_else(unique)
        .or_else(|| common().filter(|_| !tries))
        .or_else(|| by_number(text))
}

/// Whether an error's number stands right before its name.
fn has_number(text: &str, error: &CudaError) -> bool {
    let before = error.name.as_deref().and_then(|name| text.split_once(name));
    let before = before.map(|(before, _)| before.trim_end_matches([' ', ':', '(', '=']));
    before
        .zip(error.code)
        .is_some_and(|(before, code)| before.ends_with(&code.to_string()))
}

/// `hipMemsetAsync() failed (error code = HIP:1)`, `Error 805: MPS client failed …`, `Cuda Error in execute: 700 (…)`
/// (`TensorRT` 7), `Invalid error code (700)`, `HIP error(98)`, `ERROR: … in f.cu at line 7 (error-code 716)`,
/// `PxgCudaDeviceMemoryAllocator fail to allocate memory 71303168 bytes!! Result = 2` (`PhysX`): the number alone tells.
fn by_number(text: &str) -> Option<CudaError> {
    let parts = Parts::of(
        regex!(
            r"\b(?P<call>hip\w+)\(\) failed \(error code = HIP:(?P<hip>\d+)\)|\bcuda\w*\(\)\..{0,160}\bError (?P<torch>\d{1,3}): (?P<text>.+?)\s*$|\b(?P<init>cuInit) err: (?P<go>\d{1,3})\s*$|\[(?P<numba>\d{1,3})\] Call to (?P<numba_call>cu\w+) results in UNKNOWN_CUDA_ERROR|\bcall to (?P<acc>cu[A-Z]\w+) returned error (?P<number>\d{1,3})\b|^CUDA error (?P<ggml>\d{1,3}) at \S+:\d+: \S|\bCuda [Ee]rror in (?:file \S+ at line )?\w+: (?P<trt>\d{1,3}) \(|\b[Ii]nvalid error code \((?P<coded>\d{1,3})\)|\b(?:CUDA|Cuda|HIP) error:? ?\(?(?P<bare>\d{1,3})(?:\)|\[|$)|ERROR: .{1,80} in \S+ at line \d+ \(error-code (?P<sample>\d{1,3})\)|\bCU result: (?P<result>\d{1,3})\b|\bfail(?:ed)? to allocate memory \d+ bytes!! Result = (?P<physx>\d{1,3})\b|\bCUDA [Ee]rror at \S+:\d+:? code=(?P<unnamed>\d{1,3})\(<unknown>\)"
        ),
        text,
    )?;
    let code = [
        "hip", "torch", "go", "numba", "number", "ggml", "trt", "coded", "bare", "sample", "result", "physx", "unnamed",
    ]
    .iter()
    .find_map(|name| parts.number(name))?;
    let api = if parts.text("call").is_some() { "hip" } else { "cuda" };
    Some(CudaError {
        call: ["call", "init", "numba_call", "acc"]
            .iter()
            .find_map(|name| parts.text(name)),
        ..by_code(api, code)?
    })
}

/// One line per failing thread, up to thousands: equal ones are one event with a count. Terminals may have folded the
/// line before its last word.
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
            r"^\s*(?P<file>.+?):(?P<line>\d+): (?:(?P<function>.+?): )?block: \[(?P<block>\d+,\s?\d+,\s?\d+)\], thread: \[(?P<thread>\d+,\s?\d+,\s?\d+)\] Assertion `(?P<expression>.*)`(?: failed\.?)?\s*$"
        ),
        text,
    )
    .or_else(|| {
        // HIP's tells no thread.
        Parts::of(
            regex!(
                r"^\s*(?P<file>\S+?):(?P<line>\d+): (?:(?P<function>.+?): )?Device-side assertion `(?P<expression>.*)' failed\.?\s*$"
            ),
            text,
        )
    })?;
    let file = parts.text("file")?;
    // Windows prints no function.
    let name = file.rsplit(['/', '\\']).next().unwrap_or_default();
    Some(DeviceAssert {
        function: parts.text("function").unwrap_or_else(|| name.to_owned()),
        file,
        line: parts.number("line")?,
        expression: parts.text("expression")?,
        block: parts.triple("block").unwrap_or_default(),
        thread: parts.triple("thread").unwrap_or_default(),
        count: 1,
    })
}
