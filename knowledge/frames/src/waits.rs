//! What a thread waits for, as the functions on its stack tell.

use crate::{Names, Owner, base, owner};

/// What a thread can wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wait {
    /// A lock that somebody has.
    Lock,
    /// That another thread says that something is so: an event, a condition.
    Event,
    /// Something out of a queue, or room in one.
    Queue,
    /// That another thread ends, or the result of one.
    Thread,
    /// That another process ends.
    Process,
    /// The other end of a pipe.
    Pipe,
    /// A peer on the network, or a connection.
    Socket,
    /// That one of several files or sockets is ready.
    Poll,
    /// What an event loop has to do next.
    EventLoop,
    /// The other ranks of a collective.
    Collective,
    /// The GPU.
    Device,
    /// A disk, or whatever a file is kept on.
    File,
    /// A signal.
    Signal,
    /// That time passes.
    Sleep,
    /// The interpreter's lock.
    Interpreter,
    /// An address in memory: whatever it stands for.
    Futex,
}

impl Wait {
    /// Its name in evidence, such as `event-loop`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lock => "lock",
            Self::Event => "event",
            Self::Queue => "queue",
            Self::Thread => "thread",
            Self::Process => "process",
            Self::Pipe => "pipe",
            Self::Socket => "socket",
            Self::Poll => "poll",
            Self::EventLoop => "event-loop",
            Self::Collective => "collective",
            Self::Device => "device",
            Self::File => "file",
            Self::Signal => "signal",
            Self::Sleep => "sleep",
            Self::Interpreter => "interpreter",
            Self::Futex => "futex",
        }
    }

    /// What follows "waits for", or "waits" where nothing is awaited.
    pub fn words(self) -> &'static str {
        match self {
            Self::Lock => "a lock",
            Self::Event => "an event that another thread has to set",
            Self::Queue => "a queue",
            Self::Thread => "the end of another thread",
            Self::Process => "the end of another process",
            Self::Pipe => "the other end of a pipe",
            Self::Socket => "a peer on the network",
            Self::Poll => "any of several files or sockets",
            Self::EventLoop => "the next thing its event loop has to do",
            Self::Collective => "the other ranks, in a collective",
            Self::Device => "the GPU",
            Self::File => "a file",
            Self::Signal => "a signal",
            Self::Sleep => "a sleep to end",
            Self::Interpreter => "the interpreter's lock",
            Self::Futex => "another thread",
        }
    }

    /// Whether nobody but a thread of the same process can end the wait.
    pub fn is_within_process(self) -> bool {
        matches!(
            self,
            Self::Lock | Self::Event | Self::Queue | Self::Thread | Self::Interpreter | Self::Futex
        )
    }
}

/// A wait, and the frame that tells of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// What is awaited.
    pub what: Wait,
    /// Index of the outermost library function that waits; none where a system call alone tells.
    pub frame: Option<usize>,
}

/// Innermost frames among which the wait is.
const NEAR: usize = 48;

/// The system call that a thread is in, as far as it is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemCall<'a> {
    /// Its name.
    pub name: Option<&'a str>,
    /// What it is about: the path of an open file, or `pipe` or `socket`.
    pub file: Option<&'a str>,
}

/// What a thread waits for: its stack, innermost frame first, and the system call it is in.
///
/// The outermost function that a table knows tells most: `queue.get` waits in a condition, which waits in a lock, which
/// waits in a semaphore. Frames below the program's own say what the program does, and not what it waits in.
pub fn wait<'a>(stack: impl IntoIterator<Item = Names<'a>>, call: SystemCall<'_>) -> Option<Waiting> {
    let mut python = None;
    let mut native = None;
    for (index, names) in stack.into_iter().take(NEAR).enumerate() {
        if let Some(what) = WAITS.iter().find(|row| row.is(&names)).map(|row| row.what) {
            let found = Waiting {
                what,
                frame: Some(index),
            };
            *(if names.python { &mut python } else { &mut native }) = Some(found);
        } else if owner(&names) == Owner::Program {
            break;
        }
    }
    let by_call = || {
        let (_, what, _) = CALLS.iter().find(|(name, _, _)| Some(*name) == call.name)?;
        Some(Waiting {
            what: *what,
            frame: None,
        })
    };
    let found = python.or(native).or_else(by_call)?;
    let what = match (found.what, call.file) {
        (Wait::File, Some("pipe")) => Wait::Pipe,
        (Wait::File, Some("socket")) => Wait::Socket,
        (what, _) => what,
    };
    Some(Waiting { what, ..found })
}

