"""What came out, for each value of each axis: scores, failures, latency, tokens, dollars.

Conventions:

- Means have intervals that count inputs (`intervals`).
- Latency is of cells that are done: `ran_s` and `first_token_s`, as the kernel measured them,
  without queue and backoff. How long failures took is not mixed in: time-outs would raise it and
  refused keys would lower it. Percentiles are linear between the
  values (numpy's default, type 7); a p99 of few is about their largest, so `n` is with it.
- Tokens and dollars are of all cells, failed ones too: these are paid for as well. What nobody
  knows is counted and makes the total None, never 0; `usd_known` is what is known of it.
- The dollars for a success are those of all cells over the cells that pass.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from fanwise.core.lag import is_notable
from fanwise.errors import UsageError
from fanwise.matrix.stats.data import (
    DEFAULTS,
    AnalysisOptions,
    Scored,
    axis_names,
    compared_axes,
    in_order,
    samples,
    score_of,
    scorer_names,
    unit_axis,
)
from fanwise.matrix.stats.intervals import Estimate, estimate


class Percentiles(msgspec.Struct, frozen=True):
    """Of `n` values; None where there are none."""

    n: int
    p50: float | None
    p90: float | None
    p99: float | None


class Total(msgspec.Struct, frozen=True):
    """A sum; None if any part is unknown."""

    total: float | None
    known: float
    """The sum of the parts that are known."""
    unknown: int
    """Cells of which it is not known."""


def dollars(amount: float) -> str:
    """Dollars with four digits, and more where these would say that little is nothing."""
    return f"{amount:.1e}" if 0 < amount < 5e-5 else f"{amount:.4f}"


class ScoreSummary(msgspec.Struct, frozen=True):
    mean: Estimate
    unscored: int
    """Cells whose score is missing: the provider or the scorer failed, or the cell did not run."""
    passed: int
    """Cells with a score of at least the threshold."""
    usd_per_pass: float | None
    """None: nothing passed, or not all costs are known."""


class GroupSummary(msgspec.Struct, frozen=True):
    """The cells that agree on some axes."""

    axes: dict[str, str]
    """The axes that they agree on; empty: all cells."""
    n: int
    """Cells that ended."""
    done: int
    failed: int
    waiting: int
    """Cells that did not run; they are in no number but this one and `unscored`."""
    errors: dict[str, int]
    """How often each error was, the most frequent first."""
    scores: dict[str, ScoreSummary]
    cached: int
    """Cells that the cache of replies answered, at least in part: they are in no latency."""
    ran_s: Percentiles
    lag_s: Percentiles
    """How much of `ran_s` may be this process's own: it was late."""
    in_flight: int
    """The most calls in flight when this process was late."""
    first_token_s: Percentiles
    queued_s: float
    """Seconds that all cells waited for permits."""
    backoff_s: float
    input_tokens: Total
    output_tokens: Total
    usd: Total

    @property
    def notable_lag_s(self) -> float | None:
        """Seconds of the median latency that may be this process's own, if they matter."""
        ran, lag = self.ran_s.p50, self.lag_s.p50
        return lag if ran and lag and is_notable(lag, ran) else None


