//! Every error the API answers with, in one table, as problem documents (RFC 9457).

use std::fmt;

use actix_web::http::StatusCode;
use actix_web::http::header::{ALLOW, CONTENT_TYPE, HeaderName, RETRY_AFTER, WWW_AUTHENTICATE};
use actix_web::{HttpResponse, ResponseError};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::{ToResponse, ToSchema};
use whycrash_evidence::printable;

use crate::ingest::{IngestError, Refusal};
use crate::search::QueryError;
use crate::store::StoreError;

/// One row of the table of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Stable kebab-case name.
    pub code: &'static str,
    /// HTTP status.
    pub status: u16,
    /// What it is, in a line, the same every time.
    pub title: &'static str,
    /// What to do about it.
    pub hint: &'static str,
}

macro_rules! problems {
    ($($name:ident = $status:literal $code:literal $title:literal, $hint:literal;)*) => {
        /// The errors of the API.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Code {
            $(#[doc = $title] $name,)*
        }

        impl Code {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Its row.
            pub const fn row(self) -> Row {
                match self {
                    $(Self::$name => Row { code: $code, status: $status, title: $title, hint: $hint },)*
                }
            }
        }
    };
}

problems! {
    InvalidRequest = 400 "invalid-request" "the request is not valid",
        "compare it with /api/v1/openapi.json";
    InvalidJson = 400 "invalid-json" "the body is not the JSON that is expected",
        "compare it with /api/v1/openapi.json";
    InvalidMultipart = 400 "invalid-multipart" "the body is not valid multipart/form-data",
        "send it as `curl -F metadata='{}' -F file=@core` does";
    InvalidArtifact = 400 "invalid-artifact" "an artifact's declaration is not valid",
        "every artifact needs a file name and its bytes, either as `data` in base64 or as `bytes` and `sha256`";
    InvalidQuery = 400 "invalid-query" "the search query can not be understood",
        "words, \"phrases\", field:value, -not and prefix* are understood";
    Unauthorized = 401 "unauthorized" "a token is needed",
        "send `Authorization: Bearer …`; `whycrash-server token create --scope admin`, on the server's machine, makes one";
    Forbidden = 403 "forbidden" "the token does not allow this",
        "ask for a token with the scope that the detail names";
    CrossSite = 403 "cross-site" "requests from other sites are refused",
        "open the user interface under the server's own address";
    NotDirect = 403 "not-direct" "a server without tokens answers its own machine alone",
        "make the first token with `whycrash-server token create --scope admin` on the server's machine, and send it as \
            `Authorization: Bearer …`";
    UnknownHost = 403 "unknown-host" "a server without tokens does not answer under this name",
        "use its address, add the name to `hosts` in whycrash.toml, or make the first token with \
            `whycrash-server token create --scope admin` on the server's machine";
    NotFound = 404 "not-found" "there is nothing at this address",
        "the addresses are listed in /api/v1/openapi.json";
    NoReport = 404 "no-such-report" "there is no such report",
        "find it with /api/v1/search, or upload it";
    NoArtifact = 404 "no-such-artifact" "the report has no such artifact",
        "the report's document lists its artifacts";
    NoGroup = 404 "no-such-group" "no report has this signature",
        "find it with /api/v1/search?q=signature:…";
    NoCause = 404 "no-such-cause" "there is no such cause",
        "the causes are listed at /api/v1/causes";
    NoSymbols = 404 "no-such-symbols" "no symbols with this id were uploaded",
        "upload the binary or its debug file with `whycrash symbols upload`";
    NoPlugin = 404 "no-such-plugin" "no plugin of this name was published here",
        "the plugins are listed at /api/v1/plugins; built-in ones, and those of the server's own folders, are not published";
    NoPage = 404 "no-such-page" "no page of this name was published here",
        "the pages are listed at /api/v1/pages; ours, and those of the server's own folders, are not published";
    NoPreview = 404 "no-such-preview" "there is no such preview",
        "the previews are listed at /api/v1/previews; the last 20 are kept";
    MethodNotAllowed = 405 "method-not-allowed" "this address does not know the method",
        "the Allow header lists those it knows";
    NotAcceptable = 406 "not-acceptable" "the client takes no form in which the server answers",
        "send `Accept-Encoding: gzip, identity`, or leave it out";
    TooSlow = 408 "too-slow" "the body came too slowly",
        "send it again, an artifact from `offset` on; slow lines need other `limits` in whycrash.toml";
    WrongOffset = 409 "wrong-offset" "the chunk does not start where the last one ended",
        "go on at `offset`";
    InProgress = 409 "upload-in-progress" "the artifact is being uploaded by another request",
        "wait for that one to end, then ask for the offset with HEAD";
    Missing = 409 "artifacts-missing" "the report is not complete",
        "upload the artifacts in `missing`, then complete it";
    SymbolsExist = 409 "symbols-exist" "another file with this id is kept",
        "that one stays; an administrator replaces it with `whycrash symbols upload --replace`";
    NotStored = 409 "artifact-not-uploaded" "the artifact's bytes have not been uploaded",
        "upload them, or wait for the upload to end";
    NotText = 409 "artifact-not-text" "the artifact has no lines",
        "download it instead";
    TooLarge = 413 "too-large" "it is larger than the server takes",
        "send large artifacts with PUT, or have the limit that the detail names raised in whycrash.toml";
    OutOfRange = 416 "range-not-satisfiable" "none of the bytes that are asked for are there",
        "the Content-Range header has the number of bytes";
    UnsupportedType = 415 "unsupported-media-type" "the body has a type that is not taken here",
        "send application/json or multipart/form-data, as it is or gzip-encoded";
    Mismatch = 422 "sha256-mismatch" "the bytes are not those that were declared; they were dropped",
        "upload the artifact again from its start";
    NotSymbols = 422 "not-symbols" "the file is of no use as symbols",
        "send an ELF binary or debug file with a build id, or a Breakpad symbol file, as it is";
    PreviewState = 409 "preview-state" "the preview can not do this now",
        "/api/v1/previews/{number} says how far it has come; one that is ready can be applied, and one that was applied undone";
    VersionTaken = 409 "plugin-version-taken" "this version of the plugin was published with other bytes",
        "the very same bytes may be sent again; `whycrash plugin list` shows what is kept";
    PluginChanged = 409 "plugin-changed" "the plugin was changed by somebody else meanwhile",
        "the plugins are listed at /api/v1/plugins; look what is there, then try again";
    PluginRefused = 422 "plugin-refused" "the plugin can not be used",
        "`whycrash plugin inspect FILE` says the same before it is published";
    Expired = 410 "artifact-expired" "the artifact's bytes are kept no longer",
        "its report stays; how long artifacts are kept is set under [retention] in whycrash.toml";
    TooManyRequests = 429 "too-many-requests" "too many uploads at one time",
        "try again after the seconds in Retry-After";
    Internal = 500 "internal" "the server failed",
        "the server's log says more";
    Busy = 503 "busy" "the server has too much to do",
        "try again after the seconds in Retry-After; nothing that was acknowledged is lost";
    IndexUnavailable = 503 "index-unavailable" "searches can not be answered now",
        "try again after the seconds in Retry-After; reports can still be sent, and read by their ids";
    DiskFull = 507 "disk-full" "the server has no space left",
        "nothing that was acknowledged is lost; free space on the server's disk, then try again";
}

