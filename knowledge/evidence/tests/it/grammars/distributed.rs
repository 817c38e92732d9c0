//! Ranks, and what binds them: NCCL, process groups, stores, autograd's hooks.

use serde_json::json;

use super::{check, events};

#[test]
fn nccl() {
    for (text, expected) in [
        (
            "torch.distributed.DistBackendError: NCCL error in: /src/NCCLUtils.hpp:219, invalid usage (run with NCCL_DEBUG=WARN for details), NCCL version 2.19.3\nncclInvalidUsage: This usually reflects invalid usage of NCCL library.\nLast error:\nDuplicate GPU detected : rank 3 and rank 0 both on CUDA device f000",
            json!({"result": "ncclInvalidUsage", "message": "invalid usage", "version": "2.19.3", "line": 219, "last_error": "Duplicate GPU detected : rank 3 and rank 0 both on CUDA device f000"}),
        ),
        (
            "RuntimeError: NCCL error in: /src/ProcessGroupNCCL.cpp:784, unhandled system error, NCCL version 2.7.8",
            json!({"result": "ncclSystemError", "last_error": null}),
        ),
    ] {
        check(text, "nccl-error", &expected);
    }
    for (text, expected) in [
        (
            "node1:4242:4301 [3] NCCL WARN NET/IB : Got completion from peer 10.0.0.7<5432> with status=12 opcode=1 len=0 vendor err 129",
            json!({"host": "node1", "device": 3, "family": "net-ib", "pid": 4242}),
        ),
        (
            "misc/ibvwrap.cc:309 NCCL WARN Call to ibv_modify_qp failed with 101",
            json!({"family": "net-ib", "source": "misc/ibvwrap.cc:309", "message": "Call to ibv_modify_qp failed with 101"}),
        ),
        (
            "[2026-11-21 10:29:16] vm:11521:11534 [0] misc/cudawrap.cc:279 (initOnceFunc) NCCL WARN Cuda failure 'out of memory'",
            json!({"source": "misc/cudawrap.cc:279", "family": "cuda", "time": "2026-11-21T10:29:16Z"}),
        ),
        (
            "node1:1:2 [0] include/shm.h:28 NCCL WARN Error: failed to extend /dev/shm/nccl-a to 9637892 bytes, error: No space left on device (28)",
            json!({"family": "shm"}),
        ),
        (
            "node1:1:2 [0] NCCL INFO transport/net.cc:40 -> 2",
            json!({"family": "path", "source": "transport/net.cc:40"}),
        ),
    ] {
        check(text, "nccl-warning", &expected);
    }
}

#[test]
fn other_transports() {
    for (text, expected) in [
        (
            "[1764000000.123456] [n4:711  :0]  ib_mlx5_log.c:177  UCX  ERROR Transport retry count exceeded on mlx5_0:1/IB",
            json!({"family": "ucx", "host": "n4", "pid": 711, "source": "ib_mlx5_log.c:177", "message": "Transport retry count exceeded on mlx5_0:1/IB"}),
        ),
        (
            "[n4:711:0:711] ib_mlx5_log.c:139  Transport retry count exceeded on mlx5_0:1/IB (synd 0x15)",
            json!({"family": "ucx", "pid": 711, "message": "Transport retry count exceeded on mlx5_0:1/IB (synd 0x15)"}),
        ),
        (
            "libfabric:451:1708520807::efa:cq:efa_rdm_txe_handle_error():737<warn> err: 107, message: Unresponsive receiver (13)",
            json!({"family": "libfabric", "pid": 451, "source": "efa_rdm_txe_handle_error():737"}),
        ),
    ] {
        check(text, "nccl-warning", &expected);
    }
    for harmless in [
        "[1764000000.1] [n4:711:0] parser.c:1993 UCX  WARN  unused env variable: UCX_HOME",
        "libfabric:462:1673041636:efa:core:rxr_info_to_rxr():506<warn> FI_HMEM capability requires RDMA",
        "the log had \"[n4:711:0:711] ib_mlx5_log.c:139  Transport retry count exceeded on mlx5_0:1/IB\" in it",
    ] {
        assert!(events(harmless).is_empty(), "{harmless}");
    }
}