class Summary(msgspec.Struct, frozen=True):
    """All cells, and the groups by the axes that were asked for."""

    whole: GroupSummary
    groups: list[GroupSummary]

    def to_json(self) -> dict[str, Any]:
        """As plain data: dicts, lists, numbers and strings."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain


def summarize(
    cells: Iterable[Scored],
    *,
    by: Sequence[Sequence[str]] | None = None,
    options: AnalysisOptions = DEFAULTS,
) -> Summary:
    """The summary of all cells, and by each of the sets of axes in `by`.

    Without `by`: each axis that can be compared, and all of these crossed. All groups have the
    same scorers, so that one of which all cells failed has its empty scores too.
    """
    ordered = in_order(cells)
    wanted = default_groups(ordered) if by is None else by
    _check(wanted, ordered)
    scorers = scorer_names(ordered)
    groups = [
        _group(axes, group, scorers, options)
        for names in wanted
        for axes, group in _grouped(ordered, names)
    ]
    return Summary(_group({}, ordered, scorers, options), groups)


def default_groups(cells: Sequence[Scored]) -> list[tuple[str, ...]]:
    """Each axis that can be compared, and all of these crossed."""
    names = compared_axes(cells)
    alone = [(name,) for name in names]
    return [*alone, tuple(names)] if len(names) > 1 else [*alone]


def percentile(values: Sequence[float], share: float) -> float | None:
    """Linear between the two values around it (type 7 of Hyndman & Fan 1996)."""
    if not values:
        return None
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def percentiles(values: Sequence[float]) -> Percentiles:
    ordered = sorted(values)
    p50, p90, p99 = (percentile(ordered, share) for share in (0.5, 0.9, 0.99))
    return Percentiles(len(ordered), p50, p90, p99)


def total(values: Sequence[float | None], parts: Sequence[float] = ()) -> Total:
    """The sum, and how much of it is unknown. `parts`: what is known of values that are not."""
    known = [value for value in values if value is not None]
    unknown = len(values) - len(known)
    amount = math.fsum([*known, *parts])
    return Total(None if unknown else amount, amount, unknown)


def _check(wanted: Sequence[Sequence[str]], cells: Sequence[Scored]) -> None:
    known = axis_names(cells)
    for name in {name for names in wanted for name in names}:
        if cells and name not in known:
            raise UsageError(f"there is no axis {name!r}", f"Axes: {', '.join(known)}")


def _grouped(
    cells: Sequence[Scored], names: Sequence[str]
) -> list[tuple[dict[str, str], list[Scored]]]:
    found: dict[tuple[str, ...], list[Scored]] = {}
    for cell in cells:
        found.setdefault(tuple(cell.axes.get(name, "") for name in names), []).append(cell)
    return [(dict(zip(names, key, strict=True)), found[key]) for key in sorted(found)]


def _group(
    axes: dict[str, str],
    planned: Sequence[Scored],
    scorers: Sequence[str],
    options: AnalysisOptions,
) -> GroupSummary:
    done = [cell for cell in planned if cell.status == "done"]
    failed = [cell for cell in planned if cell.status == "failed"]
    cells = [cell for cell in planned if cell.status != "waiting"]
    usd = total(
        [cell.usd for cell in cells], [cell.usd_known for cell in cells if cell.usd is None]
    )
    return GroupSummary(
        axes=axes,
        n=len(cells),
        done=len(done),
        failed=len(failed),
        waiting=len(planned) - len(cells),
        errors=_errors(failed),
        scores={name: _scores(planned, name, usd, options) for name in scorers},
        cached=sum(cell.cached > 0 for cell in cells),
        ran_s=percentiles([cell.ran_s for cell in done if not cell.cached]),
        lag_s=percentiles([cell.lag_s for cell in done if not cell.cached]),
        in_flight=max((cell.in_flight for cell in done), default=0),
        first_token_s=percentiles(
            [
                cell.first_token_s
                for cell in done
                if cell.first_token_s is not None and not cell.cached
            ]
        ),
        queued_s=math.fsum(cell.queued_s for cell in cells),
        backoff_s=math.fsum(cell.backoff_s for cell in cells),
        input_tokens=total([cell.input_tokens for cell in cells]),
        output_tokens=total([cell.output_tokens for cell in cells]),
        usd=usd,
    )


def _scores(
    cells: Sequence[Scored], scorer: str, usd: Total, options: AnalysisOptions
) -> ScoreSummary:
    unit = unit_axis(cells)
    found = samples(cells, scorer, unit, options.failed_as)
    scores = [score_of(cell, scorer, options.failed_as) for cell in cells]
    passed = sum(score is not None and score >= options.threshold for score in scores)
    return ScoreSummary(
        mean=estimate(found, unit=unit, options=options),
        unscored=scores.count(None),
        passed=passed,
        usd_per_pass=usd.total / passed if usd.total is not None and passed else None,
    )


def _errors(failed: Sequence[Scored]) -> dict[str, int]:
    counted = Counter(cell.error or "" for cell in failed)
    return dict(sorted(counted.items(), key=lambda each: (-each[1], each[0])))
