//! How ranks fail to reach each other: NCCL's own warnings, the store, the rendezvous.

use whycrash_plugin::facts::{NcclError, NcclWarning, PythonException, Rendezvous, Watchdog};
use whycrash_plugin::{Citation, Diagnosis, Event, Finding, Report};

use crate::counts;

/// Words of NCCL that name a cause: all must occur. Those that stand first win.
const NCCL: [(&[&str], &str, f64, &str); 27] = [
    (
        &["Duplicate GPU detected"],
        "nccl-dup-gpu",
        0.95,
        "Two ranks of one communicator use the same GPU: the ranks did not choose a device of their own before the first collective.",
    ),
    (
        &["Mismatched NCCL version"],
        "nccl-version-mismatch",
        0.95,
        "The ranks have different versions of NCCL.",
    ),
    (
        &["shmget", "No space left on device"],
        "nccl-shm-too-small",
        0.9,
        "UCX could not make a System V segment of shared memory: the kernel allows no more of them (`ipcs -l` has the limits).",
    ),
    (
        &["Not enough memory to write total of", "/dev/shm"],
        "nccl-shm-too-small",
        0.93,
        "UCX could not make its shared memory segment: /dev/shm is full.",
    ),
    (
        &["/dev/shm/nccl-", "No space left on device"],
        "nccl-shm-too-small",
        0.95,
        "NCCL could not make its shared memory segment: /dev/shm is full.",
    ),
    (
        &["shared memory", "No space left on device"],
        "nccl-shm-too-small",
        0.93,
        "NCCL could not make its shared memory segment: /dev/shm is full.",
    ),
    (
        // It writes no other files but those in /dev/shm.
        &["No space left on device"],
        "nccl-shm-too-small",
        0.88,
        "NCCL could not make its shared memory segment: /dev/shm is full.",
    ),
    (
        &["ibv_create_", "Cannot allocate memory"],
        "nccl-memlock",
        0.86,
        "The InfiniBand card could not get the memory that it needs: the limit on locked memory is too low.",
    ),
    (
        // Without a reason, in releases that do not print one.
        &["failed to extend /dev/shm/nccl-"],
        "nccl-shm-too-small",
        0.86,
        "NCCL could not make its shared memory segment: there is no room left in /dev/shm.",
    ),
    (
        &["Error while creating shared memory segment"],
        "nccl-shm-too-small",
        0.8,
        "NCCL could not make its shared memory segment, which mostly is for want of room in /dev/shm.",
    ),
    (
        &["essage truncated : received"],
        "dist-shape-mismatch",
        0.86,
        "A rank received more bytes for a collective than it had room for: its peer sent a tensor of another size.",
    ),
    (
        &["Unable to register memory", "Cannot allocate memory"],
        "nccl-memlock",
        0.88,
        "Memory could not be registered with the network card: the limit on locked memory, or what the card can map, is too low.",
    ),
    (
        &["ibv_reg_mr", "Cannot allocate memory"],
        "nccl-memlock",
        0.92,
        "Memory could not be registered with the InfiniBand card: the limit on locked memory is too low.",
    ),
    (
        // Releases before 2.12 print no reason.
        &["Call to ibv_reg_mr failed"],
        "nccl-memlock",
        0.76,
        "Memory could not be registered with the InfiniBand card, which mostly is for want of memory that may be locked.",
    ),
    (
        &["ibv_modify_qp"],
        "nccl-ib-modify-qp",
        0.9,
        "A connection over InfiniBand or RoCE could not be set up.",
    ),
    (
        // Whoever uses UCX gave up on a peer, which is more than that the card had no answer.
        &["Remote endpoint is unreachable"],
        "dist-dead-peer",
        0.8,
        "UCX lost the connection to another process: that one ended, or its machine is not reached any more. What it left tells why.",
    ),
    (
        &["Transport retry count exceeded"],
        "nccl-ib-retry-exceeded",
        0.8,
        "The InfiniBand card sent again until its retries were used up, and got no answer.",
    ),
    (
        &["status=12"],
        "nccl-ib-retry-exceeded",
        0.88,
        "The InfiniBand card sent again until its retries were used up, and got no answer.",
    ),
    (
        // NCCL 2.27 and later write the names that libibverbs has.
        &["RETRY_EXC_ERR"],
        "nccl-ib-retry-exceeded",
        0.88,
        "The InfiniBand card sent again until its retries were used up, and got no answer.",
    ),
    (
        // The same before NCCL 2.15.
        &["Got completion", "with error 12,"],
        "nccl-ib-retry-exceeded",
        0.88,
        "The InfiniBand card sent again until its retries were used up, and got no answer.",
    ),
    (
        &["Connect to", "Connection timed out"],
        "nccl-socket-refused",
        0.8,
        "NCCL's socket connection to another rank got no answer: it chose the wrong network interface, or a firewall is between.",
    ),
    (
        &["connect to", "Connection timed out"],
        "nccl-socket-refused",
        0.8,
        "NCCL's socket connection to another rank got no answer: it chose the wrong network interface, or a firewall is between.",
    ),
    (
        // The peer was never heard of: on EFA a security group is between.
        &["Unresponsive receiver", "never established"],
        "nccl-socket-refused",
        0.76,
        "Another rank's network card never answered: a security group or firewall is between, or that machine is gone.",
    ),
    (
        &["Connection refused"],
        "nccl-socket-refused",
        0.8,
        "NCCL's socket connection to another rank was refused.",
    ),
    (
        &["no socket interface found"],
        "nccl-socket-refused",
        0.88,
        "NCCL found no network interface by the name that it was told to use.",
    ),
    (
        &["Connect to ", " failed : "],
        "nccl-socket-refused",
        0.8,
        "NCCL's socket connection to another rank did not come about: it chose the wrong network interface, or a firewall is between.",
    ),
    (
        &["No route to host"],
        "nccl-socket-refused",
        0.88,
        "NCCL has no route to another rank's address: it chose the wrong network interface, or a firewall is between.",
    ),
];

