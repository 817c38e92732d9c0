//! What lines come in, and which of them only quote.

use serde_json::json;

use super::{MIB, check, events};

#[test]
fn log_lines_of_every_month_have_a_time() {
    let said = "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600012 milliseconds before timing out.";
    for (head, time) in [
        (
            "[rank2]:[E704 13:48:58.260494728 ProcessGroupNCCL.cpp:616] ",
            "0000-07-04T13:48:58.260494728Z",
        ),
        (
            "[rank2]:[E1103 13:48:58.25 ProcessGroupNCCL.cpp:616] ",
            "0000-11-03T13:48:58.25Z",
        ),
        ("E0205 13:48:58.250000 4711 acme/api.py:12] ", "0000-02-05T13:48:58.25Z"),
    ] {
        check(
            &format!("{head}[Rank 2] {said}"),
            "watchdog",
            &json!({"rank": 2, "time": time}),
        );
    }
    check(
        &format!("[rank2]:[E ProcessGroupNCCL.cpp:607] [Rank 2] {said}"),
        "watchdog",
        &json!({"rank": 2, "time": null, "family": "timeout"}),
    );
    check(
        "[rank1]:[E ProcessGroupNCCL.cpp:1316] [PG 5 Rank 1] Heartbeat monitor timed out! Process will be terminated after dumping debug info. workMetaList_.size()=3",
        "watchdog",
        &json!({"rank": 1, "family": "stuck", "group": "5"}),
    );
    check(
        "RuntimeError: [/src/gloo/transport/tcp/unbound_buffer.cc:84] Timed out waiting 1800000ms for recv operation to complete",
        "watchdog",
        &json!({"family": "timeout", "operation": "recv", "timeout_ms": 1_800_000}),
    );
    check(
        "[Sat Nov 21 09:53:46 2026] NVRM: Xid (PCI:0000:07:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
        "xid",
        &json!({"code": 79, "time": "2026-11-21T09:53:46Z"}),
    );
}

#[test]
fn a_log_of_json_records_is_read_and_data_is_not() {
    let error = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB";
    for record in [
        json!({"ts": "2026-04-11T08:22:41Z", "msg": error}),
        json!({"severity": "ERROR", "textPayload": error}),
        json!({"timestamp": "2026-04-11T08:22:41Z", "levelname": "ERROR", "message": error}),
    ] {
        check(&record.to_string(), "cuda-oom", &json!({"requested": 20 * MIB}));
    }
    for data in [
        json!({"text": error, "label": 0}),
        json!({"messages": [{"role": "user", "content": error}]}),
    ] {
        assert!(events(&data.to_string()).is_empty(), "{data}");
    }
    assert!(events(&format!("> > {error}\n> what now?\n")).is_empty());
}

#[test]
fn a_traceback_in_one_record_is_read_like_any_other() {
    let traceback = "Traceback (most recent call last):\n  File \"/w/train.py\", line 8, in step\n    loss.backward()\n\
                     KeyError: 'lr'\n";
    for record in [
        json!({"asctime": "2026-04-11 08:22:41,120", "levelname": "ERROR", "message": "step failed", "exc_info": traceback, "rank": 3}),
        json!({"severity": "ERROR", "textPayload": traceback, "rank": 3}),
        json!({"time": "2026-04-11T08:22:41Z", "level": "error", "msg": "x", "error": {"stack_trace": traceback}, "rank": 3}),
    ] {
        let expected = json!({"exception": "KeyError", "rank": 3, "thread": "traceback-1"});
        check(
            &format!("{record}\n{}\n", json!({"level": "info", "msg": "bye"})),
            "python-exception",
            &expected,
        );
    }
}

#[test]
fn what_is_only_mentioned_did_not_happen() {
    for text in [
        "# RuntimeError: CUDA error: an illegal memory access was encountered",
        "    # CUDA out of memory. Tried to allocate 2.00 GiB",
        "raise RuntimeError('CUDA error: device-side assert triggered')",
        "print(\"DataLoader worker (pid 1) is killed by signal: Killed.\")",
        "if you see CUDA out of memory, lower the batch size",
        "The watchdog timeout is 1800 s",
        "Killed the old server before starting",
        "Killed 3 stale processes",
        "Aborted transaction 7",
        "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  570.133.20",
        "nccl info: NCCL WARN is the level",
        "cuDNN version 9.1, CUDNN_STATUS_SUCCESS",
        "Fatal errors are printed to stderr",
        "node1:1:2 [0] NCCL INFO Channel 00/02 : 0 1",
        "node1:1:2 [0] NCCL INFO init.cc:40 -> 0",
        "Process 4711 is the master",
        "see: Assertion `x' failed. in the manual",
        "Thread 12 finished",
        "tests/test_xid.py::test_parse[NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.] PASSED [ 33%]",
        "Exception ignored in: <function _Iter.__del__ at 0x7f1c3fe0d3a0>\nAssertionError: can only test a child process",
        "CommandNotFoundError: Your shell has not been properly configured to use 'conda activate'.",
    ] {
        assert!(events(text).is_empty(), "{text:?} gave {:#?}", events(text));
    }
}