/// Seconds after which a client that was turned away may come back.
const RETRY_SECONDS: u32 = 5;

/// Longest detail, in bytes.
const MAX_DETAIL: usize = 1000;

/// An error answer.
#[derive(Clone, Debug)]
pub struct ApiError {
    code: Code,
    detail: String,
    members: Box<Map<String, Value>>,
    headers: Vec<(HeaderName, String)>,
}

/// Details quote what was sent, which can be long.
fn shorten(mut detail: String) -> String {
    if detail.len() > MAX_DETAIL {
        let end = (0..=MAX_DETAIL).rev().find(|end| detail.is_char_boundary(*end));
        detail.truncate(end.unwrap_or_default());
        detail.push('…');
    }
    detail
}

/// A particular as it may be shown: it quotes what was sent like a detail does.
fn cleaned(value: Value) -> Value {
    match value {
        Value::String(text) => printable(&text).into(),
        Value::Array(values) => values.into_iter().map(cleaned).collect(),
        other => other,
    }
}

/// What handlers return.
pub type ApiResult<T> = Result<T, ApiError>;

/// The body of an error answer.
#[derive(Debug, Serialize, ToSchema, ToResponse)]
#[response(
    description = "a problem document (RFC 9457)",
    content_type = "application/problem+json"
)]
pub struct ProblemDocument {
    /// URI of the kind of problem: `urn:whycrash:problem:<code>`.
    pub r#type: String,
    /// Stable name of the kind of problem.
    pub code: &'static str,
    /// HTTP status.
    pub status: u16,
    /// The kind of problem in a line.
    pub title: &'static str,
    /// What is wrong this time.
    pub detail: String,
    /// What to do about it.
    pub hint: &'static str,
    /// Particulars of some kinds, such as `offset` or `missing`.
    #[serde(flatten)]
    pub members: Map<String, Value>,
}

