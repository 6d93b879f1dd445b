"""What a system says about its runs, for `fanwise show` and `fanwise runs`.

Systems without `describe_run` and `describe_item` say nothing, and neither does a system that is
not installed here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fanwise.core.paths import is_top
from fanwise.journal.codec import JSON
from fanwise.journal.port import ItemRecord, Journal, RunRecord
from fanwise.system_names import homes, load
from fanwise.view.question import APPROVAL, Action, AskedApproval, Question

if TYPE_CHECKING:
    from fanwise.core.counts import Counts
    from fanwise.view.items import Inputs
    from fanwise.view.run_summary import CountNow

MOST = 20
"""How many items are described, unless all are wanted."""


def result_lines(
    journal: Journal, run: RunRecord, *, fully: bool, options: Mapping[str, Any]
) -> Iterator[str]:
    """The results of the run as text, with the options that were given for it."""
    system = system_of_kind(run.kind)
    describe_run = getattr(system, "describe_run", None)
    describe_item = getattr(system, "describe_item", None)
    if describe_run is not None:
        yield from describe_run(journal, run, fully=fully, **options)
    elif describe_item is not None:
        yield from _one_by_one(describe_item, journal, run, fully=fully)


def replaces_default_view(run: RunRecord) -> bool:
    """Whether the system's text replaces the list of fan-outs and events."""
    return getattr(system_of_kind(run.kind), "replaces_default_view", False)


def inputs_of(run: RunRecord) -> Inputs:
    """Whether the journal has the input of each item of the run, and how to find it."""
    if not getattr(system_of_kind(run.kind), "records_inputs", False):
        return ""
    spec = JSON.decode(run.spec)
    return "by key" if isinstance(spec, dict) and spec.get("key") is True else "by index"


def count_now(journal: Journal, run: RunRecord) -> Counts | None:
    """The progress as the system counts it; None: the system counts items."""
    count: CountNow | None = getattr(system_of_kind(run.kind), "count", None)
    return None if count is None else count(journal, run)


def questions_of(journal: Journal, run: RunRecord) -> Sequence[Question]:
    """What a paused run asks people: to approve it, or what its system says."""
    if run.status != "paused":
        return ()
    for event in journal.events(run.id, APPROVAL):
        if not journal.fan_outs(run.id):
            asked = event.decode(AskedApproval)
            return [Question(APPROVAL, asked.question, {"approve": ()}, "\n".join(asked.lines))]
    ask = getattr(system_of_kind(run.kind), "questions", None)
    return () if ask is None else ask(journal, run)


def actions_of(journal: Journal, run: RunRecord) -> Mapping[str, Action]:
    """What can be done with the result of a run that is not being executed, by name."""
    offer = getattr(system_of_kind(run.kind), "actions", None)
    return {} if offer is None else offer(journal, run)


def _one_by_one(
    describe: Callable[..., Sequence[str]], journal: Journal, run: RunRecord, *, fully: bool
) -> Iterator[str]:
    number = sum(1 for _ in _with_values(journal, run))
    for place, item in enumerate(_with_values(journal, run)):
        if place == MOST and not fully:
            yield f"… and {number - MOST:,} more; --items shows all"
            return
        value = JSON.decode(item.value or "null")
        yield from describe(item.key, value, fully=fully or number == 1)


def _with_values(journal: Journal, run: RunRecord) -> Iterator[ItemRecord]:
    for fan_out in journal.fan_outs(run.id):
        if is_top(fan_out.path):
            yield from (i for i in journal.items(fan_out.id) if i.value is not None)


def system_of_kind(kind: str) -> Any:
    """The system that makes runs of this kind; None: it is not known here, or a program is."""
    found = homes(kind)
    if len(found) != 1:  # made by a program
        return None
    try:
        return load(*found)
    except Exception:  # a package that is broken here
        return None
