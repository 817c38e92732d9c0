"""The types of the plugin interface. Made of `plugins/wit/v1` by `make contract`: mend the interface, and not this file."""

# mypy: disable-error-code=no-any-return

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from typing import Any, List, Optional, Tuple, Union


@dataclass
class Artifact:
    """A file that the crash left."""

    name: str
    kind: str
    """As in the report document: `elf-core`, `memory-snapshot`, `log`, …"""
    bytes: int
    """Size as stored."""
    lines: int
    """Number of lines of a text artifact; 0 for any other."""


@dataclass
class Line:
    """A line of a text artifact."""

    artifact: str
    number: int
    """Counted from 1."""
    text: str
    """Without its line end; invalid UTF-8 replaced; cut where it is longer than the host's cap."""


@dataclass
class Thread:
    id: str
    name: Optional[str]
    rank: Optional[int]
    pid: Optional[int]
    crashed: bool
    artifact: str
    frames: int
    """Number of frames."""
    omitted: int
    """Frames left out in the middle because the stack is deeper than the reader's cap."""


@dataclass
class Frame:
    kind: str
    """`native`, `python` or `gpu`."""
    function: Optional[str]
    file: Optional[str]
    line: Optional[int]
    module: Optional[str]
    """Path of the binary."""
    address: Optional[int]
    inline: bool
    trust: str
    """`context`, `cfi`, `frame-pointer`, `scan`, `reported` or `interpreter`."""
    signal: bool
    """A signal interrupted the thread here; the frames before this one are the handler's."""


@dataclass
class Event:
    number: int
    """Its number in the timeline."""
    kind: str
    detail: str
    """Its particulars, as JSON."""
    text: str
    """The line that says it, shortened."""
    artifact: str
    lines: Optional[Tuple[int, int]]
    """Where it stands, when the artifact is text."""
    rank: Optional[int]
    pid: Optional[int]
    time: Optional[str]
    primary: bool
    """False for a consequence of another event, and for what did not end the process."""
    survived: bool
    """Later lines show that the process went on."""


@dataclass
class Code:
    """Where the code of a frame lies."""

    build_id: Optional[str]
    """Of the binary, as lower-case hex."""
    offset: Optional[int]
    """Address of the code as in the binary's symbol table."""
    lines: Optional[Tuple[int, int]]
    """Where the frame stands, when the artifact is text."""


@dataclass
class Module:
    """A binary mapped into a process."""

    path: str
    build_id: Optional[str]
    first: int
    """Its lowest address, and the one behind its highest."""
    end: int
    symbols: Optional[str]
    """What names came from: `debug-file`, `binary`, `symbol-file` or `core`; absent where there are none."""
    artifact: str


@dataclass
class Software:
    """A piece of software, and which version of it was there."""

    name: str
    """In lower case, such as `nccl`: of a binary without `lib`, of NVIDIA's Python packages without `nvidia-` and `-cu12`. The GPU's driver is `nvidia-driver`, the operating system's kernel `linux`."""
    version: str
    """As it is written there."""
    fact: str
    """The fact that says so, to be cited: a package of the context, the path of a module, an event."""


@dataclass
class Core:
    """One device of one GPU core dump. What is said of a fault is said of the first."""

    artifact: str
    device: int
    exception: Optional[str]
    """Without its `CUDBG_EXCEPTION_`, such as `WARP_ILLEGAL_ADDRESS`."""
    kernel: Optional[str]
    """Demangled."""
    offset: Optional[int]
    """Of the faulting instruction in the kernel."""
    file: Optional[str]
    line: Optional[int]
    block: Optional[Tuple[int, int, int]]
    thread: Optional[Tuple[int, int, int]]
    grid_size: Optional[Tuple[int, int, int]]
    """What the launch asked for."""
    block_size: Optional[Tuple[int, int, int]]
    name: Optional[str]
    """Of the product, such as `NVIDIA H100 80GB HBM3`."""
    architecture: Optional[str]
    """Such as `sm_90`."""


