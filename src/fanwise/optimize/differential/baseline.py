"""All that is known of the original: what it was seen to do, and what of that can be relied on.

It is observed at least twice, in fresh processes with different hash seeds. An entry that
differs from itself is left out. If only the order differs, that is the hash seed's doing: the
entry counts without its order. One in which it runs out of stack or memory is not made again: a
candidate that is better there may well run for ever. What is left out is said; if nothing is left,
nothing can be said of any candidate.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path

import msgspec

from fanwise.kernel.confined.settings import Settings
from fanwise.optimize.candidates.target import Target
from fanwise.optimize.differential.child_program import Where
from fanwise.optimize.differential.compare import compare, exhausted
from fanwise.optimize.differential.equal import Tolerance
from fanwise.optimize.differential.observe import Observations, ObservedCall, observe
from fanwise.optimize.differential.plan import MOST, CallPlan, PlannedCall, make_plan
from fanwise.optimize.differential.recording import CallRecording, record

HASH_SEEDS = (0, 4711)
LEAST = 10
"""Calls that must be comparable, if that many were planned: fewer say nothing of a candidate."""
_RECORDED_S = 30.0
_IN_ORDER_S = 0.2
"""Ever larger numbers are tried while the original takes no longer for them."""
_IN_ORDER = re.compile(r"\[.*\] in order, (\d+)")


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """The original, observed. JSON-able: write it with `msgspec.json.encode`, read it so too."""

    recording: CallRecording
    plan: CallPlan
    passes: tuple[Observations, ...]
    """One for each of `HASH_SEEDS`."""
    made: tuple[int, ...] = ()
    """Entries that were made, in these and no others: so both sides have done the same before."""
    steady: tuple[int, ...] = ()
    """Calls that can be compared."""
    unordered: tuple[int, ...] = ()
    """All of them if the order of one is the hash seed's: of others it may be so by luck."""
    notes: tuple[str, ...] = ()
    """What a person should know: what was left out, and why."""
    problem: str = ""
    """Why nothing can be checked, and what to do; empty if something can."""
    timed: CallRecording | None = None
    """The calls of the target in a benchmark of the user's own, if there is one."""

    def entries(self) -> list[PlannedCall]:
        """The calls that can be compared."""
        kept = set(self.steady)
        return [entry for entry in self.plan.entries if entry.id in kept]

    @property
    def inputs(self) -> int:
        """How many different inputs these calls have."""
        return len({entry.input for entry in self.entries()})

    def intact(self) -> bool:
        """Whether the files of calls are those that were made."""
        timed = self.timed is None or self.timed.intact()
        return self.plan.intact() and self.recording.intact() and timed

    def seconds(self) -> dict[int, float]:
        """How long each call took on the original."""
        return {
            entry.id: max(each.seen[entry.id].seconds for each in self.passes)
            for entry in self.entries()
        }


async def study(
    where: Where,
    target: Target,
    line: str,
    settings: Settings,
    into: Path,
    *,
    most: int = MOST,
    seed: int = 0,
    budget_s: float = 60.0,
) -> Baseline:
    """Record the target's calls from a test run of the original, vary them, and observe it."""
    recording = await record(where, target, line, settings, into, seed=seed)
    if not recording.calls:
        return _nothing(recording)
    plan = await make_plan(where, target, recording, settings, most=most, seed=seed)
    watch = _Watch(where, target, recording, plan, settings, budget_s)
    first = await watch.observe(HASH_SEEDS[0], in_order_s=_IN_ORDER_S)
    made, spent = worth_making(plan, first), count_spent(plan, first)
    if len(made) < len(plan.entries) and not first.broken:
        first = await watch.observe(HASH_SEEDS[0], only=made)
    others = [await watch.observe(seed, only=made) for seed in HASH_SEEDS[1:]]
    return judge(recording, plan, (first, *others), made, spent)


class _Watch(msgspec.Struct, frozen=True):
    where: Where
    target: Target
    recording: CallRecording
    plan: CallPlan
    settings: Settings
    budget_s: float

    async def observe(
        self, hash_seed: int, only: Collection[int] | None = None, in_order_s: float = 0.0
    ) -> Observations:
        entries = self.plan.entries
        longer = {each.id: _RECORDED_S for each in entries if each.label == "as recorded"}
        if in_order_s:
            longer |= {each.id: in_order_s for each in entries if _IN_ORDER.match(each.label)}
        return await observe(
            self.where, self.target, self.recording, self.plan, self.settings,
            hash_seed=hash_seed, only=only, seconds=longer, budget_s=self.budget_s,
        )  # fmt: skip


def judge(
    recording: CallRecording,
    plan: CallPlan,
    passes: tuple[Observations, ...],
    made: tuple[int, ...],
    spent: int,
) -> Baseline:
    """Decide what can be relied on. PURE."""
    first, *others = passes
    broken = next((each.broken or each.cut for each in passes if each.broken or each.cut), "")
    kept = set(made)
    ready = [
        entry
        for entry in plan.entries
        if entry.id in kept and all(_ran(entry.id, each) for each in passes)
    ]
    unsteady = {
        each.entry.id for other in others for each in compare(ready, first, other, Tolerance(0.0))
    }
    loose = frozenset(entry.id for entry in ready)
    again = [entry for entry in ready if entry.id in unsteady]
    lost = {
        each.entry.id
        for other in others
        for each in compare(again, first, other, Tolerance(0.0), unordered=loose)
    }
    steady = tuple(entry.id for entry in ready if entry.id not in lost)
    return Baseline(
        recording=recording,
        plan=plan,
        passes=passes,
        made=made,
        steady=steady,
        unordered=steady if unsteady - lost else (),
        notes=tuple(_notes(recording, plan, spent, ready, unsteady, lost)),
        problem=_problem(broken, ready, steady, len(plan.entries)),
    )


