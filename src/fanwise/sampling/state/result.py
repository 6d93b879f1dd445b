"""The result of sampling: every sample that was paid for, its verdicts, and the chosen one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import msgspec

from fanwise.core.notebook import html_table
from fanwise.core.outcome import Attempt
from fanwise.core.stats import Stats
from fanwise.errors import SamplingFailed
from fanwise.journal.codec import decode_error, encode_error
from fanwise.sampling.checks.typed import as_type
from fanwise.sampling.samples import Sample

if TYPE_CHECKING:
    from typing_extensions import TypeVar as TypeVarWithDefault

    V_co = TypeVarWithDefault("V_co", covariant=True, default=Any)
else:
    V_co = TypeVar("V_co", covariant=True)
T = TypeVar("T")


class Totals(msgspec.Struct, frozen=True):
    """What it cost, over all calls: samples, judges, retries, cancelled ones too."""

    samples: int = 0
    requests: int = 0
    tokens: float = 0
    """Of the calls whose usage is known."""
    usd: float | None = 0.0
    """None: the price of at least one call is unknown."""
    unknown: int = 0
    """Calls whose usage is unknown: cancelled ones, mostly."""
    elapsed_s: float = 0.0
    sequential_s: float = 0.0
    """What the same samples and checks would have taken one after the other."""

    @property
    def saved_s(self) -> float:
        """Seconds saved compared with one after the other."""
        return max(0.0, self.sequential_s - self.elapsed_s)


class SampleResult(msgspec.Struct, Generic[V_co], frozen=True, kw_only=True):
    """`text` and `value` are those of the chosen sample; `ok` says whether it is valid.

    Asked for a type, as in `sample(model, prompt, Person)`, it is a `SampleResult[Person]`.
    """

    ok: bool
    sample: Sample
    samples: tuple[Sample, ...]
    """All that were made, by id."""
    errors: tuple[BaseException, ...] = ()
    """What ended chains, by chain; there may be some beside a success."""
    seed: int = 0
    loop_budget: int = 1
    concurrency_budget: int = 1
    totals: Totals = Totals()
    stats: Stats = Stats()
    run_id: str | None = None
    """The durable run that has it; None: it was in memory."""
    type_: Any = None
    """The type of the value that was asked for."""

    @property
    def text(self) -> str:
        return self.sample.text

    @property
    def value(self) -> V_co:
        """The text parsed by the schema; of the type that was asked for, if the sample is valid."""
        plain: V_co = self.sample.value
        return plain if self.type_ is None or not self.ok else as_type(self.type_, plain)

    @property
    def failures(self) -> list[Sample]:
        """The samples that failed a requirement. Errors that ended chains are in `errors`."""
        return [sample for sample in self.samples if sample.checked and not sample.valid]

    def require(self) -> Self:
        """The result itself; `SamplingFailed` with the reasons if no sample is valid."""
        if self.ok:
            return self
        reasons = self.sample.failures or ["it was not checked to the end"]
        what = f"none of {len(self.samples)} samples is valid; the best: {'; '.join(reasons)}"
        errors = BaseExceptionGroup("errors of chains", self.errors) if self.errors else None
        raise SamplingFailed(what, reasons, self) from errors

    def _repr_html_(self) -> str:
        rows = (
            (each.id, "valid" if each.valid else "; ".join(each.failures), each.text)
            for each in self.samples
        )
        caption = f"sample {self.sample.id}: {'valid' if self.ok else 'not valid'}"
        return html_table(caption, ("sample", "verdict", "text"), rows, len(self.samples))

    def parsed(self, type_: type[T]) -> T:
        """The value as a type, where the call asked for none."""
        found: T = as_type(type_, self.sample.value)
        return found

    def to_json(self) -> dict[str, Any]:
        """As plain data, the same from a replay as from the run that was recorded.

        So it has the seconds that the model took, but none that were measured here.
        """
        return {
            "ok": self.ok,
            "sample": self.sample.id,
            "text": self.text,
            "value": self.sample.value,
            "samples": [_sample_to_json(sample) for sample in self.samples],
            "errors": [msgspec.json.decode(encode_error(error)) for error in self.errors],
            "seed": self.seed,
            "loop_budget": self.loop_budget,
            "concurrency_budget": self.concurrency_budget,
        }

    @staticmethod
    def from_json(plain: Mapping[str, Any]) -> SampleResult:
        """From what `to_json` returned."""
        samples = msgspec.convert(plain["samples"], tuple[Sample, ...])
        (chosen,) = (sample for sample in samples if sample.id == plain["sample"])
        return SampleResult(
            ok=plain["ok"],
            sample=chosen,
            samples=samples,
            errors=tuple(
                decode_error(msgspec.json.encode(each).decode()) for each in plain["errors"]
            ),
            seed=plain["seed"],
            loop_budget=plain["loop_budget"],
            concurrency_budget=plain["concurrency_budget"],
            totals=msgspec.convert(plain.get("totals", {}), Totals),
            stats=msgspec.convert(plain.get("stats", {}), Stats),
        )


def _sample_to_json(sample: Sample) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(sample)
    for measured_here in ("queued_s", "backoff_s", "checked_s"):
        del plain[measured_here]
    return plain


def total(
    attempts: Sequence[Attempt], samples: int, elapsed_s: float, sequential_s: float
) -> Totals:
    calls = [attempt for attempt in attempts if attempt.call is not None]
    spent = [attempt.usage for attempt in calls if attempt.usage is not None]
    priced = [usage.usd for usage in spent]
    known = [usd for usd in priced if usd is not None]
    return Totals(
        samples=samples,
        requests=int(sum(usage.requests for usage in spent)) + len(calls) - len(spent),
        tokens=sum(usage.tokens for usage in spent),
        usd=sum(known) if len(known) == len(priced) else None,
        unknown=len(calls) - len(spent),
        elapsed_s=elapsed_s,
        sequential_s=sequential_s,
    )
