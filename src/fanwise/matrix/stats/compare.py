"""Paired comparisons: is one value of an axis better than another, on the same inputs?

Two cells are a pair if they agree on all other axes. What inputs have in common cancels in the
difference, so a pair says far more than two averages do. Each contrast has a test, and the interval
of the difference (first - second) that inverts it: `paired.py`. So an interval excludes 0 exactly
where p is below 1 - confidence.

**Family.** All pairs of values of one axis under one scorer are one question ("which model is
best?"), so their p-values are corrected together, by Holm (1979): valid under any dependence,
and never weaker than Bonferroni. Two scorers, or two axes, are two questions. Intervals are each
for its own contrast, not corrected.

**Nothing is dropped in silence.** A pair in which a side has no score is counted (`only_first`,
`only_second`, `neither`), as is a cell whose partner is not in the matrix. Where one side failed
more often than the other, `failures` says so: what is left may not be a fair sample.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Literal, NamedTuple

import msgspec

from fanwise.core.counts import many
from fanwise.errors import UsageError
from fanwise.matrix.stats.data import (
    DEFAULTS,
    INPUT,
    REPEAT,
    AnalysisOptions,
    Samples,
    Scored,
    axis_names,
    axis_values,
    in_order,
    mean,
    score_of,
    spot,
    unit_axis,
)
from fanwise.matrix.stats.intervals import Estimate, Method, estimate, is_binary
from fanwise.matrix.stats.paired import Interval, paired_interval, paired_p, tango

Test = Literal["mcnemar", "paired-z", "none"]
"""The same test: of differences of -1, 0 and 1 it is called McNemar's."""


class Contrast(msgspec.Struct, frozen=True):
    """Two values of an axis, compared on the pairs that have both scores."""

    axis: str
    first: str
    second: str
    scorer: str
    difference: Estimate
    """First minus second; its `n` counts pairs."""
    mean_first: float | None
    mean_second: float | None
    pairs: int
    first_better: int
    """Pairs in which the first has the higher score; with the next, those that disagree."""
    second_better: int
    test: Test
    p: float | None
    p_holm: float | None
    """Corrected for all contrasts of this axis and scorer."""
    only_first: int
    """Pairs in which the second has no score."""
    only_second: int
    neither: int
    without_partner: int
    """Cells of these two values for which the matrix has no partner."""
    failed_first: int = 0
    """Of all pairs, those in which the first failed; whether it is scored 0 or missing."""
    failed_second: int = 0

    @property
    def missing(self) -> int:
        """Pairs without both scores."""
        return self.only_first + self.only_second + self.neither

    @property
    def planned(self) -> int:
        """Pairs that the matrix has."""
        return self.pairs + self.missing

    @property
    def failures(self) -> str:
        """How often each side failed, where that differs; read it before the difference."""
        if self.failed_first == self.failed_second:
            return ""
        return (
            f"failed: {self.first} {self.failed_first:,} of {self.planned:,}, "
            f"{self.second} {self.failed_second:,} of {self.planned:,}"
        )

    @property
    def unpaired(self) -> str:
        """What is not in the comparison, as a sentence; empty if all is."""
        counts = {
            f"without a score of {self.second}": self.only_first,
            f"without a score of {self.first}": self.only_second,
            "without both": self.neither,
        }
        parts = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
        told = (
            [f"{self.missing:,} of {many(self.planned, 'pair')} missing: {parts}"] if parts else []
        )
        if self.without_partner:
            told.append(f"{many(self.without_partner, 'cell')} without a partner")
        return "; ".join(told)


class _Pair(NamedTuple):
    unit: str
    first: float
    second: float


class _Matched(NamedTuple):
    pairs: list[_Pair]
    unit: str
    counts: dict[str, int]
    """As `Contrast` has them."""


def compare(
    cells: Iterable[Scored],
    axis: str,
    scorer: str,
    *,
    baseline: str | None = None,
    options: AnalysisOptions = DEFAULTS,
) -> list[Contrast]:
    """All contrasts of an axis under a scorer, or those with a baseline (as the second)."""
    ordered = in_order(cells)
    by_value: dict[str, list[Scored]] = {}
    for cell in ordered:
        by_value.setdefault(cell.axes.get(axis, ""), []).append(cell)
    found = [
        contrast([*by_value[one], *by_value[two]], axis, (one, two), scorer, options)
        for one, two in value_pairs(ordered, axis, baseline)
    ]
    return corrected(found)


def value_pairs(
    cells: Sequence[Scored], axis: str, baseline: str | None = None
) -> list[tuple[str, str]]:
    """Which values are compared; the baseline is what the others are compared with."""
    known = [name for name in axis_names(cells) if name not in (INPUT, REPEAT)]
    if cells and axis not in known:
        raise UsageError(
            f"values of {axis!r} cannot be compared", f"Axes to compare: {', '.join(known)}"
        )
    values = axis_values(cells, axis)
    if baseline is None:
        return list(combinations(values, 2))
    if baseline not in values:
        raise UsageError(f"{axis} has no value {baseline!r}", f"It has: {', '.join(values)}")
    return [(value, baseline) for value in values if value != baseline]


