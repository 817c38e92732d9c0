//! Logs and measurements.

use std::sync::OnceLock;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::EnvFilter;
use whycrash_evidence::PrintableLog;

use crate::config::LogFormat;

/// Upper bounds of latency buckets, in seconds: a search takes milliseconds, reading a large core minutes.
const SECONDS: [f64; 12] = [0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 20.0, 60.0, 300.0];

/// Where measurements are read; the recorder is the process's, so it is set up once.
pub fn metrics() -> PrometheusHandle {
    static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();
    HANDLE.get_or_init(install_metrics).clone()
}

fn install_metrics() -> PrometheusHandle {
    let builder = PrometheusBuilder::new();
    let builder = builder
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS)
        .unwrap_or_else(|_| PrometheusBuilder::new());
    let recorder = builder.build_recorder();
    let handle = recorder.handle();
    if metrics::set_global_recorder(recorder).is_err() {
        tracing::warn!("measurements go to a recorder that this program did not set up");
    }
    describe();
    handle
}

fn describe() {
    metrics::describe_counter!("whycrash_requests_total", "requests by route, method and status");
    metrics::describe_histogram!("whycrash_request_seconds", "time from request to answer, by route");
    metrics::describe_counter!("whycrash_ingest_bytes_total", "artifact bytes received");
    metrics::describe_counter!("whycrash_reports_total", "reports taken in, new or seen before");
    metrics::describe_counter!("whycrash_jobs_total", "attempts to process a report, by outcome");
    metrics::describe_histogram!("whycrash_job_seconds", "time to process a report");
    metrics::describe_gauge!("whycrash_jobs", "jobs by state");
    metrics::describe_gauge!(
        "whycrash_diagnosing_anew",
        "stored reports that are to be diagnosed anew"
    );
    metrics::describe_counter!(
        "whycrash_diagnosed_anew_total",
        "stored reports that were diagnosed anew"
    );
    metrics::describe_gauge!("whycrash_index_waiting", "reports that are not in the index yet");
    metrics::describe_gauge!("whycrash_index_lag_seconds", "how long the first of them has waited");
    metrics::describe_gauge!(
        "whycrash_index_ready",
        "1 while searches are answered from a whole index"
    );
    metrics::describe_counter!("whycrash_index_reports_total", "reports taken over into the index");
    metrics::describe_counter!("whycrash_index_rebuilds_total", "indexes built anew");
    metrics::describe_counter!("whycrash_index_refused_total", "reports that the index does not take");
    metrics::describe_counter!(
        "whycrash_removed_total",
        "what was removed for its age, or because nothing refers to it"
    );
    metrics::describe_counter!("whycrash_removed_bytes_total", "bytes of what was removed");
    metrics::describe_counter!("whycrash_plugin_runs_total", "plugin runs by plugin and outcome");
    metrics::describe_counter!("whycrash_plugin_fuel_total", "fuel used, by plugin");
}

/// Writes lines to standard error from which nothing is left that a terminal would act on.
pub fn tell(lines: &str) {
    for line in lines.lines() {
        eprintln!("{}", whycrash_evidence::printable(line));
    }
}

/// Has panics told like that: what they say may quote an artifact.
pub fn tell_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let thread = std::thread::current();
        tell(&format!("thread {:?}: {panic}", thread.name().unwrap_or_default()));
    }));
}

/// Sends logs to standard error. `RUST_LOG` chooses what is logged.
pub fn log(format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info,tantivy=warn"));
    // Without colours, so that no escape is left once those in names and errors are gone.
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false);
    let set = match format {
        LogFormat::Text => logs
            .with_writer(|| PrintableLog::of_lines(std::io::stderr()))
            .try_init(),
        LogFormat::Json => logs
            .json()
            .with_writer(|| PrintableLog::of_json(std::io::stderr()))
            .try_init(),
    };
    // A program that embeds the server may have set up its own.
    drop(set);
}