/// How ends of connections tell that the other end is gone.
const LOST: [&str; 12] = [
    "Connection closed by peer",
    "Connection closed by remote peer",
    "Connection reset by peer",
    "Connection reset by remote peer",
    "remote process exited",
    "ncclRemoteError",
    "failed to recv, got 0 bytes",
    "Broken pipe",
    "Unresponsive remote (was previously responsive)",
    "reachable by EFA device but handshake failed",
    "stopped sending heartbeats",
    "JAX distributed service detected fatal errors",
];

/// Something that was said, and where.
struct Said {
    text: String,
    citation: Citation,
    number: u32,
}

pub fn rule(report: &Report) -> Option<Diagnosis> {
    let nccl = said_by_nccl(report);
    named_by_nccl(&nccl)
        .or_else(|| rendezvous(report))
        .or_else(|| interpreter_lock(report))
}

/// Whose connection broke, which follows from whatever else went wrong.
pub fn lost(report: &Report) -> Option<Diagnosis> {
    lost_peer(report, &said_by_nccl(report))
}

fn said_by_nccl(report: &Report) -> Vec<Said> {
    let said = |event: &Event, text: String| {
        counts(event).then(|| Said {
            text,
            citation: report.cite(event),
            number: event.number,
        })
    };
    let warnings = report.told::<NcclWarning>();
    let warnings = warnings
        .iter()
        .map(|told| said(&told.event, told.detail.message.clone()));
    let errors = report.told::<NcclError>();
    let errors = errors.iter().map(|told| {
        let detail = &told.detail;
        let parts = [
            Some(&detail.message),
            detail.last_error.as_ref(),
            detail.result.as_ref(),
        ];
        said(
            &told.event,
            parts
                .into_iter()
                .flatten()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(" "),
        )
    });
    let mut all: Vec<Said> = warnings.chain(errors).flatten().collect();
    all.sort_by_key(|said| said.number);
    all
}