def contrast(
    cells: Sequence[Scored],
    axis: str,
    values: tuple[str, str],
    scorer: str,
    options: AnalysisOptions = DEFAULTS,
) -> Contrast:
    """One contrast; its p-value is not corrected, for it knows of no others."""
    matched = _match(cells, axis, values, scorer, options.failed_as)
    pairs = matched.pairs
    test, p, difference = _judge(pairs, matched.unit, options)
    better, worse = _disagreeing(pairs)
    return Contrast(
        axis=axis,
        first=values[0],
        second=values[1],
        scorer=scorer,
        difference=difference,
        mean_first=_mean_of(pairs, 1),
        mean_second=_mean_of(pairs, 2),
        pairs=len(pairs),
        first_better=better,
        second_better=worse,
        test=test,
        p=p,
        p_holm=p,
        **matched.counts,
    )


def _judge(
    pairs: Sequence[_Pair], unit: str, options: AnalysisOptions
) -> tuple[Test, float | None, Estimate]:
    """The test that fits, its p-value, and the difference with its interval."""
    by_unit = _differences(pairs)
    if not pairs:
        return "none", None, estimate(by_unit, unit=unit, options=options)
    means = [mean(each) for each in by_unit.values()]
    value, n, confidence = mean(means), len(pairs), options.confidence

    def give(interval: Interval | None, method: Method, note: str = "") -> Estimate:
        low, high = interval or (None, None)
        return Estimate(value, low, high, method, confidence, n, len(means), unit, note)

    p = paired_p(means)
    if is_binary(pair[1:] for pair in pairs) and {-1, 0, 1}.issuperset(means):
        # One pair for each input, or repeats that agree: these say no more than one.
        counts = means.count(1), means.count(-1)
        return "mcnemar", p, give(tango(*counts, len(means), confidence), "tango")
    interval = paired_interval(means, confidence)
    if interval is None:
        same = min(means) == max(means)
        few = f"only {many(len(means), unit)}: too few for an interval"
        return (
            "paired-z",
            p,
            give(None, "none", f"each {unit} differs by the same" if same else few),
        )
    if all(0 <= score <= 1 for pair in pairs for score in pair[1:]):
        interval = max(-1.0, interval[0]), min(1.0, interval[1])
    return "paired-z", p, give(interval, "paired-z")


def _match(
    cells: Sequence[Scored],
    axis: str,
    values: tuple[str, str],
    scorer: str,
    failed_as: float | None,
) -> _Matched:
    first, second = ({spot(c.axes, [axis]): c for c in cells if c.axes.get(axis, "") == value}
                     for value in values)  # fmt: skip
    both = sorted(first.keys() & second.keys())
    unit = unit_axis(first[place] for place in both)
    pairs, lost = [], Counter[str]()
    for place in both:
        one = score_of(first[place], scorer, failed_as)
        two = score_of(second[place], scorer, failed_as)
        if one is not None and two is not None:
            pairs.append(_Pair(first[place].axes.get(unit, ""), one, two))
        else:
            one_side = "only_second" if one is None else "only_first"
            lost["neither" if one is None and two is None else one_side] += 1
    counts = {name: lost[name] for name in ("only_first", "only_second", "neither")}
    counts["without_partner"] = len(first.keys() ^ second.keys())
    for name, side in (("failed_first", first), ("failed_second", second)):
        counts[name] = sum(side[place].status == "failed" for place in both)
    return _Matched(pairs, unit, counts)


def _differences(pairs: Iterable[_Pair]) -> Samples:
    found: Samples = {}
    for pair in pairs:
        found.setdefault(pair.unit, []).append(pair.first - pair.second)
    return dict(sorted(found.items()))


def _disagreeing(pairs: Sequence[_Pair]) -> tuple[int, int]:
    better = sum(pair.first > pair.second for pair in pairs)
    return better, sum(pair.first < pair.second for pair in pairs)


def _mean_of(pairs: Sequence[_Pair], side: Literal[1, 2]) -> float | None:
    """As the difference is: the mean of units' means."""
    by_unit: Samples = {}
    for pair in pairs:
        by_unit.setdefault(pair.unit, []).append(pair[side])
    return mean([mean(group) for group in by_unit.values()]) if pairs else None


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction, in the order given: at `alpha` the family's error is that."""
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    corrected, largest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = largest
    return corrected


def corrected(contrasts: Sequence[Contrast]) -> list[Contrast]:
    """With p-values that are corrected together."""
    corrected = iter(holm([each.p for each in contrasts if each.p is not None]))
    return [
        each if each.p is None else msgspec.structs.replace(each, p_holm=next(corrected))
        for each in contrasts
    ]
