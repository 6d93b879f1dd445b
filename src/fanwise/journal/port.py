"""The journal as the kernel sees it: a port.

The rules that make promise 5 (durable) hold:

- Everything that is written goes through `submit`, in order. `then(None)` is called when the
  write is on disk, `then(error)` when it is not; from any thread, perhaps before `submit`
  returns, exactly once. Writes that were submitted together commit together or in order, never
  out of order: a reader never sees a later write without the earlier ones.
- A journal that failed to write refuses all that follows with the same error: it never skips.
- Identities are given by the caller (`fan_out_id`), so that no write has to wait for an answer.
- Reads see what is committed. They may be called from any thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, Protocol, TypeVar

import msgspec

from fanwise.errors import JournalDamaged

T = TypeVar("T")

ItemStatus = Literal["started", "done", "failed", "cancelled", "skipped"]
RunStatus = Literal["running", "paused", "done", "failed", "halted", "cancelled"]
"""`running` with a dead owner is shown as `interrupted`. All but `running` have no owner."""

Then = Callable[[BaseException | None], None]


class Owner(msgspec.Struct, frozen=True):
    """The process that executes a run, named so that its death can be told from a reused pid."""

    pid: int
    host: str
    boot: str
    """The kernel's boot id: a pid means nothing after a reboot."""
    started: str
    """When the process started, as the system tells it; empty where it does not."""


class Spec(msgspec.Struct, frozen=True):
    """What a run is about."""

    text: str
    """JSON."""
    digest: str


class RunRecord(msgspec.Struct, frozen=True):
    """One run as it is on disk."""

    id: str
    number: int
    """Small and unique within the journal; 0 until it is created."""
    kind: str
    """What made it: "map", "fan_out", "matrix" …"""
    name: str
    spec: str
    """What was asked for, as JSON: enough to resume it."""
    digest: str
    status: RunStatus
    created_at: float
    ended_at: float | None = None
    owner: Owner | None = None
    cancel_requested: bool = False
    error: str | None = None


class FanOutRecord(msgspec.Struct, frozen=True):
    """One fan-out inside a run; its path is the same on every resume."""

    id: int
    run_id: str
    path: str
    cap: int
    halt: str
    opened_at: float
    status: str = "running"
    ended_at: float | None = None
    stats: str | None = None
    """`Stats` as JSON, once it has ended."""


class ItemRecord(msgspec.Struct, frozen=True):
    """One item: its start and, if it got so far, its outcome."""

    fan_out: int
    key: str
    index: int
    status: ItemStatus
    starts: int = 1
    """Starts since it last ended: more than 1 means that it may have run more than once."""
    value: str | None = None
    error: str | None = None
    started_at: float | None = None
    ended_at: float | None = None
    queued_s: float = 0.0
    ran_s: float = 0.0
    backoff_s: float = 0.0


class AttemptRecord(msgspec.Struct, frozen=True):
    """One attempt of an item, or of a call inside it."""

    fan_out: int
    key: str
    number: int
    """1, 2, 3 … in the order in which they ended, over all executions of the item."""
    call: str | None
    queued_s: float
    ran_s: float
    backoff_s: float
    error: str | None = None
    requests: float | None = None
    tokens: float | None = None
    usd: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    first_token_s: float | None = None
    started_at: float | None = None
    """When its work began, in seconds since 1970; None: an older journal."""
    caps: str | None = None
    """Those that it held, with a comma between them."""


class Sum(msgspec.Struct, frozen=True):
    """A sum over attempts."""

    known: float = 0
    """Of those of which it is known."""
    unknown: int = 0
    """How many attempts there are of which it is not."""

    @property
    def total(self) -> float | None:
        """None where something is unknown: that is never 0."""
        return None if self.unknown else self.known


class CallTotals(msgspec.Struct, frozen=True):
    """What calls came to: all their attempts, over all executions."""

    attempts: int = 0
    failed: int = 0
    """Of these, how many failed or were cancelled."""
    tokens: Sum = Sum()
    input_tokens: Sum = Sum()
    output_tokens: Sum = Sum()
    cached_tokens: Sum = Sum()
    usd: Sum = Sum()
    first_token_p50: float | None = None
    """Of the attempts that had a first token; None: there are none."""
    first_token_p95: float | None = None


class EventRecord(msgspec.Struct, frozen=True):
    """Something worth knowing later: a halt, a cancel, an adaptive cap that moved."""

    run_id: str
    at: float
    kind: str
    data: str
    """JSON."""

    def decode(self, kind: type[T]) -> T:
        """What `data` says. `JournalDamaged` if it says nothing of the kind."""
        return _decoded(self.data, kind, self.run_id, f"event {self.kind!r}")


class InputRecord(msgspec.Struct, frozen=True):
    """One raw input of a run whose inputs cannot be read a second time (a line of stdin)."""

    run_id: str
    index: int
    data: bytes

    def decode(self, kind: type[T]) -> T:
        """What `data` says, if it is JSON. `JournalDamaged`."""
        return _decoded(self.data, kind, self.run_id, f"input {self.index}")


