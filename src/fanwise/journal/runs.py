"""Create, claim and cancel runs, each in one transaction.

Transactions here start as writers (`BEGIN IMMEDIATE`). So when two processes claim a run at the
same moment, the second sees what the first one did.
"""

from __future__ import annotations

from sqlite3 import Connection
from typing import Any

import msgspec

from fanwise.errors import JournalDamaged, RunExists, RunNotFound
from fanwise.journal import queries
from fanwise.journal.owner import reclaimed, refuse_if_live
from fanwise.journal.port import Owner, RunRecord, RunSpec


def create(connection: Connection, run: RunRecord) -> RunRecord:
    """Record a new run, with the next number."""
    if _find(connection, run.id) is not None:
        raise RunExists(run.id)
    fields = msgspec.structs.asdict(run) | {"owner": _owner_text(run.owner)}
    del fields["number"]
    number = connection.execute(queries.CREATE_RUN, tuple(fields.values())).lastrowid
    assert number is not None
    return msgspec.structs.replace(run, number=number)


def claim(
    connection: Connection, run_id: str, owner: Owner, *, force: bool, spec: RunSpec | None = None
) -> RunRecord:
    """Make `owner` the owner of the run, unless another live process owns it."""
    run = get(connection, run_id)
    refuse_if_live(run, force=force)
    claimed = reclaimed(run, owner)
    if spec is not None:
        claimed = msgspec.structs.replace(claimed, spec=spec.text, digest=spec.digest)
    values = (claimed.spec, claimed.digest, _owner_text(owner), False, run_id)
    connection.execute(queries.CLAIM_RUN, values)
    return claimed


def request_cancel(connection: Connection, run_id: str) -> None:
    """Ask the process that executes the run to cancel it."""
    get(connection, run_id)
    connection.execute(queries.REQUEST_CANCEL, (True, run_id))


def get(connection: Connection, run_id: str) -> RunRecord:
    """One run. Raises `RunNotFound`, which suggests a similar id."""
    run = _find(connection, run_id)
    if run is None:
        raise RunNotFound(run_id, [row[0] for row in connection.execute(queries.RUN_IDS)])
    return run


def newest_first(connection: Connection) -> list[RunRecord]:
    """All runs, newest first."""
    return [_record(connection, row) for row in connection.execute(queries.RUNS).fetchall()]


def cancel_requests(connection: Connection) -> list[str]:
    """The ids of the runs with a cancel request."""
    return [row[0] for row in connection.execute(queries.CANCEL_REQUESTS)]


def _find(connection: Connection, run_id: str) -> RunRecord | None:
    row = connection.execute(queries.RUN, (run_id,)).fetchone()
    return None if row is None else _record(connection, row)


def _record(connection: Connection, row: tuple[Any, ...]) -> RunRecord:
    fields = dict(zip(queries.RUN_COLUMNS, row, strict=True))
    try:
        fields["cancel_requested"] = bool(fields["cancel_requested"])
        if fields["owner"] is not None:
            fields["owner"] = msgspec.json.decode(fields["owner"])
        return msgspec.convert(fields, RunRecord)
    except (ValueError, TypeError) as error:
        path = connection.execute("PRAGMA database_list").fetchone()[2]
        raise JournalDamaged(path, str(fields["id"]), "the row", str(error)) from error


def _owner_text(owner: Owner | None) -> str | None:
    return None if owner is None else msgspec.json.encode(owner).decode()
