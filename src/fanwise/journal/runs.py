"""Who has which run: creating, claiming and cancelling, each inside one transaction.

A transaction here begins as a writer (`BEGIN IMMEDIATE`), so of two processes that claim a run
at the same moment the second one sees what the first one did.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, Row, insert, select, update

from fanwise.errors import RunExists, RunNotFound
from fanwise.journal import schema
from fanwise.journal.owner import reclaimed, refuse_if_live
from fanwise.journal.port import Owner, RunRecord, Spec

COLUMNS = [schema.runs.c[name] for name in RunRecord.__struct_fields__]


def create(connection: Connection, run: RunRecord) -> RunRecord:
    """Record a new run, with the next number."""
    if _find(connection, run.id) is not None:
        raise RunExists(run.id)
    fields = msgspec.structs.asdict(run) | {"owner": _owner_text(run.owner)}
    del fields["number"]
    key = connection.execute(insert(schema.runs).values(fields)).inserted_primary_key
    assert key is not None
    return msgspec.structs.replace(run, number=key[0])


def claim(
    connection: Connection, run_id: str, owner: Owner, *, force: bool, spec: Spec | None = None
) -> RunRecord:
    """Make `owner` the one who executes the run, unless somebody else does."""
    run = get(connection, run_id)
    refuse_if_live(run, force=force)
    claimed = reclaimed(run, owner)
    if spec is not None:
        claimed = msgspec.structs.replace(claimed, spec=spec.text, digest=spec.digest)
    connection.execute(
        update(schema.runs)
        .where(schema.runs.c.id == run_id)
        .values(
            status=claimed.status,
            spec=claimed.spec,
            digest=claimed.digest,
            owner=_owner_text(owner),
            ended_at=None,
            error=None,
            cancel_requested=False,
        )
    )
    return claimed


def request_cancel(connection: Connection, run_id: str) -> None:
    """Leave a note for whoever executes the run."""
    get(connection, run_id)
    connection.execute(
        update(schema.runs).where(schema.runs.c.id == run_id).values(cancel_requested=True)
    )


def get(connection: Connection, run_id: str) -> RunRecord:
    """The run; `RunNotFound` suggests one that is spelt like it."""
    run = _find(connection, run_id)
    if run is None:
        raise RunNotFound(run_id, _ids(connection))
    return run


def newest_first(connection: Connection) -> list[RunRecord]:
    """All runs."""
    rows = connection.execute(select(*COLUMNS).order_by(schema.runs.c.number.desc()))
    return [_record(row) for row in rows]


def cancel_requests(connection: Connection) -> list[str]:
    """The ids of the runs that somebody wants cancelled."""
    asked = select(schema.runs.c.id).where(schema.runs.c.cancel_requested)
    return list(connection.execute(asked).scalars())


def _find(connection: Connection, run_id: str) -> RunRecord | None:
    row = connection.execute(select(*COLUMNS).where(schema.runs.c.id == run_id)).first()
    return None if row is None else _record(row)


def _ids(connection: Connection) -> Sequence[str]:
    return connection.execute(select(schema.runs.c.id)).scalars().all()


def _record(row: Row[Any]) -> RunRecord:
    fields = row._asdict()
    if fields["owner"] is not None:
        fields["owner"] = msgspec.json.decode(fields["owner"], type=Owner)
    return RunRecord(**fields)


def _owner_text(owner: Owner | None) -> str | None:
    return None if owner is None else msgspec.json.encode(owner).decode()