#[test]
fn process_groups() {
    for (text, expected) in [
        (
            "[rank1]:[E1003 18:37:01.832146912 ProcessGroupNCCL.cpp:607] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=6463, OpType=ALLREDUCE, NumelIn=1, NumelOut=2, Timeout(ms)=1800000) ran for 1800017 milliseconds before timing out.",
            json!({"family": "timeout", "rank": 1, "sequence": 6463, "operation": "ALLREDUCE", "elements_in": 1, "elements_out": 2, "timeout_ms": 1_800_000, "ran_ms": 1_800_017}),
        ),
        (
            "[Rank 2] Watchdog caught collective operation timeout: WorkNCCL(OpType=BROADCAST, Timeout(ms)=600000) ran for 600100 milliseconds before timing out.",
            json!({"family": "timeout", "rank": 2, "sequence": null}),
        ),
        (
            "[PG 0 (default_pg) Rank 1] Exception (either an error or timeout) detected by watchdog at work: 6463, last enqueued NCCL work: 6463, last completed NCCL work: 6462.",
            json!({"family": "failure", "group": "0", "description": "default_pg", "rank": 1, "sequence": 6463, "last_enqueued": 6463, "last_completed": 6462}),
        ),
        (
            "[PG ID 0 PG GUID 0(default_pg) Rank 6] failure detected by watchdog at work sequence id: 9 PG status: last enqueued work: 9, last completed work: -1",
            json!({"family": "failure", "rank": 6, "sequence": 9, "last_completed": -1}),
        ),
        (
            "[Rank 3] ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress in monitoring enqueued collectives.",
            json!({"family": "stuck", "rank": 3}),
        ),
        (
            "Could not acquire GIL within 300 ms on exit, possible GIL induced hang",
            json!({"family": "gil"}),
        ),
    ] {
        check(text, "watchdog", &expected);
    }
    for (text, expected) in [
        (
            "\t- [0, 4] finished collective #31, but didn't join collective #32 (count from 1)",
            json!({"family": "desync", "ranks": [0, 4], "sequence": 32}),
        ),
        (
            "\t- [1, 2] joined but didn't finish collective #32",
            json!({"family": "desync", "ranks": [1, 2], "sequence": 32}),
        ),
        (
            "RuntimeError: Detected mismatch between collectives on ranks. Rank 0 is running collective: CollectiveFingerPrint(SequenceNumber=7, OpType=ALLREDUCE, TensorShape=[4]), but Rank 1 is running collective: CollectiveFingerPrint(SequenceNumber=7, OpType=BROADCAST).",
            json!({"family": "fingerprint", "ranks": [0, 1], "sequence": 7}),
        ),
        (
            "RuntimeError: [Rank 0]: Ranks 1, 3 failed to pass monitoredBarrier in 6000 ms",
            json!({"family": "monitored-barrier", "ranks": [1, 3]}),
        ),
        (
            "RuntimeError: [1]: params[0] in this process with sizes [3, 2] appears not to match sizes of the same param in process 0.",
            json!({"family": "parameter-shape", "ranks": [1]}),
        ),
    ] {
        check(text, "collective-mismatch", &expected);
    }
    for (text, expected) in [
        (
            "[c10d] recvValue failed on SocketImpl(fd=76, addr=[::1]:4, remote=[node0]:29500): Connection reset by peer",
            json!({"operation": "receive", "peer": "[node0]:29500", "reason": "Connection reset by peer"}),
        ),
        (
            "[c10d] sendBytes failed on SocketImpl(fd=3, addr=[a]:1, remote=[b]:2): Broken pipe",
            json!({"operation": "send", "reason": "Broken pipe"}),
        ),
        (
            "torch.distributed.DistStoreError: wait timeout after 300000ms, keys: /default_pg/0//store_based_barrier",
            json!({"operation": "wait"}),
        ),
        (
            "torch.distributed.DistNetworkError: The client socket has timed out after 60000ms while trying to connect to (node0, 29500).",
            json!({"operation": "connect", "peer": "node0, 29500"}),
        ),
        (
            "torch.distributed.DistStoreError: Timed out after 61 seconds waiting for clients. 3/4 clients joined.",
            json!({"operation": "join"}),
        ),
        (
            "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. port: 29500, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use",
            json!({"operation": "listen"}),
        ),
    ] {
        check(text, "rendezvous", &expected);
    }
}

