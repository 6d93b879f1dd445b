"""Damage inside rows, which SQLite does not notice: a flipped byte in a text is still a text.

Rows are checked against their record types as they are read (`checked_rows`). The JSON inside them
is not, because whoever uses a value decodes it anyway. Code that reads a run does so inside
`explain_damage`; only if that fails is the run searched for the broken row.

Rejected: a checksum in each row. It would also catch flips that leave valid JSON, but every write
would pay for it, and it needs a new schema.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar, get_args, get_type_hints

import msgspec

from fanwise.errors import FanwiseError, JournalDamaged, one_line
from fanwise.journal.codec import JSON
from fanwise.journal.port import ItemStatus, Journal, RunRecord

R = TypeVar("R", bound=msgspec.Struct)

MISREAD = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)
"""What code raises when the data it was given has the wrong shape."""


@contextmanager
def explain_damage(journal: Journal, run_id: str) -> Iterator[None]:
    """Raise `JournalDamaged` if what the run recorded cannot be read."""
    try:
        yield
    except JournalDamaged as error:
        # A row knows neither the file that it is in nor, often, its run.
        raise JournalDamaged(journal.location, run_id, error.row, error.problem) from error
    except FanwiseError:
        raise
    except MISREAD as error:
        row, problem = find_damage(journal, run_id) or (None, one_line(error))
        raise JournalDamaged(journal.location, run_id, row, problem) from error


def find_damage(journal: Journal, run_id: str) -> tuple[str, str] | None:
    """The first row of the run that is not as it was written, and what is wrong with it."""
    for row, text in _texts(journal, run_id):
        try:
            JSON.decode(text)
        except (ValueError, RecursionError) as error:
            return row, str(error)
    return None


def check_spec(journal: Journal, run: RunRecord) -> None:
    """Raise `JournalDamaged` if the spec is not the one that the digest was made of."""
    if hashlib.sha256(run.spec.encode()).hexdigest() != run.digest:
        raise JournalDamaged(journal.location, run.id, "the spec", "its digest is another")


def _texts(journal: Journal, run_id: str) -> Iterator[tuple[str, str]]:
    """Everything of the run that must be JSON, and where it is."""
    for number, event in enumerate(journal.events(run_id), 1):
        yield f"event {number} ({event.kind})", event.data
    for fan_out in journal.fan_outs(run_id):
        if fan_out.stats is not None:
            yield f"the statistics of fan-out {fan_out.path!r}", fan_out.stats
        for item in journal.items(fan_out.id):
            if item.value is not None:
                yield f"the value of item {item.key!r} in fan-out {fan_out.path!r}", item.value


def checked_rows(record: type[R], rows: Iterable[tuple[Any, ...]], location: str) -> Iterator[R]:
    """The rows as records. `JournalDamaged` for one with a value that its field cannot have."""
    fields = record.__struct_fields__
    place = fields.index("status") if "status" in fields else 0
    seen = set()  # rows of the same types, with the same status, are checked once
    for row in rows:
        shape = (*map(type, row), row[place] if place else None)
        if shape not in seen:
            for field, value in zip(fields, row, strict=True):
                if not _possible(record, field, value):
                    raise _impossible(record, row, field, location)
            seen.add(shape)
        yield record(*row)


STATUSES = frozenset(get_args(ItemStatus))


def check_statuses(statuses: Mapping[str, Any], location: str) -> None:
    """Raise `JournalDamaged` if an item, by its key, has a status that none can have."""
    if not STATUSES.issuperset(statuses.values()):
        key, status = next(each for each in statuses.items() if each[1] not in STATUSES)
        raise JournalDamaged(location, None, f"item {key!r}", f"its status is {status!r}")


def _possible(record: type[msgspec.Struct], field: str, value: object) -> bool:
    allowed = _types(record)[field]
    # SQLite has no type for truth, and a number of another kind is no damage.
    kind = float if isinstance(value, int | float) else type(value)
    return value in allowed if isinstance(value, str) and str not in allowed else kind in allowed


@cache
def _types(record: type[msgspec.Struct]) -> dict[str, frozenset[Any]]:
    """What a field can have: types, or the words of a `Literal`."""
    return {
        field: frozenset(_parts(hint) | ({float} if {int, bool} & _parts(hint) else set()))
        for field, hint in get_type_hints(record).items()
    }


def _parts(hint: Any) -> set[Any]:
    return set(get_args(hint)) or {hint}


def _impossible(
    record: type[msgspec.Struct], row: tuple[Any, ...], field: str, location: str
) -> JournalDamaged:
    found = dict(zip(record.__struct_fields__, row, strict=True))
    name = record.__name__.removesuffix("Record").lower()
    which = found.get("key", found.get("path", found.get("kind", found.get("index"))))
    problem = f"its {field} is {found[field]!r:.80}"
    return JournalDamaged(location, found.get("run_id"), f"{name} {which!r:.80}", problem)
