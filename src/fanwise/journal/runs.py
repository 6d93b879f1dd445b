"""Create, claim and cancel runs, each in one transaction.

The caller's transaction keeps others from writing the run meanwhile. So when two processes claim a
run at the same moment, the second sees what the first one did.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import msgspec

from fanwise.errors import JournalDamaged, RunExists, RunNotFound
from fanwise.journal import queries
from fanwise.journal.owner import reclaimed, refuse_if_live
from fanwise.journal.port import Owner, RunRecord, RunSpec


class Rows(Protocol):
    """The result of a query."""

    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...

    def __iter__(self) -> Any: ...


class RunRequests(NamedTuple):
    """What was asked of a run by other processes."""

    run_id: str
    cancel: bool
    caps: dict[str, int]


class JournalConnection(Protocol):
    """A connection to SQLite or PostgreSQL: `?` stands for a parameter in both."""

    def execute(self, query: str, parameters: Any = ..., /) -> Rows: ...


def create(connection: JournalConnection, run: RunRecord) -> RunRecord:
    """Record a new run, with the next number."""
    if _find(connection, run.id) is not None:
        raise RunExists(run.id)
    fields = msgspec.structs.asdict(run) | {"owner": _owner_text(run.owner), "caps_asked": None}
    del fields["number"]
    connection.execute(queries.CREATE_RUN, tuple(fields.values()))
    (number,) = connection.execute(queries.RUN_NUMBER, (run.id,)).fetchone()
    return msgspec.structs.replace(run, number=number)


def claim(
    connection: JournalConnection,
    run_id: str,
    owner: Owner,
    *,
    force: bool,
    spec: RunSpec | None = None,
) -> RunRecord:
    """Make `owner` the owner of the run, unless another live process owns it."""
    run = get(connection, run_id)
    refuse_if_live(run, force=force)
    return give(connection, run, owner, spec)


def give(
    connection: JournalConnection, run: RunRecord, owner: Owner, spec: RunSpec | None
) -> RunRecord:
    """Make `owner` the owner of the run."""
    claimed = reclaimed(run, owner)
    if spec is not None:
        claimed = msgspec.structs.replace(claimed, spec=spec.text, digest=spec.digest)
    values = (claimed.spec, claimed.digest, _owner_text(owner), False, run.id)
    connection.execute(queries.CLAIM_RUN, values)
    return claimed


def request_cancel(connection: JournalConnection, run_id: str) -> None:
    """Ask the process that executes the run to cancel it."""
    get(connection, run_id)
    connection.execute(queries.REQUEST_CANCEL, (True, run_id))


def request_caps(connection: JournalConnection, run_id: str, caps: Mapping[str, int]) -> None:
    """Ask the process that executes the run for these limits, too."""
    asked = {**(get(connection, run_id).caps_asked or {}), **caps}
    connection.execute(queries.REQUEST_CAPS, (msgspec.json.encode(asked).decode(), run_id))


def get(connection: JournalConnection, run_id: str) -> RunRecord:
    """One run. Raises `RunNotFound`, which suggests a similar id."""
    run = _find(connection, run_id)
    if run is None:
        raise RunNotFound(run_id, [row[0] for row in connection.execute(queries.RUN_IDS)])
    return run


def newest_first(connection: JournalConnection, *, specs: bool = True) -> list[RunRecord]:
    """All runs, newest first; without `specs` theirs are empty."""
    query = queries.RUNS if specs else queries.RUNS_WITHOUT_SPECS
    return [_record(row) for row in connection.execute(query).fetchall()]


def requests(connection: JournalConnection) -> list[RunRequests]:
    """What was asked of runs."""
    return [
        RunRequests(run_id, bool(cancel), _caps(caps) or {})
        for run_id, cancel, caps in connection.execute(queries.REQUESTS)
    ]


def _find(connection: JournalConnection, run_id: str) -> RunRecord | None:
    row = connection.execute(queries.RUN, (run_id,)).fetchone()
    return None if row is None else _record(row)


def _record(row: tuple[Any, ...]) -> RunRecord:
    fields = dict(zip(queries.RUN_COLUMNS, row, strict=True))
    try:
        fields["cancel_requested"] = bool(fields["cancel_requested"])
        if fields["owner"] is not None:
            fields["owner"] = msgspec.json.decode(fields["owner"])
        fields["caps_asked"] = _caps(fields["caps_asked"])
        return msgspec.convert(fields, RunRecord)
    except (ValueError, TypeError) as error:
        raise JournalDamaged("the journal", str(fields["id"]), "the row", str(error)) from error


def _caps(text: str | None) -> dict[str, int] | None:
    return None if text is None else msgspec.json.decode(text, type=dict[str, int])


def _owner_text(owner: Owner | None) -> str | None:
    return None if owner is None else msgspec.json.encode(owner).decode()
