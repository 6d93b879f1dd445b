"""What a resume finds of an earlier execution, whatever became of its items since."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.journal.codec import JSON
from fanwise.journal.port import AttemptWrite, ItemEndWrite, ItemRecord, ItemStartWrite, ItemStatus
from fanwise.kernel import recorded_outcomes
from fanwise.kernel.recorded_outcomes import RecordedOutcomes
from fanwise.testing import MemoryJournal
from tests.profiles import examples

FAN_OUT = 1
KEYS = [f"k{n}" for n in range(30)]
STATUSES: list[ItemStatus] = ["started", "done", "failed", "cancelled"]


class CountingJournal(MemoryJournal):
    """Counts how often each row is read."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: Counter[str] = Counter()

    def items(self, fan_out: int, keys: Sequence[str] | None = None) -> Iterator[ItemRecord]:
        for row in super().items(fan_out, keys):
            if keys is not None:
                self.reads[row.key] += 1
            yield row


def journal_with(statuses: dict[str, ItemStatus]) -> CountingJournal:
    journal = CountingJournal()
    for index, (key, status) in enumerate(statuses.items()):
        journal.submit(ItemStartWrite(FAN_OUT, key, index, 1.0))
        journal.submit(AttemptWrite(FAN_OUT, key, "a call", 0.0, 1.0, 0.0))
        if status != "started":
            error = '{"type": "ValueError", "text": "no"}' if status == "failed" else None
            journal.submit(
                ItemEndWrite(FAN_OUT, key, index, status, 2.0, value=f'"{key}"', error=error)
            )
    return journal


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded_outcomes, "PAGE", 4)


@examples(8)
@given(
    st.lists(st.tuples(st.sampled_from(KEYS), st.sampled_from(STATUSES)), unique_by=lambda t: t[0]),
    st.permutations(KEYS),
    st.booleans(),
)
def test_every_item_finds_its_own_outcome_in_any_order(
    recorded: list[tuple[str, ItemStatus]], asked: list[str], again: bool
) -> None:
    statuses = dict(recorded)
    journal = journal_with(statuses)
    found = RecordedOutcomes(journal, "r", FAN_OUT, JSON, again=again)
    found.load()
    final = {key for key, s in recorded if s == "done" or (s == "failed" and not again)}
    for index, key in enumerate(asked):
        outcome, started = found.outcome(index, key)
        assert started == (statuses.get(key) == "started")
        assert (outcome is not None) == (key in final)
        if outcome is not None:
            assert (outcome.index, outcome.key) == (index, key)
            assert (outcome.value, outcome.status) == (key, statuses[key])
            assert [attempt.call for attempt in outcome.attempts] == [None, "a call"]
    assert journal.reads == dict.fromkeys(final, 1)


@pytest.mark.parametrize("order", [KEYS, KEYS[::-1], KEYS[7:] + KEYS[:7]])
def test_every_row_is_read_once_in_any_order(order: list[str]) -> None:
    journal = journal_with(dict.fromkeys(KEYS, "done"))
    found = RecordedOutcomes(journal, "r", FAN_OUT, JSON, again=False)
    found.load()
    for index, key in enumerate(order):
        assert found.outcome(index, key)[0] is not None
    assert journal.reads == dict.fromkeys(KEYS, 1)