@dataclass
class Fault:
    """A warp that stopped with an exception."""

    exception: Optional[str]
    sm: int
    """Streaming multiprocessor, and the warp on it."""
    warp: int
    lane: Optional[int]
    block: Optional[Tuple[int, int, int]]
    thread: Optional[Tuple[int, int, int]]
    kernel: Optional[str]
    offset: Optional[int]


@dataclass
class Warps:
    """Warps that were at the same place of the same kernel."""

    kernel: Optional[str]
    offset: Optional[int]
    count: int
    faulted: int
    """How many of these stopped with an exception."""


@dataclass
class Conclusion:
    """A cause that was found in another report."""

    cause: str
    title: Optional[str]
    confidence: float
    """0 to 1."""
    plugin: str
    """Name of the plugin that says so."""


@dataclass
class EarlierReport:
    """A report of the same group that came before this one."""

    id: str
    """Its id."""
    title: str
    received: str
    """When it came (RFC 3339)."""
    conclusions: List[Conclusion]
    """What was found in it when this report was diagnosed for the first time, best first."""
    fact: str
    """The fact that says so, to be cited: its title."""


@dataclass
class OtherReport:
    """Another report of the same incident: as what it was known when this report was diagnosed for the first time."""

    id: str
    """Its id."""
    title: str
    received: str
    """When it came (RFC 3339)."""
    group: Optional[str]
    """Key of the group that it is in."""
    host: Optional[str]
    ranks: List[int]
    """Ranks that appear in it; of very many the first."""
    signal: Optional[str]
    """Name of the signal."""
    exception: Optional[str]
    """Class of the Python exception, or name of the GPU exception."""
    fact: str
    """The fact that says so, to be cited: its title."""


class Domain(Enum):
    """Who owns a failure."""

    PROGRAM = 0
    DATA = 1
    ENVIRONMENT = 2
    FRAMEWORK = 3
    HARDWARE = 4
    NETWORK = 5
    OPERATOR = 6
    UNKNOWN = 7
    """That is what has to be found out."""


class Retry(Enum):
    """Whether a second try is worth it."""

    AGAIN = 0
    """It may work the next time."""
    ELSEWHERE = 1
    """On another machine."""
    CHANGE_FIRST = 2
    """The same again fails again."""
    ASK_OWNER = 3
    """Somebody ended it on purpose, or has to act."""
    UNKNOWN = 4


@dataclass
class Cause:
    """A documented cause. Its title, its fixes and its references are shown with what is found, as they are that day."""

    id: str
    also: List[str]
    """Other ids that its page answers for."""
    severity: str
    """`fatal`, `wrong-results`, `slow` or `notice`."""
    domain: Domain
    retry: Retry
    tags: List[str]
    members: List[str]
    """Of a family: the causes that look alike."""
    leads_to: List[str]
    """Causes that it leads to, and that look like failures of their own."""
    last_resort: bool
    """It holds of so much that it is only said where nothing else is."""


@dataclass
class Advice:
    """What is to be said of a finding in place of what its cause's page says."""

    cause: str
    """Of one of the findings that `diagnose` is about to return."""
    domain: Optional[Domain]
    retry: Optional[Retry]
    because: Optional[str]
    """Why, in a sentence, where there is advice about a second try."""


@dataclass
class Snapshot:
    """One device of one memory snapshot."""

    artifact: str
    device: int
    reserved: int
    """Held from the driver."""
    allocated: int
    """In blocks that the program uses."""
    active: int
    """`allocated`, and what the program freed while another stream may still use it."""
    requested: int
    """What the program asked for in `active`, before rounding."""
    inactive: int
    """In free blocks."""
    largest_inactive: int
    pending_free: int
    """Freed, but another stream may still use it."""
    private_pools: int
    """Of `reserved`, in private pools (CUDA graphs)."""
    segments: int
    blocks: int
    events: int
    """Entries of the recorded trace."""
    peak_allocated: int
    """The most that was allocated during the trace."""
    peak_active: int
    expandable_segments: Optional[bool]
    """Absent where the snapshot does not say."""
    failed_requests: int
    """Requests that failed, as far as the trace reaches back."""
    blocks_kept: int
    """How many of `blocks` and of `events` can be asked for one by one: the largest blocks, and the entries before the last failed request and at the end."""
    events_kept: int