/// The frame of an event loop that an inner frame of the program keeps from going on, in a stack of innermost frame first.
pub fn blocked_event_loop<'a>(stack: impl IntoIterator<Item = Names<'a>>) -> Option<usize> {
    let mut in_program = false;
    for (index, names) in stack.into_iter().enumerate() {
        let is_loop = names.python
            && names.function == Some("_run_once")
            && names.file.is_some_and(|file| file.ends_with("asyncio/base_events.py"));
        if is_loop {
            return in_program.then_some(index);
        }
        in_program |= names.python && owner(&names) == Owner::Program;
    }
    None
}

/// A function in which a thread waits.
#[derive(Clone, Copy, Debug)]
pub struct WaitRow {
    /// Whether it is a function of Python.
    pub python: bool,
    /// Its name, of native functions without the underlines before it; with `*` at the end, how it begins.
    pub function: &'static str,
    /// How the path of its file ends (Python), or how the name of its binary begins (native); empty for any.
    pub place: &'static str,
    /// What it waits for.
    pub what: Wait,
    /// A stack with it, innermost frame first: `function (file or binary)`.
    pub example: &'static str,
}

impl WaitRow {
    fn is(&self, names: &Names) -> bool {
        let (function, place) = match names.python {
            true => (
                names.function,
                names.file.is_some_and(|file| file.ends_with(self.place)),
            ),
            false => {
                let binary = names.module.map(base).unwrap_or_default();
                let function = names
                    .function
                    .map(|function| function.trim_start_matches("__GI_").trim_start_matches('_'));
                (function, binary.starts_with(self.place))
            }
        };
        let is_named = function.is_some_and(|function| match self.function.strip_suffix('*') {
            Some(start) => function.starts_with(start),
            None => function == self.function,
        });
        self.python == names.python && place && is_named
    }
}

const fn python(function: &'static str, place: &'static str, what: Wait, example: &'static str) -> WaitRow {
    WaitRow {
        python: true,
        function,
        place,
        what,
        example,
    }
}

const fn native(function: &'static str, place: &'static str, what: Wait, example: &'static str) -> WaitRow {
    WaitRow {
        python: false,
        function,
        place,
        what,
        example,
    }
}

/// System calls that tell what is awaited where no function does, each with how `/proc/PID/syscall` shows one.
pub const CALLS: &[(&str, Wait, &str)] = &[
    ("futex", Wait::Futex, "202 0x7f0000000000 0x189 0x0"),
    ("nanosleep", Wait::Sleep, "35 0x7ffc00000000 0x0"),
    ("clock_nanosleep", Wait::Sleep, "230 0x1 0x1 0x7ffc00000000"),
    ("poll", Wait::Poll, "7 0x7ffc00000000 0x1 0xffffffff"),
    ("ppoll", Wait::Poll, "271 0x7ffc00000000 0x1"),
    ("select", Wait::Poll, "23 0x4 0x7ffc00000000"),
    ("pselect6", Wait::Poll, "270 0x4 0x7ffc00000000"),
    ("epoll_wait", Wait::Poll, "232 0x5 0x7ffc00000000 0x1"),
    ("epoll_pwait", Wait::Poll, "281 0x5 0x7ffc00000000 0x1"),
    ("wait4", Wait::Process, "61 0x1268 0x7ffc00000000"),
    ("waitid", Wait::Process, "247 0x0 0x1268"),
    ("recvfrom", Wait::Socket, "45 0x3 0x7ffc00000000"),
    ("recvmsg", Wait::Socket, "47 0x3 0x7ffc00000000"),
    ("sendto", Wait::Socket, "44 0x3 0x7ffc00000000"),
    ("sendmsg", Wait::Socket, "46 0x3 0x7ffc00000000"),
    ("accept", Wait::Socket, "43 0x3 0x7ffc00000000"),
    ("accept4", Wait::Socket, "288 0x3 0x7ffc00000000"),
    ("connect", Wait::Socket, "42 0x3 0x7ffc00000000"),
    ("read", Wait::File, "0 0x3 0x7ffc00000000"),
    ("write", Wait::File, "1 0x3 0x7ffc00000000"),
    ("fsync", Wait::File, "74 0x3"),
    ("fdatasync", Wait::File, "75 0x3"),
    ("flock", Wait::File, "73 0x3 0x2"),
    ("openat", Wait::File, "257 0xffffff9c 0x7ffc00000000"),
    ("pread64", Wait::File, "17 0x3 0x7ffc00000000"),
    ("rt_sigtimedwait", Wait::Signal, "128 0x7ffc00000000"),
    ("pause", Wait::Signal, "34"),
    ("ioctl", Wait::Device, "16 0x7 0xc0000000"),
];