def _decoded(data: str | bytes, kind: type[T], run_id: str, row: str) -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except (ValueError, RecursionError) as error:
        raise JournalDamaged("the journal", run_id, row, str(error)) from error


# What can be submitted. The first three are the hot path.


class ItemStarted(msgspec.Struct, frozen=True, gc=False):
    """About to happen. A second start without an end between them adds 1 to `starts`."""

    fan_out: int
    key: str
    index: int
    at: float


class ItemEnded(msgspec.Struct, frozen=True, gc=False):
    """An outcome. An item that never started (skipped, cancelled) may end without a start."""

    fan_out: int
    key: str
    index: int
    status: ItemStatus
    at: float
    queued_s: float = 0.0
    ran_s: float = 0.0
    backoff_s: float = 0.0
    value: str | None = None
    error: str | None = None


class AttemptEnded(msgspec.Struct, frozen=True, gc=False):
    """An attempt; its number is given by the journal."""

    fan_out: int
    key: str
    call: str | None
    queued_s: float
    ran_s: float
    backoff_s: float
    error: str | None = None
    requests: float | None = None
    tokens: float | None = None
    usd: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    first_token_s: float | None = None
    started_at: float | None = None
    caps: str | None = None


class FanOutEnded(msgspec.Struct, frozen=True):
    """A fan-out has returned."""

    fan_out: int
    status: str
    at: float
    stats: str


StartRow = tuple[int, str, int, float]
"""The fields of an `ItemStarted`."""
EndRow = tuple[
    int, str, int, ItemStatus, float, float, float, float, str | None, str | None
]  # fmt: skip
"""The fields of an `ItemEnded`."""


class Batch(msgspec.Struct, frozen=True):
    """Many writes as one: they are committed together, and have one answer.

    Starts and ends are plain rows, for there are millions. An item starts or ends in a batch, not
    both, and who submitted it waits for the answer before writing of that item again.
    """

    started: list[StartRow] = []
    ended: list[EndRow] = []
    others: list[Write] = []

    def __len__(self) -> int:
        return len(self.started) + len(self.ended) + len(self.others)


class RunEnded(msgspec.Struct, frozen=True):
    """A run has ended; its owner lets go of it."""

    run_id: str
    status: RunStatus
    at: float
    error: str | None = None


Write = (
    ItemStarted
    | ItemEnded
    | AttemptEnded
    | FanOutRecord
    | FanOutEnded
    | EventRecord
    | InputRecord
    | RunEnded
    | Batch
)


class Journal(Protocol):
    """Runs on disk."""

    @property
    def location(self) -> str:
        """Where it is, for messages."""

    def create_run(self, run: RunRecord) -> RunRecord:
        """Record a new run, owned by `run.owner`; returns it with its number. `RunExists`."""

    def claim_run(
        self, run_id: str, owner: Owner, *, force: bool = False, spec: Spec | None = None
    ) -> RunRecord:
        """Become the owner of a run: its status is `running`, a cancel request is forgotten.

        `spec`: what the run is about from now on. `RunNotFound`; `RunIsLive` while its owner
        lives, or may live on another host (`force` overrides the latter only).
        """

    def run(self, run_id: str) -> RunRecord:
        """`RunNotFound`."""

    def runs(self) -> list[RunRecord]:
        """All runs, the newest first."""

    def fan_outs(self, run_id: str) -> list[FanOutRecord]:
        """In the order in which they were opened."""

    def items(self, fan_out: int, keys: Sequence[str] | None = None) -> Iterator[ItemRecord]:
        """In item order; all, or (a few hundred) `keys`."""

    def statuses(self, fan_out: int) -> dict[str, ItemStatus]:
        """Every item's status by its key, in item order, without reading the values."""

    def counts(self, fan_out: int) -> dict[ItemStatus, int]:
        """How many items have which status, without reading their values."""

    def attempts(self, fan_out: int, keys: Sequence[str] | None = None) -> Iterator[AttemptRecord]:
        """By item, then number; of all items, or of (a few hundred) `keys`."""

    def call_totals(self, run_id: str) -> CallTotals:
        """What the calls of the run came to, without reading them one by one."""

    def events(self, run_id: str, kind: str | None = None) -> Iterator[EventRecord]:
        """In the order in which they were submitted; all, or those of one kind."""

    def inputs(self, run_id: str, start: int = 0) -> Iterator[InputRecord]:
        """In order, from `start` on."""

    def submit(self, write: Write, then: Then | None = None) -> None:
        """Write this soon; see the rules above."""

    def request_cancel(self, run_id: str) -> None:
        """Ask whoever executes the run to cancel it. `RunNotFound`."""

    def watch_cancel(self, run_id: str, on_cancel: Callable[[], None]) -> Callable[[], None]:
        """Call `on_cancel` once, from any thread, soon after a cancel was requested.

        Returns a function that ends the watch.
        """

    def close(self) -> None:
        """Write what was submitted, then let go of the files."""


def fan_out_id(run_number: int, place: int) -> int:
    """A fan-out's identity: unique in the journal, known without asking it."""
    return (run_number << 32) | place