def worth_making(plan: CallPlan, seen: Observations) -> tuple[int, ...]:
    """Entries that tell something of a candidate, by what the original does in all of them. PURE.

    The others are not made again, neither on the original nor on a candidate: one that may do
    anything there may also hang there, and nothing else could be asked of that process.
    """
    outside = {
        each.label
        for each in plan.entries
        if _merely_fails(each, seen) or not _is_like_its_list(each, seen)
    }
    asked = {each.id: each.label for each in plan.entries if each.level == "probe"}
    refused = {label for number, label in asked.items() if not _returned(number, seen)}
    return tuple(
        entry.id
        for entry in plan.entries
        if _answered(entry, seen)
        and (entry.level == "strict" or entry.label not in outside)
        and (entry.probe is None or asked[entry.probe] not in refused)
    )


def count_spent(plan: CallPlan, seen: Observations) -> int:
    """Entries for which the original had not the time, the stack or the memory. PURE.

    Not the numbers in order: they are meant to go until it has not.
    """
    entries = [each for each in plan.entries if not _IN_ORDER.match(each.label)]
    return sum(not _ran(each.id, seen) or exhausted(seen.seen[each.id]) for each in entries)


def _answered(entry: PlannedCall, seen: Observations) -> bool:
    if (
        entry.level == "probe"
        or _is_empty(entry.id, seen)
        or not _ran(entry.id, seen)
        or exhausted(seen.seen[entry.id])
    ):
        return False
    return entry.like is None or _ran(entry.like, seen)


def _is_like_its_list(entry: PlannedCall, seen: Observations) -> bool:
    """Whether the original makes the same of a stream as of a list, and so is meant for both.

    If it does not for one stream, it is not meant for any: with an empty one it may be luck.
    """
    if entry.like is None or not _ran(entry.id, seen) or not _ran(entry.like, seen):
        return True
    ours, lists = seen.seen[entry.id].first(), seen.seen[entry.like].first()
    return ours is None or lists is None or bool(ours["plain"] == lists["plain"])


def _merely_fails(entry: PlannedCall, seen: Observations) -> bool:
    """Whether something inside the original fails on what was never given to it."""
    if entry.level == "strict" or not _ran(entry.id, seen):
        return False
    return _fails(seen.seen[entry.id], deliberately=False)


def _is_empty(number: int, seen: Observations) -> bool:
    """Whether there was nothing to do with what came back: then nothing is compared."""
    return _ran(number, seen) and not seen.seen[number].read()


def _ran(number: int, seen: Observations) -> bool:
    return number in seen.seen and not seen.seen[number].ended


def _returned(number: int, seen: Observations) -> bool:
    """Whether the original took what it knows nothing of, and so does not care for the type."""
    if not _ran(number, seen):
        return False
    found = seen.seen[number]
    return not _fails(found, deliberately=False) and not _fails(found, deliberately=True)


def _fails(found: ObservedCall, *, deliberately: bool) -> bool:
    """Whether its last step raises, at once or while what came back is read."""
    for step in found.read()[-1:]:
        out = step["out"]
        end = out[3] if out[0] == "lazy" else out
        return bool(end[0] == "raise" and end[3] == deliberately)
    return False


def _notes(
    recording: CallRecording,
    plan: CallPlan,
    spent: int,
    ready: list[PlannedCall],
    unsteady: set[int],
    lost: set[int],
) -> list[str]:
    told = recording.notes()
    kept = [entry for entry in ready if entry.id not in lost]
    inputs = len({entry.input for entry in kept})
    told.append(
        f"{len(kept)} of {len(plan.entries)} calls are compared, with {inputs} different inputs"
    )
    told += _ranges(kept)
    if spent:
        told.append(
            f"{spent} calls skipped: the original timed out, crashed or overflowed the stack"
        )
    if unsteady - lost:
        told.append("order is not compared: on the original it depends on the hash seed")
    if lost:
        told.append(f"{len(lost)} calls skipped: the original behaves differently each time")
    return told


def _ranges(kept: list[PlannedCall]) -> Iterator[str]:
    """How far each number was counted: beyond that nothing was compared."""
    most: dict[str, int] = {}
    for entry in kept:
        if found := _IN_ORDER.match(entry.label):
            most[entry.changed] = max(most.get(entry.changed, 0), int(found[1]))
    for name, number in most.items():
        yield f"{name} is compared up to {number:,}: the original takes too long beyond that"


def _problem(broken: str, ready: list[PlannedCall], steady: tuple[int, ...], planned: int) -> str:
    if broken:
        return f"could not be checked: {broken}"
    if not ready:
        return "could not be checked: no recorded call could be made again outside of the tests"
    if not steady:
        return (
            "could not be checked: the original behaves differently each time. Pass randomness "
            "and the clock to the target as arguments, or leave the target out"
        )
    if len(steady) < min(LEAST, planned // 2):
        return (
            f"could not be checked: only {len(steady)} of {planned} calls can be compared. Let the "
            "tests call the target with smaller values, or leave the target out"
        )
    return ""


def _nothing(recording: CallRecording) -> Baseline:
    why = "the tests never call it"
    if recording.seen:
        why = f"no call of it could be stored ({'; '.join(recording.unstorable) or 'unknown why'})"
    step = "Let a test call the target with plain values, or leave the target out"
    return Baseline(
        recording=recording,
        plan=CallPlan(file="", digest="", entries=()),
        passes=(),
        steady=(),
        notes=tuple(recording.notes()),
        problem=f"could not be checked: {why}. {step}",
    )
