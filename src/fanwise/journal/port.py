"""The port through which the kernel uses a journal.

Durability depends on these rules:

- All writes go through `submit`, in order. `then(None)` is called once the write is on disk, or
  `then(error)` if it failed: exactly once, from any thread, perhaps before `submit` returns. Writes
  are never committed out of order: a reader that sees a write also sees all earlier ones.
- After a failed write, a journal refuses all further writes with the same error. It never skips.
- The caller chooses identities (`fan_out_id`), so no write has to wait for an answer.
- Reads see what is committed. They may be called from any thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

import msgspec

from fanwise.errors import JournalDamaged

if TYPE_CHECKING:
    from fanwise.journal.leases import LeaseBook

T = TypeVar("T")

ItemStatus = Literal["started", "done", "failed", "cancelled", "skipped"]
RunStatus = Literal["running", "paused", "done", "failed", "halted", "cancelled"]
"""A `running` run with a dead owner is shown as `interrupted`. Others have no owner."""

Then = Callable[[BaseException | None], None]


class Owner(msgspec.Struct, frozen=True):
    """The process that executes a run, with enough detail to recognise a reused pid."""

    pid: int
    host: str
    boot: str
    """The kernel's boot id: a pid means nothing after a reboot."""
    started: str
    """When the process started, as the system reports it; empty if it does not."""


class RunSpec(msgspec.Struct, frozen=True):
    """The spec of a run."""

    text: str
    """JSON."""
    digest: str


class RunRecord(msgspec.Struct, frozen=True):
    """One run."""

    id: str
    number: int
    """Small and unique within the journal; 0 until it is created."""
    kind: str
    """What created it: "map", "fan_out", "matrix" …"""
    name: str
    spec: str
    """What it was asked to do, as JSON. Enough to resume it."""
    digest: str
    status: RunStatus
    created_at: float
    ended_at: float | None = None
    owner: Owner | None = None
    cancel_requested: bool = False
    error: str | None = None
    caps_asked: dict[str, int] | None = None
    """Limits that somebody asked for while it is executed."""


class FanOutRecord(msgspec.Struct, frozen=True):
    """One fan-out of a run. Its path is the same on every resume."""

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
    """One item: its start and, if it has ended, its outcome."""

    fan_out: int
    key: str
    index: int
    status: ItemStatus
    starts: int = 1
    """Starts since it last ended. If more than 1, it may have run more than once."""
    value: str | None = None
    error: str | None = None
    started_at: float | None = None
    ended_at: float | None = None
    queued_s: float = 0.0
    ran_s: float = 0.0
    backoff_s: float = 0.0


class AttemptWrite(msgspec.Struct, frozen=True, gc=False):
    """An attempt of an item, or of a call inside it, has ended. The journal gives it a number."""

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
    """When its work began, in seconds since 1970; None in older journals."""
    caps: str | None = None
    """The caps that it held, separated by commas."""
    lag_s: float | None = None
    """How late the process was when it began and ended; None: it was not, or in older journals."""
    in_flight: int | None = None
    """Calls in flight in this process; None: there was no lag, or in older journals."""
    worker: str | None = None
    """The worker that made it, as NODE/PROCESS; None: the driver itself, or in older journals."""

    @property
    def asked_somebody(self) -> bool:
        """Whether it is a call that made a request, unlike a function or a look into a cache."""
        return self.call is not None and self.requests != 0


class AttemptRecord(AttemptWrite, frozen=True):
    """An attempt as it was recorded."""

    number: int = 0
    """1, 2, 3 … in the order in which they ended, over all executions of the item."""


class Sum(msgspec.Struct, frozen=True):
    """A sum over attempts."""

    known: float = 0
    """The sum of the known amounts."""
    unknown: int = 0
    """The number of attempts whose amount is unknown."""

    @property
    def total(self) -> float | None:
        """The whole sum, or None if a part is unknown."""
        return None if self.unknown else self.known


class CallTotals(msgspec.Struct, frozen=True):
    """Totals of calls: all attempts, over all executions."""

    attempts: int = 0
    failed: int = 0
    """How many of them failed or were cancelled."""
    tokens: Sum = Sum()
    input_tokens: Sum = Sum()
    output_tokens: Sum = Sum()
    cached_tokens: Sum = Sum()
    usd: Sum = Sum()
    first_token_p50: float | None = None
    """Over the attempts that had a first token; None if there are none."""
    first_token_p95: float | None = None
    slowed: int = 0
    """Calls whose time is notably too long, because this process was late."""
    lag_s: float = 0.0
    """By how much, on average over these calls."""
    in_flight: int = 0
    """The most that were in flight when one of them was late."""


JOINED = "worker_joined"
"""The kind of the event that names a worker of a run."""


class EventRecord(msgspec.Struct, frozen=True):
    """Something worth knowing later, such as a halt, a cancel, or a move of an adaptive cap."""

    run_id: str
    at: float
    kind: str
    data: str
    """JSON."""

    def decode(self, kind: type[T]) -> T:
        """Decode `data` as this type. Raises `JournalDamaged`."""
        return _decoded(self.data, kind, self.run_id, f"event {self.kind!r}")


class InputRecord(msgspec.Struct, frozen=True):
    """One raw input of a run, such as a line of stdin, which cannot be read a second time."""

    run_id: str
    index: int
    data: bytes

    def decode(self, kind: type[T]) -> T:
        """Decode `data`, which must be JSON, as this type. Raises `JournalDamaged`."""
        return _decoded(self.data, kind, self.run_id, f"input {self.index}")