@dataclass
class FailedRequest:
    """An allocation that the allocator could not serve."""

    requested: int
    device_free: int
    """Free on the device at that moment."""
    allocated: int
    reserved: int
    stream: int
    usable_inactive: int
    """Free in segments that this request could have used, and the largest of those blocks."""
    largest_usable: int
    trace_event: int
    """Its place in the trace."""
    frames: List[str]
    """Where the program asked, innermost first, as `function (file:line)`."""


class Moment(Enum):
    """When memory was alive."""

    END = 0
    """When the snapshot was taken."""
    PEAK = 1
    """When most was allocated."""


@dataclass
class Cluster:
    """Blocks that one stack allocated."""

    bytes: int
    blocks: int
    growth: List[int]
    """For memory alive at the end: how much of it was there when recording began, and after each further eighth of the trace. A leak climbs steadily."""
    frames: List[str]
    """The stack, innermost first, as `function (file:line)`."""


@dataclass
class Pool:
    """Memory that one kind of request can be served from."""

    stream: int
    private_pool: Optional[Tuple[int, int]]
    """The private pool (CUDA graphs); none for the default one."""
    size_class: str
    """`small` or `large`."""
    reserved: int
    allocated: int
    pending_free: int
    inactive: int
    largest_inactive: int


@dataclass
class Stretch:
    """A stretch of the trace."""

    event: int
    """The first trace entry of it."""
    time_us: Optional[int]
    """When it began, in microseconds since 1970; absent where the trace has no times."""
    least: int
    """The least and the most that was allocated in it."""
    most: int


class BlockState(Enum):
    """What a block of memory is used for."""

    ALLOCATED = 0
    PENDING_FREE = 1
    """Freed by the program, but another stream may still use it."""
    INACTIVE = 2
    """Free."""


@dataclass
class Block:
    """A piece of a segment, when the snapshot was taken."""

    address: int
    bytes: int
    requested: int
    """What the program asked for in it, before rounding."""
    state: BlockState
    stream: int
    """Of its segment."""
    private_pool: Optional[Tuple[int, int]]
    frames: List[str]
    """The stack that allocated it, innermost first, as `function (file:line)`."""
    fact: str
    """The fact that says so, to be cited: its address."""


class Action(Enum):
    """What an entry of the trace tells of."""

    ALLOC = 0
    FREE_REQUESTED = 1
    """The program freed it; another stream may still use it."""
    FREE_COMPLETED = 2
    SEGMENT_ALLOC = 3
    """Memory was taken from the driver, and given back."""
    SEGMENT_FREE = 4
    SEGMENT_MAP = 5
    """The same, piece by piece of an expandable segment."""
    SEGMENT_UNMAP = 6
    FAILED = 7
    """A request failed."""
    OTHER = 8


@dataclass
class Entry:
    """An entry of the trace."""

    number: int
    """Its place in the trace."""
    action: Action
    address: int
    bytes: int
    """As the program asked for them."""
    stream: int
    private_pool: Optional[Tuple[int, int]]
    time_us: Optional[int]
    """Microseconds since 1970; absent where the trace has no times."""
    frames: List[str]
    """Where the program was, innermost first, as `function (file:line)`."""
    fact: str
    """The fact that says so, to be cited: its action."""


@dataclass
class Overview:
    """Who is told of, and where to look first."""

    recorded: List[int]
    """Ranks whose flight recorder is in the report."""
    unrecorded: List[int]
    """Ranks that a group names and whose recorder is not."""
    culprits: List[int]
    """Ranks that others wait for and that wait for nobody themselves."""
    circle: List[int]
    """Ranks that wait for each other in a circle, each for the next."""
    behind_once: List[int]
    """Ranks that had started fewer operations than others the only time that somebody asked NCCL."""
    verdicts: int
    """How many verdicts there are."""


