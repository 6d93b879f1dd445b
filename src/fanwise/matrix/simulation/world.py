"""Who answers how in a simulation: given, learned from an earlier run, or assumed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from fanwise.errors import UsageError
from fanwise.journal.codec import decode_error
from fanwise.journal.port import AttemptRecord
from fanwise.matrix.simulation.profiles import (
    ANY,
    ASSUMED,
    Fixed,
    Lognormal,
    ModelProfile,
    Observed,
    parse,
)
from fanwise.models.reply_cache import is_hit
from fanwise.models.unconnected import Unconnected
from fanwise.specs.system import Assumed

EVERYONE = "all"
REFUSALS = ("ModelRateLimited", "RateLimited")
WORTH_A_RETRY = ("ModelOverloaded", "ModelUnreachable", "AttemptTimeout")


class World:
    def __init__(self, models: Iterable[Unconnected], assumed: Assumed) -> None:
        unique = {model.name: model for model in models}
        _check_names(assumed.latency, unique.values())
        learned = _by_model(assumed.learned)
        if assumed.learned_from and not any(each.seen for each in learned.values()):
            raise UsageError(
                f"there is no call to learn from in run {assumed.learned_from!r}",
                "Give a run that asked models, and not from a recording",
            )
        self.profiles = {name: _profile(model, assumed, learned) for name, model in unique.items()}

    @property
    def varies(self) -> bool:
        """Whether another seed may give another time."""
        return any(each.varies for each in self.profiles.values())


class _Seen:
    """The attempts of one model."""

    def __init__(self) -> None:
        self.seen: list[tuple[float, int | None]] = []
        self.refused: list[float] = []
        self.failed: list[float] = []

    def add(self, attempt: AttemptRecord) -> None:
        """What was cancelled, or rejected for good, says nothing about how long calls take."""
        kind = "" if attempt.error is None else decode_error(attempt.error).type_name
        kind = kind.rpartition(".")[2]
        if not kind:
            self.seen.append((attempt.ran_s, attempt.output_tokens))
        elif kind in REFUSALS:
            self.refused.append(attempt.ran_s)
        elif kind in WORTH_A_RETRY:
            self.failed.append(attempt.ran_s)

    def join(self, other: _Seen) -> None:
        self.seen += other.seen
        self.refused += other.refused
        self.failed += other.failed

    def profile(self, source: str) -> ModelProfile:
        count = len(self.seen) + len(self.refused) + len(self.failed)
        unhappy = sorted((each, None) for each in (*self.refused, *self.failed))
        return ModelProfile(
            Observed(sorted(self.seen, key=lambda each: each[0])),
            source,
            len(self.refused) / count,
            len(self.failed) / count,
            Observed(unhappy) if unhappy else Fixed(0.1),
        )


def _by_model(attempts: Sequence[AttemptRecord]) -> dict[str, _Seen]:
    found: defaultdict[str, _Seen] = defaultdict(_Seen)
    for attempt in attempts:
        if attempt.call is not None and not is_hit(attempt.call, attempt.tokens):
            # A judge's call is recorded as `judge MODEL`.
            found[attempt.call.rpartition(" ")[2]].add(attempt)
    return dict(found)


def _profile(model: Unconnected, assumed: Assumed, learned: Mapping[str, _Seen]) -> ModelProfile:
    for name in (model.name, model.provider, EVERYONE):
        if name in assumed.latency:
            return ModelProfile(parse(assumed.latency[name]), "given")
    mine = learned.get(model.name)
    if mine is not None and mine.seen:
        return mine.profile(f"learned from {assumed.learned_from}")
    provider = _Seen()
    for name, each in learned.items():
        if name.partition(":")[0] == model.provider:
            provider.join(each)
    if provider.seen:
        where = f"{assumed.learned_from}, from other models of {model.provider}"
        return provider.profile(f"learned from {where}")
    if (said := model.profile) is not None:
        latency = Lognormal(said.median_s, said.sigma, varies=said.sigma > 0)
        return ModelProfile(latency, "by its name", said.rate_limited, said.errors)
    return ModelProfile(ASSUMED.get(model.provider, ANY), "assumed: give --latency or --learn")


def _check_names(given: Mapping[str, str], models: Iterable[Unconnected]) -> None:
    known = {EVERYONE, *(m.name for m in models), *(m.provider for m in models)}
    for name, text in given.items():
        parse(text)
        if name not in known:
            shown = ", ".join(sorted(known))
            raise UsageError(f"no cell uses {name!r}", f"Give a latency for one of: {shown}")