fn named_by_nccl(all: &[Said]) -> Option<Diagnosis> {
    NCCL.iter().find_map(|(words, cause, confidence, why)| {
        let said = all
            .iter()
            .find(|said| words.iter().all(|word| said.text.contains(word)))?;
        Some(
            Finding::new(cause, *confidence)
                .because(*why)
                .cite(said.citation.clone())
                .into(),
        )
    })
}

/// What a wait for a key of the store says by whose key it is. Agents, gloo and the barrier at the start wait for all
/// to be there; within a process group, a rank waits for another one of it.
fn waited(rendezvous: &Rendezvous) -> (&'static str, f64, String) {
    const OF_THE_START: [&str; 5] = ["worker", "attempt", "rank_", "barrier", "rendezvous"];
    if let Some(rank) = &rendezvous.peer {
        let why = format!(
            "Before its first collective a rank gets NCCL's id from {rank}, by the job's store. It was not there in time: {rank} did \
             not come to that collective, because it still loaded or prepared something, waits elsewhere, or ended."
        );
        return ("dist-rank-missing", 0.7, why);
    }
    if OF_THE_START.iter().any(|word| rendezvous.reason.contains(word)) {
        let why =
            "Not all processes came together in time: they waited in the job's store for one that never wrote there.";
        return ("dist-rendezvous-timeout", 0.86, why.to_owned());
    }
    let why = "A rank waited in the job's store for what another one puts there, and that one did not come in time.";
    ("dist-rank-missing", 0.66, why.to_owned())
}

fn rendezvous(report: &Report) -> Option<Diagnosis> {
    let all = report.told::<Rendezvous>();
    let elsewhere = |reason: &str| reason.contains("Cannot assign requested address");
    let is_own_address = !all.iter().any(|told| elsewhere(&told.detail.reason));
    let mut counting = all.iter().filter(|told| counts(&told.event));
    let (told, cause, confidence, why) = counting.find_map(|told| {
        let reason = told.detail.reason.as_str();
        let in_use = ["EADDRINUSE", "address already in use", "Address already in use"];
        let late = ["timed out", "timeout", "Timeout", "clients joined"];
        match told.detail.operation.as_str() {
            "listen" if !is_own_address => Some((
                told,
                "dist-rendezvous-timeout",
                0.85,
                "Whoever is to hold the store of the job can not listen at its address, which is none of that machine's: the ranks were \
                 given the address of another one, or a name that stands for another address there."
                    .to_owned(),
            )),
            // A terminal may have folded the line before its reason, which hardly ever is another one.
            "listen" if reason.is_empty() || in_use.iter().any(|words| reason.contains(words)) => Some((
                told,
                "dist-port-in-use",
                0.94,
                "The port that the ranks meet at is taken by another process, often a job that was left over."
                    .to_owned(),
            )),
            "wait" => {
                let (cause, confidence, why) = waited(&told.detail);
                Some((told, cause, confidence, why))
            }
            "connect" | "join" if late.iter().any(|words| reason.contains(words)) => Some((
                told,
                "dist-rendezvous-timeout",
                0.88,
                "Not all ranks came together in time: a wrong address, a firewall, or a node that did not start."
                    .to_owned(),
            )),
            // The first connections of gloo, from each rank to each other.
            "connect" if told.event.text.contains("Gloo connectFullMesh") => Some((
                told,
                "nccl-socket-refused",
                0.76,
                "gloo could not connect the ranks to each other: it chose an interface or took a host's name for an address over which \
                 the others are not reached."
                    .to_owned(),
            )),
            _ => None,
        }
    })?;
    Some(
        Finding::new(cause, confidence)
            .because(why)
            .cite(report.cite(&told.event))
            .into(),
    )
}

