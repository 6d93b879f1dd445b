"""All that is known of the original: what it was seen to do, and what of that can be relied on.

It is observed at least twice, in fresh processes with different hash seeds. An entry that
differs from itself is left out. If only the order differs, that is the hash seed's doing: the
entry counts without its order. What is left out is said; if nothing is left, nothing can be said
of any candidate.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec

from fanwise.optimize.checking.settings import Settings
from fanwise.optimize.differential.compare import compare
from fanwise.optimize.differential.equal import Tolerance
from fanwise.optimize.differential.observe import Observations, observe
from fanwise.optimize.differential.plan import MOST, Entry, Plan, make_plan
from fanwise.optimize.differential.record import record
from fanwise.optimize.differential.recording import Recording
from fanwise.optimize.differential.running import Where
from fanwise.optimize.target import Target

HASH_SEEDS = (0, 4711)
_RECORDED_S = 30.0


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """The original, observed. JSON-able: write it with `msgspec.json.encode`, read it so too."""

    recording: Recording
    plan: Plan
    passes: tuple[Observations, ...]
    """One for each of `HASH_SEEDS`."""
    steady: tuple[int, ...]
    """Entries that can be compared."""
    unordered: tuple[int, ...] = ()
    """Those of them whose order is the hash seed's."""
    notes: tuple[str, ...] = ()
    """What a person should know: what was left out, and why."""
    problem: str = ""
    """Why nothing can be checked, and what to do; empty if something can."""

    def entries(self) -> list[Entry]:
        """Those that can be compared."""
        kept = set(self.steady)
        return [entry for entry in self.plan.entries if entry.id in kept]

    def seconds(self) -> dict[int, float]:
        """What each entry took."""
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
    longer = {entry.id: _RECORDED_S for entry in plan.entries if entry.label == "as recorded"}
    passes = [
        await observe(
            where, target, recording, plan, settings,
            hash_seed=hash_seed, seconds=longer, budget_s=budget_s,
        )
        for hash_seed in HASH_SEEDS
    ]  # fmt: skip
    return judge(recording, plan, tuple(passes))


def judge(recording: Recording, plan: Plan, passes: tuple[Observations, ...]) -> Baseline:
    """Decide what can be relied on. PURE."""
    first, *others = passes
    broken = next((each.broken for each in passes if each.broken), "")
    ready = [entry for entry in plan.entries if _answered(entry, passes)]
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
        steady=steady,
        unordered=tuple(sorted(unsteady - lost)),
        notes=tuple(_notes(recording, plan, passes, ready, unsteady, lost)),
        problem=_problem(broken, ready, steady),
    )


def _answered(entry: Entry, passes: tuple[Observations, ...]) -> bool:
    return all(entry.id in each.seen and not each.seen[entry.id].ended for each in passes)


def _notes(
    recording: Recording,
    plan: Plan,
    passes: tuple[Observations, ...],
    ready: list[Entry],
    unsteady: set[int],
    lost: set[int],
) -> list[str]:
    told = recording.notes()
    told.append(f"{len(ready) - len(lost)} of {len(plan.entries)} calls are compared")
    ends = Counter(seen.ended for each in passes for seen in each.seen.values() if seen.ended)
    told += [f"left out on the original: {why}, {count} times" for why, count in ends.items()]
    if unsteady - lost:
        told.append(f"{len(unsteady - lost)} are compared without order: it is the hash seed's")
    if lost:
        told.append(f"{len(lost)} are left out: the original does not do the same twice")
    return told


def _problem(broken: str, ready: list[Entry], steady: tuple[int, ...]) -> str:
    if broken:
        return f"could not be checked: {broken}"
    if not ready:
        return "could not be checked: no recorded call could be made again outside of the tests"
    if not steady:
        return (
            "could not be checked: the original does not do the same twice. Let the target take "
            "its chance and its clock as arguments, or leave the target out"
        )
    return ""


def _nothing(recording: Recording) -> Baseline:
    why = "the tests never call it" if not recording.seen else "no call of it could be stored"
    step = "Let a test call the target with plain values, or leave the target out"
    return Baseline(
        recording=recording,
        plan=Plan(file="", digest="", entries=()),
        passes=(),
        steady=(),
        notes=tuple(recording.notes()),
        problem=f"could not be checked: {why}. {step}",
    )