/// Functions in which threads wait. Where several are on a stack, the outermost one tells.
pub const WAITS: &[WaitRow] = &[
    // Python's own library.
    python(
        "get",
        "/queue.py",
        Wait::Queue,
        "wait (/usr/lib/python3.11/threading.py), get (/usr/lib/python3.11/queue.py)",
    ),
    python(
        "put",
        "/queue.py",
        Wait::Queue,
        "wait (/usr/lib/python3.11/threading.py), put (/usr/lib/python3.11/queue.py)",
    ),
    python(
        "join",
        "/queue.py",
        Wait::Queue,
        "wait (/usr/lib/python3.11/threading.py), join (/usr/lib/python3.11/queue.py)",
    ),
    python(
        "get",
        "multiprocessing/queues.py",
        Wait::Queue,
        "recv_bytes (/usr/lib/python3.11/multiprocessing/connection.py), get (/usr/lib/python3.11/multiprocessing/queues.py)",
    ),
    python(
        "put",
        "multiprocessing/queues.py",
        Wait::Queue,
        "__enter__ (/usr/lib/python3.11/multiprocessing/synchronize.py), put (/usr/lib/python3.11/multiprocessing/queues.py)",
    ),
    python(
        "join",
        "multiprocessing/queues.py",
        Wait::Queue,
        "wait (/usr/lib/python3.11/multiprocessing/synchronize.py), join (/usr/lib/python3.11/multiprocessing/queues.py)",
    ),
    python(
        "_wait_for_tstate_lock",
        "/threading.py",
        Wait::Thread,
        "_wait_for_tstate_lock (/usr/lib/python3.11/threading.py)",
    ),
    python(
        "join",
        "/threading.py",
        Wait::Thread,
        "_wait_for_tstate_lock (/usr/lib/python3.11/threading.py), join (/usr/lib/python3.11/threading.py)",
    ),
    python(
        "_shutdown",
        "/threading.py",
        Wait::Thread,
        "_shutdown (/usr/lib/python3.12/threading.py)",
    ),
    python(
        "wait",
        "/threading.py",
        Wait::Event,
        "wait (/usr/lib/python3.11/threading.py)",
    ),
    python(
        "wait_for",
        "/threading.py",
        Wait::Event,
        "wait (/usr/lib/python3.11/threading.py), wait_for (/usr/lib/python3.11/threading.py)",
    ),
    python(
        "acquire",
        "/threading.py",
        Wait::Lock,
        "acquire (/usr/lib/python3.11/threading.py)",
    ),
    python(
        "__enter__",
        "/threading.py",
        Wait::Lock,
        "__enter__ (/usr/lib/python3.11/threading.py)",
    ),
    python(
        "acquire",
        "logging/__init__.py",
        Wait::Lock,
        "acquire (/usr/lib/python3.11/logging/__init__.py)",
    ),
    python(
        "_acquireLock",
        "logging/__init__.py",
        Wait::Lock,
        "_acquireLock (/usr/lib/python3.11/logging/__init__.py)",
    ),
    python(
        "acquire",
        "importlib._bootstrap>",
        Wait::Lock,
        "acquire (<frozen importlib._bootstrap>)",
    ),
    python(
        "__enter__",
        "multiprocessing/synchronize.py",
        Wait::Lock,
        "__enter__ (/usr/lib/python3.11/multiprocessing/synchronize.py)",
    ),
    python(
        "wait",
        "multiprocessing/synchronize.py",
        Wait::Event,
        "wait (/usr/lib/python3.11/multiprocessing/synchronize.py)",
    ),
    python(
        "result",
        "concurrent/futures/_base.py",
        Wait::Thread,
        "wait (/usr/lib/python3.11/threading.py), result (/usr/lib/python3.11/concurrent/futures/_base.py)",
    ),
    python(
        "wait",
        "concurrent/futures/_base.py",
        Wait::Thread,
        "wait (/usr/lib/python3.11/threading.py), wait (/usr/lib/python3.11/concurrent/futures/_base.py)",
    ),
    python(
        "as_completed",
        "concurrent/futures/_base.py",
        Wait::Thread,
        "wait (/usr/lib/python3.11/threading.py), as_completed (/usr/lib/python3.11/concurrent/futures/_base.py)",
    ),
    python(
        "result_iterator",
        "concurrent/futures/_base.py",
        Wait::Thread,
        "result (/usr/lib/python3.11/concurrent/futures/_base.py), result_iterator (/usr/lib/python3.11/concurrent/futures/_base.py)",
    ),
    python(
        "shutdown",
        "concurrent/futures/thread.py",
        Wait::Thread,
        "join (/usr/lib/python3.11/threading.py), shutdown (/usr/lib/python3.11/concurrent/futures/thread.py)",
    ),
    python(
        "_worker",
        "concurrent/futures/thread.py",
        Wait::Queue,
        "_worker (/usr/lib/python3.11/concurrent/futures/thread.py)",
    ),
    python(
        "wait",
        "/subprocess.py",
        Wait::Process,
        "_wait (/usr/lib/python3.11/subprocess.py), wait (/usr/lib/python3.11/subprocess.py)",
    ),
    python(
        "_wait",
        "/subprocess.py",
        Wait::Process,
        "_wait (/usr/lib/python3.11/subprocess.py)",
    ),
    python(
        "communicate",
        "/subprocess.py",
        Wait::Process,
        "select (/usr/lib/python3.11/selectors.py), _communicate (/usr/lib/python3.11/subprocess.py), communicate (/usr/lib/python3.11/subprocess.py)",
    ),
    python(
        "run",
        "/subprocess.py",
        Wait::Process,
        "communicate (/usr/lib/python3.11/subprocess.py), run (/usr/lib/python3.11/subprocess.py)",
    ),
    python(
        "call",
        "/subprocess.py",
        Wait::Process,
        "wait (/usr/lib/python3.11/subprocess.py), call (/usr/lib/python3.11/subprocess.py)",
    ),
    python(
        "poll",
        "multiprocessing/popen_fork.py",
        Wait::Process,
        "poll (/usr/lib/python3.11/multiprocessing/popen_fork.py)",
    ),
    python(
        "wait",
        "multiprocessing/popen_fork.py",
        Wait::Process,
        "poll (/usr/lib/python3.11/multiprocessing/popen_fork.py), wait (/usr/lib/python3.11/multiprocessing/popen_fork.py)",
    ),
    python(
        "join",
        "multiprocessing/process.py",
        Wait::Process,
        "wait (/usr/lib/python3.11/multiprocessing/popen_fork.py), join (/usr/lib/python3.11/multiprocessing/process.py)",
    ),
    python(
        "join",
        "multiprocessing/pool.py",
        Wait::Process,
        "join (/usr/lib/python3.11/threading.py), join (/usr/lib/python3.11/multiprocessing/pool.py)",
    ),
    python(
        "get",
        "multiprocessing/pool.py",
        Wait::Process,
        "wait (/usr/lib/python3.11/threading.py), wait (/usr/lib/python3.11/multiprocessing/pool.py), get (/usr/lib/python3.11/multiprocessing/pool.py)",
    ),
    python(
        "wait",
        "multiprocessing/pool.py",
        Wait::Process,
        "wait (/usr/lib/python3.11/threading.py), wait (/usr/lib/python3.11/multiprocessing/pool.py)",
    ),
    python(
        "_recv",
        "multiprocessing/connection.py",
        Wait::Pipe,
        "_recv (/usr/lib/python3.11/multiprocessing/connection.py)",
    ),
    python(
        "_send",
        "multiprocessing/connection.py",
        Wait::Pipe,
        "_send (/usr/lib/python3.11/multiprocessing/connection.py)",
    ),
    python(
        "recv",
        "multiprocessing/connection.py",
        Wait::Pipe,
        "_recv (/usr/lib/python3.11/multiprocessing/connection.py), recv (/usr/lib/python3.11/multiprocessing/connection.py)",
    ),
    python(
        "recv_bytes",
        "multiprocessing/connection.py",
        Wait::Pipe,
        "_recv (/usr/lib/python3.11/multiprocessing/connection.py), recv_bytes (/usr/lib/python3.11/multiprocessing/connection.py)",
    ),
    python(
        "send",
        "multiprocessing/connection.py",
        Wait::Pipe,
        "_send (/usr/lib/python3.11/multiprocessing/connection.py), send (/usr/lib/python3.11/multiprocessing/connection.py)",
    ),
    python(
        "wait",
        "multiprocessing/connection.py",
        Wait::Pipe,
        "select (/usr/lib/python3.11/selectors.py), wait (/usr/lib/python3.11/multiprocessing/connection.py)",
    ),
    python(
        "accept",
        "/socket.py",
        Wait::Socket,
        "accept (/usr/lib/python3.11/socket.py)",
    ),
    python(
        "readinto",
        "/socket.py",
        Wait::Socket,
        "readinto (/usr/lib/python3.11/socket.py)",
    ),
    python(
        "create_connection",
        "/socket.py",
        Wait::Socket,
        "create_connection (/usr/lib/python3.11/socket.py)",
    ),
    python(
        "getaddrinfo",
        "/socket.py",
        Wait::Socket,
        "getaddrinfo (/usr/lib/python3.11/socket.py)",
    ),
    python("read", "/ssl.py", Wait::Socket, "read (/usr/lib/python3.11/ssl.py)"),
    python(
        "getresponse",
        "http/client.py",
        Wait::Socket,
        "readinto (/usr/lib/python3.11/socket.py), getresponse (/usr/lib/python3.11/http/client.py)",
    ),
    python(
        "urlopen",
        "urllib/request.py",
        Wait::Socket,
        "getresponse (/usr/lib/python3.11/http/client.py), urlopen (/usr/lib/python3.11/urllib/request.py)",
    ),
    python(
        "send",
        "requests/adapters.py",
        Wait::Socket,
        "readinto (/usr/lib/python3.11/socket.py), send (/venv/lib/python3.11/site-packages/requests/adapters.py)",
    ),
    python(
        "serve_forever",
        "/socketserver.py",
        Wait::Socket,
        "select (/usr/lib/python3.11/selectors.py), serve_forever (/usr/lib/python3.11/socketserver.py)",
    ),
    python(
        "select",
        "/selectors.py",
        Wait::Poll,
        "select (/usr/lib/python3.11/selectors.py)",
    ),
    python(
        "_run_once",
        "asyncio/base_events.py",
        Wait::EventLoop,
        "select (/usr/lib/python3.11/selectors.py), _run_once (/usr/lib/python3.11/asyncio/base_events.py)",
    ),
    python(
        "flock",
        "/filelock/_unix.py",
        Wait::File,
        "flock (/venv/lib/python3.11/site-packages/filelock/_unix.py)",
    ),
    python(
        "acquire",
        "/filelock/_api.py",
        Wait::File,
        "acquire (/venv/lib/python3.11/site-packages/filelock/_api.py)",
    ),
    python(
        "wait",
        "torch/utils/file_baton.py",
        Wait::File,
        "wait (/venv/lib/python3.11/site-packages/torch/utils/file_baton.py)",
    ),
    // torch.
    python(
        "_try_get_data",
        "torch/utils/data/dataloader.py",
        Wait::Queue,
        "get (/usr/lib/python3.11/queue.py), _try_get_data (/venv/lib/python3.11/site-packages/torch/utils/data/dataloader.py)",
    ),
    python(
        "_worker_loop",
        "torch/utils/data/_utils/worker.py",
        Wait::Queue,
        "get (/usr/lib/python3.11/multiprocessing/queues.py), _worker_loop (/venv/lib/python3.11/site-packages/torch/utils/data/_utils/worker.py)",
    ),
    python(
        "*",
        "torch/distributed/distributed_c10d.py",
        Wait::Collective,
        "all_reduce (/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py)",
    ),
    python(
        "*",
        "torch/distributed/rendezvous.py",
        Wait::Collective,
        "_env_rendezvous_handler (/venv/lib/python3.11/site-packages/torch/distributed/rendezvous.py)",
    ),
    python(
        "*",
        "torch/distributed/_functional_collectives.py",
        Wait::Collective,
        "wait_tensor (/venv/lib/python3.11/site-packages/torch/distributed/_functional_collectives.py)",
    ),
    python(
        "*",
        "horovod/torch/mpi_ops.py",
        Wait::Collective,
        "synchronize (/venv/lib/python3.11/site-packages/horovod/torch/mpi_ops.py)",
    ),
    python(
        "synchronize",
        "torch/cuda/__init__.py",
        Wait::Device,
        "synchronize (/venv/lib/python3.11/site-packages/torch/cuda/__init__.py)",
    ),
    python(
        "synchronize",
        "torch/cuda/streams.py",
        Wait::Device,
        "synchronize (/venv/lib/python3.11/site-packages/torch/cuda/streams.py)",
    ),
    python(
        "_invoke_run",
        "elastic/agent/server/api.py",
        Wait::Process,
        "_invoke_run (/venv/lib/python3.11/site-packages/torch/distributed/elastic/agent/server/api.py)",
    ),
    // The interpreter.
    native(
        "take_gil",
        "",
        Wait::Interpreter,
        "futex_wait (libc.so.6), pthread_cond_timedwait (libc.so.6), take_gil (python3.11)",
    ),
    native(
        "PyEval_RestoreThread",
        "",
        Wait::Interpreter,
        "pthread_cond_timedwait (libc.so.6), PyEval_RestoreThread (libpython3.11.so.1.0)",
    ),
    native(
        "PyEval_AcquireThread",
        "",
        Wait::Interpreter,
        "pthread_cond_timedwait (libc.so.6), PyEval_AcquireThread (libpython3.11.so.1.0)",
    ),
    native(
        "PyGILState_Ensure",
        "",
        Wait::Interpreter,
        "pthread_cond_timedwait (libc.so.6), PyGILState_Ensure (libpython3.11.so.1.0)",
    ),
    native(
        "PyThread_acquire_lock*",
        "",
        Wait::Lock,
        "sem_wait (libc.so.6), PyThread_acquire_lock_timed (python3.11)",
    ),
    // MPI, NCCL, Gloo, torch.
    native(
        "gloo::*",
        "",
        Wait::Collective,
        "pthread_cond_wait (libc.so.6), gloo::transport::tcp::UnboundBuffer::waitRecv(int*, std::chrono::duration<long>) (libtorch_cpu.so)",
    ),
    native(
        "c10d::*",
        "",
        Wait::Collective,
        "poll (libc.so.6), c10d::TCPStore::wait(std::vector<std::string> const&) (libtorch_cpu.so)",
    ),
    native(
        "nccl*",
        "",
        Wait::Collective,
        "poll (libc.so.6), ncclGroupEnd (libnccl.so.2)",
    ),
    native(
        "*",
        "libnccl",
        Wait::Collective,
        "poll (libc.so.6), bootstrapRecv (libnccl.so.2)",
    ),
    native(
        "MPI_*",
        "",
        Wait::Collective,
        "epoll_wait (libc.so.6), MPI_Allreduce (libmpi.so.40)",
    ),
    native(
        "cudaDeviceSynchronize",
        "",
        Wait::Device,
        "cudaDeviceSynchronize (libcudart.so.12)",
    ),
    native(
        "cudaStreamSynchronize",
        "",
        Wait::Device,
        "cudaStreamSynchronize (libcudart.so.12)",
    ),
    native(
        "cudaEventSynchronize",
        "",
        Wait::Device,
        "cudaEventSynchronize (libcudart.so.12)",
    ),
    native(
        "*",
        "libcuda.so",
        Wait::Device,
        "ioctl (libc.so.6), cuInit (libcuda.so.1)",
    ),
    native(
        "hipStreamSynchronize",
        "",
        Wait::Device,
        "hipStreamSynchronize (libamdhip64.so.6)",
    ),
    // The C library.
    native("lll_lock_wait*", "", Wait::Lock, "__lll_lock_wait (libc.so.6)"),
    native(
        "pthread_mutex_*",
        "",
        Wait::Lock,
        "__lll_lock_wait (libc.so.6), ___pthread_mutex_lock (libc.so.6)",
    ),
    native(
        "pthread_rwlock_*",
        "",
        Wait::Lock,
        "__pthread_rwlock_wrlock (libc.so.6)",
    ),
    native(
        "std::mutex::lock*",
        "",
        Wait::Lock,
        "pthread_mutex_lock (libc.so.6), std::mutex::lock() (libtrainer.so)",
    ),
    native(
        "pthread_cond_*",
        "",
        Wait::Event,
        "futex_wait (libc.so.6), pthread_cond_wait (libc.so.6)",
    ),
    native(
        "std::condition_variable::wait*",
        "",
        Wait::Event,
        "pthread_cond_wait (libc.so.6), std::condition_variable::wait(std::unique_lock<std::mutex>&) (libstdc++.so.6)",
    ),
    native("sem_*", "", Wait::Event, "futex_wait (libc.so.6), sem_wait (libc.so.6)"),
    native(
        "pthread_join",
        "",
        Wait::Thread,
        "futex_wait (libc.so.6), pthread_join (libc.so.6)",
    ),
    native(
        "pthread_clockjoin_ex",
        "",
        Wait::Thread,
        "futex_wait (libc.so.6), __pthread_clockjoin_ex (libc.so.6)",
    ),
    native("accept", "libc", Wait::Socket, "accept (libc.so.6)"),
    native("accept4", "libc", Wait::Socket, "accept4 (libc.so.6)"),
    native("libc_accept", "libc", Wait::Socket, "__libc_accept (libc.so.6)"),
    native("connect", "libc", Wait::Socket, "connect (libc.so.6)"),
    native("libc_connect", "libc", Wait::Socket, "__libc_connect (libc.so.6)"),
    native("recv*", "libc", Wait::Socket, "recvmsg (libc.so.6)"),
    native("libc_recv*", "libc", Wait::Socket, "__libc_recv (libc.so.6)"),
    native("send", "libc", Wait::Socket, "send (libc.so.6)"),
    native("sendmsg", "libc", Wait::Socket, "sendmsg (libc.so.6)"),
    native("poll", "libc", Wait::Poll, "__poll (libc.so.6)"),
    native("ppoll", "libc", Wait::Poll, "ppoll (libc.so.6)"),
    native("select", "libc", Wait::Poll, "__select (libc.so.6)"),
    native("epoll_*", "libc", Wait::Poll, "epoll_wait (libc.so.6)"),
    native("wait4", "libc", Wait::Process, "wait4 (libc.so.6)"),
    native("waitpid", "libc", Wait::Process, "__waitpid (libc.so.6)"),
    native("waitid", "libc", Wait::Process, "waitid (libc.so.6)"),
    native("nanosleep", "libc", Wait::Sleep, "__nanosleep (libc.so.6)"),
    native(
        "clock_nanosleep*",
        "libc",
        Wait::Sleep,
        "clock_nanosleep@GLIBC_2.2.5 (libc.so.6)",
    ),
    native(
        "sleep",
        "libc",
        Wait::Sleep,
        "nanosleep (libc.so.6), __sleep (libc.so.6)",
    ),
    native("usleep", "libc", Wait::Sleep, "usleep (libc.so.6)"),
    native("fsync", "libc", Wait::File, "fsync (libc.so.6)"),
    native("fdatasync", "libc", Wait::File, "fdatasync (libc.so.6)"),
    native("flock", "libc", Wait::File, "flock (libc.so.6)"),
    native("pread*", "libc", Wait::File, "__libc_pread64 (libc.so.6)"),
    native("libc_pread*", "libc", Wait::File, "__libc_pread (libc.so.6)"),
    native("read", "libc", Wait::File, "__libc_read (libc.so.6), read (libc.so.6)"),
    native("libc_read", "libc", Wait::File, "__libc_read (libc.so.6)"),
    native("write", "libc", Wait::File, "write (libc.so.6)"),
    native("libc_write", "libc", Wait::File, "__libc_write (libc.so.6)"),
    native("sigwait*", "libc", Wait::Signal, "sigwait (libc.so.6)"),
    native("pause", "libc", Wait::Signal, "pause (libc.so.6)"),
    native(
        "futex_*",
        "libc",
        Wait::Futex,
        "__futex_abstimed_wait_common64 (libc.so.6)",
    ),
    native("syscall", "libc", Wait::Futex, "syscall (libc.so.6)"),
];