fn interpreter_lock(report: &Report) -> Option<Diagnosis> {
    let all = report.told::<Watchdog>();
    let told = all
        .iter()
        .find(|told| told.detail.family == "gil" && !told.event.survived)?;
    let finding = Finding::new("dist-gil-hang", 0.85)
        .because("The process could not get Python's interpreter lock: native code holds it and does not come back.");
    Some(finding.cite(report.cite(&told.event)).into())
}

/// The store is gone, and with it whoever held it.
fn lost_store(report: &Report) -> Option<Diagnosis> {
    let all = report.told::<Rendezvous>();
    let told = all.iter().find(|told| {
        let of_store = ["recvValue", "sendBytes", "recvVector", "TCPStore", "store->"];
        counts(&told.event)
            && matches!(told.detail.operation.as_str(), "receive" | "send")
            && of_store.iter().any(|words| told.event.text.contains(words))
    })?;
    let finding = Finding::new("dist-store-lost", 0.76).because(
        "The connection to the store of the job broke: whoever held it, rank 0 or the launcher's agent, had ended before. Nothing in this \
         report says why: this is an echo.",
    );
    Some(Diagnosis::from(finding.cite(report.cite(&told.event))).collect(
        "the logs of all ranks, that of rank 0 first",
        "torchrun --log-dir logs --tee 3, then hand over the whole folder",
        ["dist-store-lost", "dist-dead-peer"],
    ))
}

/// Whether a rank raised an exception of its own, that is not about a connection: then it ended for that.
fn somebody_says_why(report: &Report) -> bool {
    const OF_CONNECTIONS: [&str; 5] = ["onnection", "recv", "send", "store", "pipe"];
    let all = report.told::<PythonException>();
    all.iter().any(|told| {
        let raised = &told.detail;
        let is_own = !raised.ignored && !["", "KeyboardInterrupt", "SystemExit"].contains(&raised.exception.as_str());
        let is_of_connection = [&raised.exception, &raised.message]
            .iter()
            .any(|text| OF_CONNECTIONS.iter().any(|word| text.contains(word)));
        counts(&told.event) && is_own && !is_of_connection && !raised.exception.ends_with("ChildFailedError")
    })
}

/// A peer is gone, and nothing in the report says why.
fn lost_peer(report: &Report, nccl: &[Said]) -> Option<Diagnosis> {
    let is_lost = |text: &str| LOST.iter().any(|words| text.contains(words));
    let by_nccl = nccl
        .iter()
        .find(|said| is_lost(&said.text))
        .map(|said| said.citation.clone());
    let by_store = || {
        let all = report.told::<Rendezvous>();
        let told = all.iter().find(|told| {
            counts(&told.event)
                && matches!(told.detail.operation.as_str(), "receive" | "send")
                && is_lost(&told.detail.reason)
        })?;
        Some(report.cite(&told.event))
    };
    let by_exception = || {
        let all = report.told::<PythonException>();
        // Only in the words of the process group: pipes and sockets of the program's own break as well.
        let told = all.iter().find(|told| {
            let message = &told.detail.message;
            counts(&told.event)
                && is_lost(message)
                && ["gloo", "nccl", "NCCL", "pair.cc", "remote worker"]
                    .iter()
                    .any(|word| message.contains(word))
        })?;
        Some(report.cite(&told.event))
    };
    if by_nccl.is_none() {
        if somebody_says_why(report) {
            return None;
        }
        if let Some(finding) = lost_store(report) {
            return Some(finding);
        }
    }
    let citation = by_nccl.or_else(by_store).or_else(by_exception)?;
    let finding = Finding::new("dist-dead-peer", 0.75).because(
        "Another rank's process ended and this one lost its connection to it. Nothing in this report says why that one ended: this is an echo.",
    );
    Some(Diagnosis::from(finding.cite(citation)).collect(
        "the logs of all ranks",
        "torchrun --log-dir logs --tee 3, then hand over the whole folder",
        ["dist-dead-peer"],
    ))
}
