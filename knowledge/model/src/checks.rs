//! What tests of the machine and the driver's own log say.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A test of the machine that did not pass, as `dcgmi diag -j` reports it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Diagnostic {
    /// Who tested: `dcgm`.
    pub tool: String,
    /// The test, such as `memory`.
    pub test: String,
    /// What the test is counted among, such as `Hardware`.
    pub category: Option<String>,
    /// `fail`; `warn` for what is worth a look and is no failure.
    pub status: String,
    /// What was tested, such as `GPU` or `CPU`.
    pub entity: Option<String>,
    /// Its number among those; of a GPU, DCGM's, which may differ from CUDA's.
    pub entity_id: Option<u32>,
    /// Number of the error (`dcgmError_t` in `dcgm_errors.h`).
    pub error: Option<u32>,
    /// What the error is counted among: `performance`, `software`, `xid`, `cuda`, `thermal`, `memory`, `nvlink`,
    /// `nvswitch`, `pcie`, `power`, `hardware` or `internal` (`dcgmErrorCategory_t`).
    pub family: Option<String>,
    /// What NVIDIA says is to be done: `monitor`, `isolate`, `triage`, `configure` or `reset` (`dcgmErrorSeverity_t`).
    pub action: Option<String>,
    /// The warning, as printed.
    pub message: String,
}

/// A failed call as the CUDA driver's own log tells it (`CUDA_LOG_FILE`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct CudaLog {
    /// The function of the driver or the runtime that was called, where printed.
    pub call: Option<String>,
    /// Name of what it returned, such as `CUDA_ERROR_INVALID_VALUE`, where printed.
    pub result: Option<String>,
    /// Number of that.
    pub code: Option<u32>,
    /// What was wrong, in the driver's words.
    pub message: String,
}
