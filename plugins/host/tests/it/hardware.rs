//! Xids in a row: which one explains the others, whose fault it can be, and what to do with which GPU of which node.

use std::fs;

use whycrash_evidence::Artifact;
use whycrash_plugin_host::{Diagnoser, Document, Input, Settings};

use crate::support::cache;

/// What is said of a kernel's log of these messages, second by second, beside a log of the job.
fn diagnose(kernel: &[&str], job: &str) -> Document {
    let folder = tempfile::tempdir().unwrap();
    let line = |(second, message): (usize, &&str)| {
        format!("2026-03-14T08:51:{second:02}+00:00 a3-node-17 kernel: [48291{second}.100200] {message}\n")
    };
    let dmesg: String = kernel.iter().enumerate().map(line).collect();
    let settings = Settings {
        cache: Some(cache()),
        ..Settings::default()
    };
    let artifacts = [("dmesg.txt", dmesg.as_str()), ("train.log", job)].map(|(name, text)| {
        fs::write(folder.path().join(name), text).unwrap();
        Artifact::new(name, folder.path().join(name))
    });
    Diagnoser::new(settings).unwrap().diagnose(&Input {
        artifacts: artifacts.into(),
        ..Input::default()
    })
}

fn causes(document: &Document) -> Vec<&str> {
    document.findings.iter().map(|finding| finding.cause.as_str()).collect()
}

const HEALTHY: &str = "step 10 | loss 2.31\nstep 20 | loss 2.30\nstep 30 | loss 2.29\n";

#[test]
fn the_gravest_xid_of_a_gpu_explains_the_others_and_names_what_to_drain() {
    let document = diagnose(
        &[
            "NVRM: Xid (PCI:0000:9b:00): 63, pid='<unknown>', name=<unknown>, Row Remapper: New row marked for remapping",
            "NVRM: Xid (PCI:0000:9b:00): 48, pid=71233, name=pt_main_thread, DBE (double bit error) ECC Error",
            "NVRM: Xid (PCI:0000:9b:00): 45, pid=71233, name=pt_main_thread, Ch 00000008",
            "NVRM: Xid (PCI:0000:9b:00): 45, pid=71233, name=pt_main_thread, Ch 00000009",
        ],
        HEALTHY,
    );
    assert_eq!(causes(&document), ["hw-ecc-dbe"]);
    let finding = &document.findings[0];
    for words in [
        "Xid 48",
        "0000:9b:00",
        "a3-node-17",
        "Xid 63",
        "Xid 45 (2 times)",
        "No program can cause this",
    ] {
        assert!(finding.explanation.contains(words), "{words}: {}", finding.explanation);
    }
    let step = finding.fixes[0].summary.as_str();
    assert!(
        step.contains("gpu-reset -i 0000:9b:00") && step.contains("a3-node-17"),
        "{step}"
    );
}

#[test]
fn what_a_program_can_cause_is_not_held_against_the_gpu_unless_it_stays_there() {
    let fault = |pid: u32, name: &str| {
        format!(
            "NVRM: Xid (PCI:0000:1a:00): 31, pid={pid}, name={name}, Ch 00000010, intr 00000000. MMU Fault: ENGINE GRAPHICS faulted @ 0x7f1c_80000000"
        )
    };
    let (one, other) = (fault(2201, "python"), fault(9034, "nccl_test"));
    let once = diagnose(&[&one], "");
    assert_eq!(causes(&once), ["hw-mmu-fault"]);
    assert!(
        once.findings[0].explanation.contains("A program can cause this"),
        "{:?}",
        once.findings[0]
    );
    assert!(once.findings[0].contradictions.is_empty());
    let twice = diagnose(&[&one, &other], "");
    assert_eq!(causes(&twice), ["hw-mmu-fault"]);
    assert!(
        twice.findings[0].explanation.contains("speaks against the GPU"),
        "{:?}",
        twice.findings[0]
    );
    assert!(twice.findings[0].contradictions[0].quote.contains("nccl_test"));
}

#[test]
fn an_echo_that_names_its_xid_stands_for_it_where_its_own_line_is_lost() {
    let document = diagnose(
        &["NVRM: Xid (PCI:0000:dc:00): 45, pid=1818990, name=python3, Ch 00000001 caused by previous Xid 149"],
        "",
    );
    assert_eq!(causes(&document), ["hw-nvlink"]);
    assert!(
        document.findings[0].explanation.contains("Xid 149"),
        "{:?}",
        document.findings[0]
    );
}

#[test]
fn corrected_errors_of_links_and_notes_end_no_job() {
    let document = diagnose(
        &[
            "nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error (First)",
            "NVRM: Xid (PCI:0018:01:00): 145, RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x0409a0c2 0x00000008)",
            "NVRM: Xid (PCI:0000:9b:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)",
        ],
        HEALTHY,
    );
    assert!(causes(&document).is_empty(), "{:?}", document.findings);
}

#[test]
fn an_xid_of_the_day_before_did_not_end_the_job() {
    let failed = |day: u32| {
        let lines = [
            "Traceback (most recent call last):",
            "  File \"/srv/t.py\", line 3, in main",
            "    cfg[\"lr\"]",
            "KeyError: 'lr'",
        ];
        lines.map(|line| format!("2026-03-{day}T08:52:00Z {line}\n")).concat()
    };
    let xid = "NVRM: Xid (PCI:0000:9b:00): 48, pid='<unknown>', name=<unknown>, DBE (double bit error) ECC Error";
    assert_eq!(causes(&diagnose(&[xid], &failed(16))), ["py-key-error"]);
    assert!(causes(&diagnose(&[xid], &failed(14))).contains(&"hw-ecc-dbe"));
}

#[test]
fn a_gpu_that_is_gone_is_what_a_healthy_jobs_report_is_known_by() {
    let document = diagnose(
        &[
            "pcieport 0000:40:01.1: AER: Uncorrected (Fatal) error received: 0000:40:01.1",
            "nvidia 0000:41:00.0: AER: can't recover (no error_detected callback)",
        ],
        HEALTHY,
    );
    assert_eq!(causes(&document), ["hw-fell-off-bus"]);
    assert_eq!(document.report.title, document.findings[0].title);
}