@dataclass
class Verdict:
    """A collective operation that did not match across ranks."""

    number: int
    """Its number among the verdicts: the fact `collectives.verdicts.N` is this one."""
    group: str
    """Name of the process group, and what the program calls it."""
    group_description: str
    sequence: int
    """Its number in its group; of a send or receive, among those of the rank that waits."""
    kind: str
    """`op-mismatch`, `shape-mismatch`, `dtype-mismatch`, `missing-rank` or `not-completed` of flight recorders; `dead-rank`, `failed-rank`, `unresponsive-rank` or `behind-rank` of communicators."""
    ranks: List[int]
    """Ranks that differ from the rest, or are missing."""
    entered: List[int]
    """Ranks that entered it."""
    operation: str
    """What most ranks recorded, such as `nccl:all_reduce`."""
    detail: str
    """What the ranks did, in words."""
    time: Optional[str]
    """When the first rank entered it (RFC 3339), by that rank's clock."""
    point_to_point: bool
    frames: List[str]
    """Where the program called it, innermost first, as `function (file:line)`."""


@dataclass
class LineRange:
    """Lines of a text artifact, both included, counted from 1."""

    first: int
    last: int


@dataclass
class FramePlace:
    """A frame of a thread of the cited artifact, counted from 0, innermost first."""

    thread: str
    """The thread's `id`, as `report.threads` gives it."""
    index: int


@dataclass
class ByteRange:
    """Bytes `first` up to, not including, `end` of an artifact as stored."""

    first: int
    end: int


@dataclass
class Place_Line:
    value: LineRange


@dataclass
class Place_Frame:
    value: FramePlace


@dataclass
class Place_Event:
    value: int


@dataclass
class Place_Bytes:
    value: ByteRange


@dataclass
class Place_Fact:
    value: str


Place = Union[Place_Line, Place_Frame, Place_Event, Place_Bytes, Place_Fact]


@dataclass
class Citation:
    """A place and what stands there. The host checks both; a finding with a citation that does not hold is dropped and the plugin's run counts as failed."""

    artifact: str
    """Name of the artifact; empty for an event or a fact."""
    at: Place
    quote: str
    """For lines: a piece of each cited line, or of all of them joined by line feeds. For a frame: its function's name, or nothing. For an event: a piece of its text. For a fact: its value, as JSON or bare. For bytes, which must be where an event stands: a piece of that event's text."""


