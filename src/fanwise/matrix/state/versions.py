"""The versions of a matrix: what it was each time its file was edited or its cells were run anew.

A matrix is one run, and each version is an event in its journal with the spec of that time. The
rows of the cells say which versions have them (`definitions.py`), so that a version costs what
changed in it, and resuming stays what it is. A run for each version was rejected: reused outcomes
would be copied or looked up across runs, and a resume would have to choose among them.

A cell that failed and was run again is the same cell in all versions that have it.
"""

from __future__ import annotations

import zlib
from typing import Any

import msgspec

from fanwise.errors import JournalDamaged, UsageError
from fanwise.journal.codec import JSON
from fanwise.journal.port import EventRecord, Journal

VERSION = "version"
BASELINE = "baseline"
"""Kinds of events: a version begins; a version is the baseline, until another one is."""
LATEST = "latest"


class MatrixVersion(msgspec.Struct, frozen=True, omit_defaults=True):
    number: int
    spec: dict[str, Any] = {}
    """That of the run, without which cells were asked for."""
    at: float = 0.0
    """When it began."""
    packed: bytes = b""
    """In the journal, the spec as JSON, compressed: it holds the inputs."""

    @staticmethod
    def pack(number: int, spec: dict[str, Any]) -> MatrixVersion:
        """As the event has it."""
        return MatrixVersion(number, packed=zlib.compress(msgspec.json.encode(spec)))

    @staticmethod
    def unpack(event: EventRecord) -> MatrixVersion:
        """From the event. `JournalDamaged`."""
        found, spec = event.decode(MatrixVersion), {}
        try:
            if found.packed:
                spec = msgspec.json.decode(zlib.decompress(found.packed), type=dict[str, Any])
        except (zlib.error, ValueError) as error:
            row = f"version {found.number}"
            raise JournalDamaged("the journal", event.run_id, row, str(error)) from error
        return MatrixVersion(found.number, spec or found.spec, event.at)


class BaselineNote(msgspec.Struct, frozen=True):
    version: int


def versions(journal: Journal, run_id: str) -> list[MatrixVersion]:
    return [MatrixVersion.unpack(event) for event in journal.events(run_id, VERSION)]


def version_spec(spec: str) -> dict[str, Any]:
    """What of a run's spec makes a version: all but which cells were asked for."""
    return {name: value for name, value in JSON.decode(spec).items() if name != "asked"}


def baseline_of(journal: Journal, run_id: str) -> int | None:
    """The version that was named the baseline; None: none was."""
    found = [event.decode(BaselineNote).version for event in journal.events(run_id, BASELINE)]
    return found[-1] if found else None


def find_version(journal: Journal, run_id: str, name: str) -> MatrixVersion:
    """`3`, `latest` or `baseline`. `UsageError` for one that there is not."""
    known = {str(each.number): each for each in versions(journal, run_id)}
    if name == BASELINE:
        number = baseline_of(journal, run_id)
        if number is None:
            raise UsageError(f"{run_id} has no baseline", f"Name one: fanwise baseline {run_id}")
        name = str(number)
    if name == LATEST and known:
        return [*known.values()][-1]
    if name not in known:
        step = f"It has {LATEST}, {BASELINE} and: {', '.join(known)}"
        raise UsageError(f"{run_id} has no version {name!r}", step)
    return known[name]