#[test]
fn stores_of_older_versions_and_gloo() {
    for (text, expected) in [
        (
            "RuntimeError: connect() timed out. Original timeout was 60000 ms.",
            json!({"operation": "connect", "reason": "connect() timed out. Original timeout was 60000 ms."}),
        ),
        (
            "RuntimeError: Address already in use",
            json!({"operation": "listen", "reason": "Address already in use"}),
        ),
        (
            "torch.distributed.DistNetworkError: Connection reset by peer",
            json!({"operation": "receive"}),
        ),
        (
            "RuntimeError: Timed out initializing process group in store based barrier on rank: 3, for key: store_based_barrier_key:1 (world_size=8, worker_count=7, timeout=0:30:00)",
            json!({"operation": "join"}),
        ),
        (
            "RuntimeError: [/src/gloo/transport/tcp/pair.cc:589] Read error [10.0.0.7]:25266: Connection reset by peer",
            json!({"operation": "receive", "peer": "10.0.0.7:25266", "reason": "Connection reset by peer"}),
        ),
        (
            "[E ProcessGroupGloo.cpp:144] Gloo connectFullMesh failed with [/src/gloo/transport/tcp/pair.cc:144] no error",
            json!({"operation": "connect"}),
        ),
        (
            "torch.distributed.elastic.rendezvous.api.RendezvousClosedError",
            json!({"operation": "connect"}),
        ),
    ] {
        check(text, "rendezvous", &expected);
    }
    assert!(events("ConnectionResetError: Connection reset by peer, will try again").is_empty());
}

#[test]
fn ranks_that_horovod_waits_for() {
    let text = "[2026-01-08 22:10:41.231440: W horovod/common/stall_inspector.cc:107] One or more tensors were submitted to be \
                reduced, gathered or broadcasted by subset of ranks and are waiting for remainder of ranks for more than 60 seconds.";
    check(text, "watchdog", &json!({"family": "stalled", "ran_ms": 60_000}));
    let went_on = format!("{text}\nstep 1 loss 2.0\nstep 2 loss 1.9\nstep 3 loss 1.8\n");
    assert!(events(&went_on).iter().all(|event| event["survived"] == true));
}

#[test]
fn autograd() {
    for (text, expected) in [
        (
            "Parameter indices which did not receive grad for rank 0: 2 3",
            json!({"family": "unused-parameters", "parameters": ["2", "3"]}),
        ),
        (
            "Parameters which did not receive grad for rank 1: b.bias, b.weight",
            json!({"parameters": ["b.bias", "b.weight"]}),
        ),
        (
            "RuntimeError: Expected to mark a variable ready only once. Parameter at index 4 with name a.weight has been marked as ready twice.",
            json!({"family": "ready-twice", "parameters": ["a.weight"]}),
        ),
        (
            "RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [2]], which is output 0 of Sigmoid, is at version 1; expected version 0 instead. Hint: enable",
            json!({"family": "inplace", "detail": "[torch.FloatTensor [2]], which is output 0 of Sigmoid, is at version 1; expected version 0 instead"}),
        ),
        (
            "RuntimeError: Trying to backward through the graph a second time",
            json!({"family": "backward-twice"}),
        ),
        (
            "RuntimeError: Function 'ExpBackward0' returned nan values in its 0th output.",
            json!({"family": "nan", "detail": "ExpBackward0"}),
        ),
    ] {
        check(text, "autograd", &expected);
    }
}