class Report:
    """"""

    def __init__(self, of: Any) -> None:
        self._of = of

    def artifacts(self) -> List[Artifact]:
        return self._of.artifacts()

    def fact(self, path: str) -> Optional[str]:
        """The JSON at a dotted path into the evidence, such as `crash.signal` or `memory_snapshots.0.reserved`."""
        return self._of.fact(path)

    def lines(self, artifact: str, first: int, count: int) -> List[Line]:
        """Lines of a text artifact, from number `first` on."""
        return self._of.lines(artifact, first, count)

    def search(self, artifact: Optional[str], pattern: str, limit: int) -> List[Line]:
        """Lines that match a regular expression of linear time (no look-around, no back-references), in one text artifact or in all of them. The error says what is wrong with the pattern."""
        return self._of.search(artifact, pattern, limit)

    def threads(self, first: int, count: int) -> List[Thread]:
        """Threads, the crashed one first."""
        return self._of.threads(first, count)

    def frames(self, thread: int, first: int, count: int) -> List[Frame]:
        """Frames of the thread at this position among the threads, innermost first."""
        return self._of.frames(thread, first, count)

    def events(self, kind: Optional[str], first: int, count: int) -> List[Event]:
        """Events of this kind, or of all kinds, oldest first; `first` counts among those."""
        return self._of.events(kind, first, count)

    def memory_snapshots(self) -> List[str]:
        """One JSON object for each device of each memory snapshot."""
        return self._of.memory_snapshots()

    def collectives(self, rank: Optional[int]) -> List[str]:
        """What did not match across ranks, one JSON object each; those that involve this rank when one is given."""
        return self._of.collectives(rank)

    def context(self, path: str) -> Optional[str]:
        """The JSON at a dotted path into what the collector wrote down, such as `environment.LD_PRELOAD`."""
        return self._of.context(path)

    def count(self, of: str) -> int:
        """How many entries a list of the evidence has, such as `threads`, `communicators`, `processes` or `gpu_cores`, whose facts are at `threads.0` and so on. 0 where there is no such list."""
        return self._of.count(of)

    def codes(self, thread: int, first: int, count: int) -> List[Code]:
        """Where the code of these frames lies: one for each that `frames` gives for the same range."""
        return self._of.codes(thread, first, count)

    def modules(self, first: int, count: int) -> List[Module]:
        """Binaries mapped into the processes."""
        return self._of.modules(first, count)

    def software(self, name: Optional[str]) -> List[Software]:
        """Software whose version the evidence tells: all of it, or what has this name. Different witnesses may tell of different versions."""
        return self._of.software(name)

    def gpu_cores(self) -> List[Core]:
        """One entry for each device of each GPU core dump."""
        return self._of.gpu_cores()

    def gpu_faults(self, core: int, first: int, count: int) -> List[Fault]:
        """The warps of one of them that stopped with an exception, in order of multiprocessor and warp."""
        return self._of.gpu_faults(core, first, count)

    def gpu_warps(self, core: int, first: int, count: int) -> List[Warps]:
        """What its warps were doing, most first."""
        return self._of.gpu_warps(core, first, count)

    def memory_summaries(self) -> List[Snapshot]:
        """The memory snapshots; others are asked for by their position among these."""
        return self._of.memory_summaries()

    def failed_request(self, snapshot: int) -> Optional[FailedRequest]:
        """The last request that failed."""
        return self._of.failed_request(snapshot)

    def clusters(self, snapshot: int, at: Moment, first: int, count: int) -> List[Cluster]:
        """Memory by the stack that allocated it, most first."""
        return self._of.clusters(snapshot, at, first, count)

    def pools(self, snapshot: int, first: int, count: int) -> List[Pool]:
        """Memory by what it can be reused for, most reserved first."""
        return self._of.pools(snapshot, first, count)

    def usage(self, snapshot: int, first: int, end: int, count: int) -> List[Stretch]:
        """How much was allocated between two entries of the trace, `end` not included, in at most `count` stretches, as fine as is known."""
        return self._of.usage(snapshot, first, end, count)

    def blocks(self, snapshot: int, address: int, count: int) -> List[Block]:
        """Blocks by address: from the one that this address lies in on, or from the next one above it."""
        return self._of.blocks(snapshot, address, count)

    def trace(self, snapshot: int, first: int, count: int) -> List[Entry]:
        """Entries of the trace from number `first` on, as far as they are kept."""
        return self._of.trace(snapshot, first, count)

    def rank_overview(self) -> Optional[Overview]:
        """What the ranks did together; none where nobody recorded it."""
        return self._of.rank_overview()

    def rank_verdicts(self, rank: Optional[int], first: int, count: int) -> List[Verdict]:
        """What did not match across ranks, the first divergence first; what involves this rank when one is given."""
        return self._of.rank_verdicts(rank, first, count)

    def earlier(self, first: int, count: int) -> List[EarlierReport]:
        """Reports of the same group that came before this one, the last one first. At most 16 are known."""
        return self._of.earlier(first, count)

    def incident(self, first: int, count: int) -> List[OtherReport]:
        """The other reports of the incident, in the order in which they came. At most 64 are known."""
        return self._of.incident(first, count)

    def cause(self, id: str) -> Optional[Cause]:
        """The documented cause that answers for this id."""
        return self._of.cause(id)

    def recognise_tables(self) -> List[str]:
        """Those of `recognise-tables` that may look for something that happened: the report has an event of each kind that the table asks for, with the words that it can not do without. The same text, and in the same order."""
        return self._of.recognise_tables()

    def advise(self, advice: Advice) -> None:
        """Says more of a finding than it has room for. Of two pieces of advice about one cause the later counts."""
        return self._of.advise(advice)


# In the sandbox these are the types that were made when the component was built: what the host gives is of them.
for _interface in ("evidence", "gpu", "history", "knowledge", "memory", "ranks", "types"):
    try:
        _made = import_module(f"wit_world.imports.{_interface}")
    except ImportError:
        break
    for _name, _type in vars(_made).items():
        if isinstance(_type, type) and _name in globals() and _name != "Report":
            globals()[_name] = _type
