"""A run read from its journal: every candidate, what became of it, and how it was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from fanwise.core.counts import Counts
from fanwise.errors import one_line
from fanwise.journal.codec import JSON, decode_error
from fanwise.journal.port import ItemRecord, Journal, RunRecord
from fanwise.optimize.candidates.candidate import Candidate
from fanwise.optimize.state.item import FAN_OUT, PreparedCandidate, ProposalResult
from fanwise.optimize.verdict import ORIGINAL, Verdict

PROPOSALS = ("propose", "repair", "refine")


class RecordedRun(msgspec.Struct, frozen=True, kw_only=True):
    """What a journal knows of a run, as far as it is."""

    run: RunRecord
    verdicts: list[Verdict]
    """In the order of the candidates."""
    waiting: list[Candidate]
    """Not judged yet."""
    failures: dict[str, str]
    """What could not be done, by the key of the item, and why."""
    baseline: Mapping[str, Any]
    """What the stages of the original gave, by stage."""
    unusable: list[Mapping[str, Any]]
    """Answers that were no candidates."""
    profiles: Mapping[str, str] = {}
    """Where the time goes, line by line: by the key of a candidate, and of the `original`."""

    @property
    def counts(self) -> Counts:
        """How many candidates were judged, and how many could not be."""
        stuck = {key.partition(":")[2] for key in self.failures}
        failed = sum(each.key in stuck for each in self.waiting)
        total = len(self.verdicts) + len(self.waiting)
        return Counts("candidate", len(self.verdicts), failed, total)

    @property
    def spec(self) -> Mapping[str, Any]:
        """What was run."""
        found: Mapping[str, Any] = JSON.decode(self.run.spec)
        return found


def read_run(journal: Journal, run: RunRecord) -> RecordedRun:
    """All of it."""
    items = list(_items(journal, run.id))
    values = {
        each.key: JSON.decode(each.value) for each in items if each.status == "done" and each.value
    }
    verdicts = _verdicts(values)
    asked = [value for key, value in values.items() if key.partition(":")[0] in PROPOSALS]
    candidates = [
        *_given(run),
        *(c for each in asked for c in msgspec.convert(each, ProposalResult).candidates),
    ]
    judged = {each.candidate.key for each in verdicts}
    return RecordedRun(
        run=run,
        verdicts=verdicts,
        waiting=[each for each in candidates if each.key not in judged],
        failures={each.key: _error(each) for each in items if each.status == "failed"},
        baseline={
            key.partition(":")[2]: v for key, v in values.items() if key.startswith("baseline:")
        },
        unusable=[each for value in asked for each in value.get("unusable", ())],
        profiles=_profiles(values),
    )


def claims(journal: Journal, run_id: str, path: str = FAN_OUT) -> dict[str, str]:
    """Which candidate was judged for which digest, by the digest."""
    values = {each.key: each.value for each in _items(journal, run_id, path) if each.value}
    found = {}
    for key, value in values.items():
        kind, _, candidate = key.partition(":")
        if kind == "prepare" and f"check:{candidate}" in values:
            found[msgspec.convert(JSON.decode(value), PreparedCandidate).digest] = candidate
    return found


def _items(journal: Journal, run_id: str, path: str = FAN_OUT) -> Sequence[ItemRecord]:
    for fan_out in journal.fan_outs(run_id):
        if fan_out.path == path:
            return list(journal.items(fan_out.id))
    return []


def _verdicts(values: Mapping[str, Any]) -> list[Verdict]:
    rows = [value for key, value in values.items() if key.startswith("verdict:")]
    rows.sort(key=lambda row: row["place"])
    return [msgspec.convert(row["verdict"], Verdict) for row in rows]


def _profiles(values: Mapping[str, Any]) -> dict[str, str]:
    named = {ORIGINAL: values.get("baseline:profile")}
    named |= {key.partition(":")[2]: v for key, v in values.items() if key.startswith("profile:")}
    return {key: text for key, text in named.items() if isinstance(text, str) and text}


def _given(run: RunRecord) -> list[Candidate]:
    spec = JSON.decode(run.spec)
    return msgspec.convert(spec.get("candidates", []) if spec else [], list[Candidate])


def _error(item: ItemRecord) -> str:
    return "" if item.error is None else one_line(decode_error(item.error))
