//! Tests of the machine, and what the driver and NVIDIA's tools say beside the job's own log.

use whycrash_evidence::model::{CudaLog, Diagnostic, EventPayload, Evidence, Place, Sanitizer};
use whycrash_evidence::{ArtifactKind, Limits, Reading, merge, read};

use crate::support::{artifact, compressed};

fn reading(name: &str, text: &str) -> Reading {
    let (artifact, _keep) = artifact(name, text.as_bytes());
    read(&artifact, &Limits::default())
}

fn merged(name: &str, text: &str) -> Evidence {
    merge(vec![reading(name, text).evidence], serde_json::Map::new())
}

fn case(name: &str, file: &str) -> String {
    let path = whycrash_corpus::folder().join(name).join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn checks(evidence: &Evidence) -> Vec<&Diagnostic> {
    let checks = evidence.timeline.iter().filter_map(|event| match &event.payload {
        EventPayload::Diagnostic(check) => Some(check),
        _ => None,
    });
    checks.collect()
}

#[test]
fn a_test_that_failed_names_the_gpu_the_error_and_what_is_to_be_done() {
    let reading = reading("diag.json", &case("hw-dcgm-off-bus", "diag.json"));
    assert_eq!(reading.kind, Some(ArtifactKind::Diagnostic));
    assert_eq!(reading.problems, []);
    let [check] = checks(&reading.evidence)[..] else {
        panic!("{:#?}", reading.evidence.timeline)
    };
    assert_eq!((check.entity.as_deref(), check.entity_id), (Some("GPU"), Some(5)));
    assert_eq!(
        (check.error, check.action.as_deref(), check.family.as_deref()),
        (Some(120), Some("isolate"), Some("hardware"))
    );
    let text = case("hw-dcgm-off-bus", "diag.json");
    let Some(Place::Line([line, _])) = reading.evidence.timeline[0].at else {
        panic!("an event stands on a line")
    };
    let line = text.lines().nth(line as usize - 1).unwrap();
    assert!(line.contains("has fallen off the bus"), "{line}");
}

#[test]
fn tests_that_passed_or_only_warned_are_no_failures() {
    assert!(
        merged("diag.json", &case("none-dcgm-passed", "diag.json"))
            .timeline
            .is_empty()
    );
    let warned = merged("diag.json", &case("none-dcgm-warned", "diag.json"));
    assert_eq!(checks(&warned).len(), 2);
    assert!(warned.timeline.iter().all(|event| !event.primary && event.survived));
}

#[test]
fn reports_of_before_dcgm_4_are_read_as_well() {
    let evidence = merged("diag.json", &case("hw-dcgm-3-failed", "diag.json"));
    let [check] = checks(&evidence)[..] else {
        panic!("{:#?}", evidence.timeline)
    };
    assert_eq!(
        (check.status.as_str(), check.entity_id, check.error),
        ("fail", Some(3), None)
    );
    assert!(evidence.timeline[0].primary);
}

/// The XML form becomes the very events that the text form of the same report gives.
#[test]
fn reports_of_the_sanitizer_in_xml_are_those_of_its_text() {
    let xml = reading("memcheck.xml", &case("ima-sanitizer-xml-out-of-bounds", "memcheck.xml"));
    assert_eq!(
        (xml.kind, xml.problems.as_slice()),
        (Some(ArtifactKind::Sanitizer), &[][..])
    );
    let text = "========= Invalid __global__ write of size 4 bytes\n\
                =========     at rope_forward_kernel(float *, const float *, int, int)+0x190 in /opt/ext/csrc/rope.cu:57\n\
                =========     by thread (0,0,0) in block (3071,0,0)\n\
                =========     Address 0x7f31c8000400 is out of bounds\n";
    let sanitized = |evidence: &Evidence| -> Sanitizer {
        let [event] = &evidence.timeline[..] else {
            panic!("equal reports are one: {:#?}", evidence.timeline)
        };
        let EventPayload::Sanitizer(report) = event.payload.clone() else {
            panic!("{event:#?}")
        };
        Sanitizer {
            count: 1,
            stack: None,
            relation: None,
            ..report
        }
    };
    assert_eq!(sanitized(&xml.evidence), sanitized(&reading("log", text).evidence));
    let EventPayload::Sanitizer(report) = &xml.evidence.timeline[0].payload else {
        unreachable!()
    };
    assert_eq!(report.count, 3);
    assert_eq!(
        report.relation.as_deref(),
        Some("Invalid write: Access is out of bounds")
    );
    assert_eq!(report.stack.as_ref(), Some(&xml.evidence.threads[0].id));
    assert_eq!(xml.evidence.threads[0].frames.len(), 3);
}

#[test]
fn xml_that_was_cut_tells_of_the_reports_before_the_cut() {
    let whole = case("ima-sanitizer-xml-out-of-bounds", "memcheck.xml");
    let end = whole.rfind("<record>").unwrap() + 100;
    let cut = reading("memcheck.xml", &whole[..end]);
    assert_eq!(cut.evidence.timeline[0].count, 2);
    assert_eq!(cut.problems[0].code, "damaged-xml");
    let page = reading("page", "<html><p>ComputeSanitizer</p></html>\n");
    assert_eq!(page.kind, Some(ArtifactKind::Log), "any other page is text");
}

fn calls(evidence: &Evidence) -> Vec<CudaLog> {
    let of = |what: &EventPayload| match what {
        EventPayload::CudaLog(log) => Some(log.clone()),
        _ => None,
    };
    evidence
        .timeline
        .iter()
        .filter_map(|event| of(&event.payload))
        .collect()
}

#[test]
fn the_drivers_own_log_says_what_was_wrong_with_a_call() {
    let old = "[22:21:32.099][25642][CUDA][E][cuLogsDumpToMemory] buffer cannot be NULL\n";
    let new = "[22:21:32.099][25642][CUDA][E] buffer cannot be NULL\n\
               [22:21:32.099][25642][CUDA][E] Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuLogsDumpToMemory\n";
    for (text, code) in [(old, None), (new, Some(1))] {
        let evidence = merged("cuda.log", text);
        let [call] = &calls(&evidence)[..] else {
            panic!("{:#?}", evidence.timeline)
        };
        assert_eq!(call.call.as_deref(), Some("cuLogsDumpToMemory"));
        assert_eq!((call.message.as_str(), call.code), ("buffer cannot be NULL", code));
        assert!(
            !evidence.timeline[0].primary,
            "a call that was refused is a failure where its caller says so"
        );
        assert_eq!(evidence.timeline.len(), 1, "the name of a result is no second event");
    }
    let interleaved = "[10:00:00.000][7][CUDA][E] one\n[10:00:00.000][8][CUDA][E] other\n\
                       [10:00:00.001][8][CUDA][E] Returning 2 (CUDA_ERROR_OUT_OF_MEMORY) from cuMemAlloc_v2\n";
    let calls = calls(&merged("stderr.log", interleaved));
    let told: Vec<_> = calls.iter().map(|call| (call.message.as_str(), call.code)).collect();
    assert_eq!(told, [("one", None), ("other", Some(2))]);
}

#[test]
fn an_xid_that_the_driver_says_follows_from_another_is_its_echo() {
    let evidence = merged("dmesg.txt", &case("hw-xid-145-then-45", "dmesg.txt"));
    let xids: Vec<_> = evidence
        .timeline
        .iter()
        .map(|event| match &event.payload {
            EventPayload::Xid(xid) => (xid.code, event.primary, event.echo_of),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        xids,
        [(45, true, None), (145, true, None), (45, false, Some(1))],
        "the first 45 is of another GPU, and nothing came before it"
    );
}

#[test]
fn of_a_bug_report_the_kernels_log_and_the_state_of_the_gpus_are_read() {
    let text = case("hw-bug-report-ecc", "nvidia-bug-report.log");
    let mut packed = compressed(text.as_bytes());
    packed.push(("plain", text.clone().into_bytes()));
    for (name, bytes) in packed {
        let (artifact, _keep) = artifact("nvidia-bug-report.log", &bytes);
        let reading = read(&artifact, &Limits::default());
        assert_eq!(
            (reading.kind, reading.problems.len()),
            (Some(ArtifactKind::BugReport), 0),
            "{name}"
        );
        let codes: Vec<u32> = reading
            .evidence
            .timeline
            .iter()
            .map(|event| match &event.payload {
                EventPayload::Xid(xid) => xid.code,
                other => panic!("{name}: {other:?}"),
            })
            .collect();
        assert_eq!(codes, [48, 63, 45], "{name}: a build log is no kernel log");
        let Some(Place::Line([line, _])) = reading.evidence.timeline[0].at else {
            panic!("{name}")
        };
        assert!(text.lines().nth(line as usize - 1).unwrap().contains("Xid"), "{name}");
        let gpus = &reading.evidence.context["nvidia_smi"];
        assert_eq!(gpus["driver_version"], "570.124.06", "{gpus:#}");
        assert_eq!(gpus["gpus"][0]["bus_id"], "00000000:19:00.0", "{gpus:#}");
        assert_eq!(gpus["gpus"][0]["remapped_rows_pending"], "Yes", "{gpus:#}");
        assert_eq!(gpus["gpus"][0]["ecc_errors_volatile_dram_uncorrectable"], 1, "{gpus:#}");
        assert_eq!(gpus["gpus"][0]["gpu_recovery_action"], "Reset", "{gpus:#}");
    }
}

#[test]
fn stacks_of_a_debug_servers_dump_are_those_of_their_ranks() {
    let evidence = merged(
        "stacks_1.txt",
        &case("dist-debug-server-branch", "stacks_20260714_101502.txt"),
    );
    let of = |rank| {
        let mut threads = evidence.threads.iter().filter(|thread| thread.rank == Some(rank));
        threads.any(|thread| {
            let functions = thread.frames.iter().filter_map(|frame| frame.function.as_deref());
            functions.into_iter().any(|function| function == "save_best_checkpoint")
        })
    };
    assert_eq!([of(0), of(1), of(2)], [true, false, false]);
    assert!(evidence.threads.iter().all(|thread| thread.rank.is_some()));
}