def _decoded(data: str | bytes, kind: type[T], run_id: str, row: str) -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except (ValueError, RecursionError) as error:
        raise JournalDamaged("the journal", run_id, row, str(error)) from error


# What can be submitted. The first three are on the hot path.


class ItemStartWrite(msgspec.Struct, frozen=True, gc=False):
    """An item is about to start. A second start without an end in between adds 1 to `starts`."""

    fan_out: int
    key: str
    index: int
    at: float


class ItemEndWrite(msgspec.Struct, frozen=True, gc=False):
    """The outcome of an item. One that was skipped or cancelled may end without a start."""

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


class FanOutEndWrite(msgspec.Struct, frozen=True):
    """A fan-out has ended."""

    fan_out: int
    status: str
    at: float
    stats: str


StartRow = tuple[int, str, int, float]
"""The fields of an `ItemStartWrite`."""
EndRow = tuple[
    int, str, int, ItemStatus, float, float, float, float, str | None, str | None
]  # fmt: skip
"""The fields of an `ItemEndWrite`."""


class Batch(msgspec.Struct, frozen=True):
    """Many writes that are committed together, with one answer.

    Starts and ends are plain rows, because there are millions. An item either starts or ends in a
    batch, not both; the submitter waits for the answer before the next write about that item.
    """

    started: list[StartRow] = []
    ended: list[EndRow] = []
    others: list[Write] = []

    def __len__(self) -> int:
        return len(self.started) + len(self.ended) + len(self.others)


class InputsCleared(msgspec.Struct, frozen=True):
    """The inputs of a run are read anew: those recorded before are removed."""

    run_id: str


class RunEndWrite(msgspec.Struct, frozen=True):
    """A run has ended, and no longer has an owner."""

    run_id: str
    status: RunStatus
    at: float
    error: str | None = None


Write = (
    ItemStartWrite
    | ItemEndWrite
    | AttemptWrite
    | FanOutRecord
    | FanOutEndWrite
    | EventRecord
    | InputRecord
    | InputsCleared
    | RunEndWrite
    | Batch
)


class Journal(Protocol):
    """Runs on disk."""

    @property
    def location(self) -> str:
        """Its location, for messages."""

    def create_run(self, run: RunRecord) -> RunRecord:
        """Record a new run, owned by `run.owner`; return it with its number. Raises `RunExists`."""

    def claim_run(
        self, run_id: str, owner: Owner, *, force: bool = False, spec: RunSpec | None = None
    ) -> RunRecord:
        """Become the owner of a run. It is `running` again, and a cancel request is dropped.

        `spec`: replaces the spec of the run. Raises `RunNotFound`, or `RunIsLive` if its owner is
        alive or may be alive on another host (`force` overrides only the latter).
        """

    def run(self, run_id: str) -> RunRecord:
        """One run. Raises `RunNotFound`."""

    def runs(self) -> list[RunRecord]:
        """All runs, newest first."""

    def fan_outs(self, run_id: str) -> list[FanOutRecord]:
        """The fan-outs of a run, in the order in which they were first opened."""

    def items(self, fan_out: int, keys: Sequence[str] | None = None) -> Iterator[ItemRecord]:
        """The items of a fan-out, in item order: all, or those with these (a few hundred) keys."""

    def statuses(self, fan_out: int) -> dict[str, ItemStatus]:
        """The status of each item by its key, in item order, without reading the values."""

    def counts(self, fan_out: int) -> dict[ItemStatus, int]:
        """How many items have each status, without reading the values."""

    def attempts(self, fan_out: int, keys: Sequence[str] | None = None) -> Iterator[AttemptRecord]:
        """The attempts, by item and number: all, or those of (a few hundred) items."""

    def call_totals(self, run_id: str) -> CallTotals:
        """Totals of the calls of a run, without reading them one by one."""

    def events(self, run_id: str, kind: str | None = None) -> Iterator[EventRecord]:
        """The events of a run, in the order of submission: all, or those of one kind."""

    def input_count(self, run_id: str) -> int:
        """How many inputs of a run are recorded, without reading them."""

    def inputs(self, run_id: str, start: int = 0) -> Iterator[InputRecord]:
        """The inputs of a run in order, from `start` on."""

    def submit(self, write: Write, then: Then | None = None) -> None:
        """Write this soon. See the rules above."""

    def request_cancel(self, run_id: str) -> None:
        """Ask the process that executes the run to cancel it. Raises `RunNotFound`."""

    def watch_cancel(self, run_id: str, on_cancel: Callable[[], None]) -> Callable[[], None]:
        """Call `on_cancel` once, from any thread, soon after a cancel is requested.

        Returns a function that ends the watch.
        """

    def request_caps(self, run_id: str, caps: Mapping[str, int]) -> None:
        """Ask the process that executes the run for these limits. Raises `RunNotFound`."""

    def watch_caps(
        self, run_id: str, on_caps: Callable[[dict[str, int]], None]
    ) -> Callable[[], None]:
        """Call `on_caps`, from any thread, soon after other limits are asked for.

        It gets all that were asked for since the run was claimed. Returns a function that ends the
        watch.
        """

    def lease_book(self) -> LeaseBook:
        """A book of shared caps, for all processes that use this journal. Close it."""

    def close(self) -> None:
        """Write what was submitted, then close the files."""


def fan_out_id(run_number: int, place: int) -> int:
    """The id of a fan-out: unique in the journal, and known without asking it."""
    return (run_number << 32) | place
