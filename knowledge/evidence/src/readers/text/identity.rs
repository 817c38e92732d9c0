//! Which events are the same thing told again.
//!
//! Two events of one writer are equal when what a diagnosis goes by is: codes, devices, ranks, functions, sizes asked
//! for, sequence numbers. What differs from one time to the next is left out: addresses, times, counts, how much memory
//! was free, and numbers inside of messages.

use std::hash::{Hash, Hasher};

use super::hash::Folding;
use super::prefix::Origin;
use super::shape::{Piece, pieces};
use crate::model::{EventPayload, Frame, Thread};

/// The process that writes, as far as its lines tell.
pub fn writer(origin: &Origin) -> u64 {
    hash(|hasher| (&origin.stream, origin.rank, origin.pid).hash(hasher))
}

/// What an event is known by, with its writer.
pub fn event(what: &EventPayload, origin: &Origin) -> u64 {
    hash(|hasher| {
        writer(origin).hash(hasher);
        what.kind().hash(hasher);
        particulars(what, hasher);
    })
}

/// What a stack is known by, with its writer: the functions and lines on it.
pub fn stack(name: &str, thread: &Thread) -> u64 {
    let frame = |frame: &Frame, hasher: &mut Folding| {
        let Frame {
            function,
            file,
            line,
            module,
            ..
        } = frame;
        (function, file, line, module).hash(hasher);
        if function.is_none() {
            (
                frame.offset.map(|offset| offset.0),
                frame.address.map(|address| address.0),
            )
                .hash(hasher);
        }
    };
    hash(|hasher| {
        (
            name,
            &thread.name,
            thread.rank,
            thread.pid,
            thread.crashed,
            thread.frames_omitted,
        )
            .hash(hasher);
        thread.frames.iter().for_each(|one| frame(one, hasher));
    })
}

fn hash(of: impl FnOnce(&mut Folding)) -> u64 {
    let mut hasher = Folding::default();
    of(&mut hasher);
    hasher.finish()
}

fn particulars(what: &EventPayload, to: &mut Folding) {
    match what {
        EventPayload::CudaOom(oom) => (&oom.backend, oom.requested, oom.gpu).hash(to),
        EventPayload::SnapshotOom(oom) => (oom.gpu, oom.requested).hash(to),
        EventPayload::PythonException(e) => {
            (&e.exception, &e.thread, &e.relation, e.ignored).hash(to);
            words(&e.message, 0, to);
            words(e.process.as_deref().unwrap_or_default(), 0, to);
        }
        EventPayload::FatalPythonError(e) => (&e.error, &e.signal).hash(to),
        EventPayload::DataloaderWorker(worker) => {
            (worker.pid, &worker.signal, worker.exit_code, worker.shared_memory).hash(to);
        }
        EventPayload::ProcessExit(exit) => (&exit.signal, exit.exit_code).hash(to),
        EventPayload::NativeAbort(abort) => {
            (
                &abort.family,
                &abort.exception,
                &abort.file,
                abort.line,
                &abort.function,
                &abort.thread,
            )
                .hash(to);
            words(&abort.message, CODE, to);
        }
        EventPayload::HostOom(oom) => (oom.requested, &oom.allocator).hash(to),
        EventPayload::SharedMemory(shared) => {
            (&shared.operation, shared.bytes).hash(to);
            words(shared.object.as_deref().unwrap_or_default(), 0, to);
            words(shared.reason.as_deref().unwrap_or_default(), CODE, to);
        }
        EventPayload::CudaError(error) => {
            (
                &error.api,
                error.code,
                &error.name,
                &error.call,
                &error.file,
                error.line,
            )
                .hash(to);
            words(&error.message, CODE, to);
        }
        EventPayload::DeviceAssert(assert) => (&assert.file, assert.line, &assert.expression).hash(to),
        EventPayload::GpuException(e) => (&e.exception, e.code, e.device, &e.kernel).hash(to),
        EventPayload::NcclError(error) => {
            (&error.result, &error.file, error.line).hash(to);
            words(&error.message, CODE, to);
            words(error.last_error.as_deref().unwrap_or_default(), CODE, to);
        }
        EventPayload::NcclWarning(warning) => {
            (&warning.host, warning.device, &warning.source, &warning.family).hash(to);
            words(&warning.message, CODE, to);
        }
        EventPayload::Watchdog(watchdog) => {
            (
                &watchdog.family,
                &watchdog.group,
                watchdog.sequence,
                &watchdog.operation,
            )
                .hash(to);
            (watchdog.elements_in, watchdog.elements_out).hash(to);
        }
        EventPayload::CollectiveMismatch(mismatch) => {
            (&mismatch.family, &mismatch.ranks, mismatch.sequence).hash(to);
            words(&mismatch.detail, CODE, to);
        }
        EventPayload::Rendezvous(rendezvous) => {
            rendezvous.operation.hash(to);
            words(rendezvous.peer.as_deref().unwrap_or_default(), CODE, to);
            words(&rendezvous.reason, CODE, to);
        }
        EventPayload::Autograd(autograd) => {
            (&autograd.family, &autograd.parameters).hash(to);
            words(&autograd.detail, CODE, to);
        }
        EventPayload::ElasticFailure(failure) => {
            (
                failure.local_rank,
                &failure.host,
                failure.exit_code,
                &failure.signal,
                failure.root,
            )
                .hash(to);
            words(&failure.message, CODE, to);
        }
        EventPayload::Xid(xid) => (xid.code, xid.nvswitch, &xid.pci, &xid.process).hash(to),
        EventPayload::Kernel(kernel) => {
            (
                &kernel.family,
                &kernel.process,
                &kernel.access,
                &kernel.object,
                kernel.cgroup,
            )
                .hash(to);
            // How long a task has been stuck, and on which processor, is told anew every few seconds.
            let is_lockup = kernel.seconds.is_some();
            words(&kernel.message, if is_lockup { 0 } else { CODE }, to);
        }
        EventPayload::Sanitizer(report) => {
            (
                &report.tool,
                &report.access,
                &report.function,
                &report.file,
                report.line,
            )
                .hash(to);
            words(&report.error, 0, to);
        }
        EventPayload::Diagnostic(check) => {
            (&check.test, &check.entity, check.entity_id, check.error, &check.status).hash(to)
        }
        EventPayload::CudaLog(log) => {
            (&log.call, log.code).hash(to);
            words(&log.message, CODE, to);
        }
        EventPayload::Divergence(divergence) => (&divergence.quantity, &divergence.value).hash(to),
        EventPayload::LastWords(last) => {
            last.family.hash(to);
            words(&last.message, CODE, to);
        }
        EventPayload::Hang(hang) => (&hang.family, &hang.ranks, &hang.function).hash(to),
    }
}

/// Numbers of so many characters may be a code, a device or a rank; longer ones are addresses, sizes, ports and times.
const CODE: usize = 3;

/// A text without its numbers that are longer than so many characters.
fn words(text: &str, longest: usize, to: &mut Folding) {
    for piece in pieces(text) {
        match piece {
            Piece::Number(number) if number.len() > longest => to.write_u8(0xff),
            Piece::Words(words) | Piece::Number(words) => to.write(words.as_bytes()),
        }
    }
    to.write_u8(0xfe);
}