impl ApiError {
    /// An error of this kind with what is wrong this time. Details quote names and texts that anybody sent: nothing of
    /// them acts on a terminal.
    pub fn new(code: Code, detail: impl fmt::Display) -> Self {
        Self {
            code,
            detail: shorten(printable(&detail.to_string()).into_owned()),
            members: Box::default(),
            headers: Vec::new(),
        }
    }

    /// The same with a particular.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.members.insert(name.to_owned(), cleaned(value.into()));
        self
    }

    /// The same with a header.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// The answer to a method that an address does not know.
    pub fn method_not_allowed(allow: &str) -> Self {
        Self::new(Code::MethodNotAllowed, format!("allowed are {allow}")).with_header(ALLOW, allow)
    }

    /// What kind it is.
    pub fn code(&self) -> Code {
        self.code
    }

    fn problem(&self) -> ProblemDocument {
        let row = self.code.row();
        ProblemDocument {
            r#type: format!("urn:whycrash:problem:{}", row.code),
            code: row.code,
            status: row.status,
            title: row.title,
            detail: self.detail.clone(),
            hint: row.hint,
            members: (*self.members).clone(),
        }
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.row().title, self.detail)
    }
}

impl ResponseError for ApiError {
    fn status_code(&self) -> StatusCode {
        StatusCode::from_u16(self.code.row().status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    fn error_response(&self) -> HttpResponse {
        let mut response = HttpResponse::build(self.status_code());
        response.insert_header((CONTENT_TYPE, "application/problem+json"));
        if self.code == Code::Unauthorized {
            response.insert_header((WWW_AUTHENTICATE, "Bearer"));
        }
        if matches!(
            self.code,
            Code::Busy | Code::TooManyRequests | Code::InProgress | Code::IndexUnavailable | Code::DiskFull
        ) {
            response.insert_header((RETRY_AFTER, RETRY_SECONDS.to_string()));
        }
        for (name, value) in &self.headers {
            response.insert_header((name.clone(), value.as_str()));
        }
        // Serializing strings and numbers does not fail; an empty body is still the right status.
        response.body(serde_json::to_vec(&self.problem()).unwrap_or_default())
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        let code = match &error {
            StoreError::Full(_) => Code::DiskFull,
            StoreError::Unavailable(_) | StoreError::QueueFull => Code::Busy,
            StoreError::LeaseLost(_) | StoreError::Damaged(_) | StoreError::Failed(_) => Code::Internal,
        };
        // What exactly broke is for the log: it may name paths and tables.
        if code == Code::Internal {
            tracing::error!(%error, "a request failed");
        } else {
            tracing::warn!(%error, "a request was turned away");
        }
        Self::new(code, error.public())
    }
}

impl From<IngestError> for ApiError {
    fn from(error: IngestError) -> Self {
        match error {
            IngestError::Store(error) => error.into(),
            IngestError::Refused(refusal) => refusal.into(),
        }
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        let error = |code| Self::new(code, &refusal);
        match &refusal {
            Refusal::NoReport(_) => error(Code::NoReport),
            Refusal::NoArtifact(..) => error(Code::NoArtifact),
            Refusal::Empty | Refusal::TooMany(_) | Refusal::SameName(_) | Refusal::TwoSizes(_) => {
                error(Code::InvalidArtifact)
            }
            Refusal::MetadataBytes(limit) | Refusal::MetadataValues(limit) | Refusal::MetadataDepth(limit) => {
                error(Code::TooLarge).with("limit", *limit)
            }
            Refusal::MetadataTwice(_) => error(Code::InvalidRequest),
            Refusal::TooLarge { limit, .. } => error(Code::TooLarge).with("limit", *limit),
            Refusal::Mismatch { declared, actual, .. } => error(Code::Mismatch)
                .with("declared", declared.as_str())
                .with("actual", actual.as_str()),
            Refusal::TooLong { .. } => error(Code::Mismatch),
            Refusal::WrongOffset { expected, .. } => error(Code::WrongOffset).with("offset", *expected),
            Refusal::InProgress(_) => error(Code::InProgress),
            Refusal::Missing(names) => error(Code::Missing).with("missing", names.clone()),
        }
    }
}

impl From<std::io::Error> for ApiError {
    fn from(error: std::io::Error) -> Self {
        StoreError::from(error).into()
    }
}

impl From<QueryError> for ApiError {
    fn from(error: QueryError) -> Self {
        Self::new(Code::InvalidQuery, error)
    }
}
