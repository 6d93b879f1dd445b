"""What people are told when a file of samples has run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fanwise.core.outcome import Outcome
from fanwise.errors import one_line
from fanwise.sampling.result import SampleResult
from fanwise.specs.system import End

MOST_NAMED = 10


def end_of(outcomes: Sequence[Outcome[Any]], *, alone: bool) -> End:
    """The texts on stdout, in the order of the inputs; what is wrong on stderr."""
    done = [(o.key, SampleResult.from_json(o.unwrap())) for o in outcomes if o.ok]
    valid = [key for key, result in done if result.success]
    return End(
        document=_document(outcomes, alone=alone),
        output=[result.text if alone else f"{key}\t{_one_line(result)}" for key, result in done],
        notes=_notes(outcomes, done, alone=alone),
        exit_code=0 if len(valid) == len(outcomes) else 1,
    )


def _document(outcomes: Sequence[Outcome[Any]], *, alone: bool) -> Any:
    found = [{"id": o.key, "error": _error(o), **(o.value or {})} for o in outcomes]
    if not alone:
        return found
    return found[0] if found else None


def _error(outcome: Outcome[Any]) -> str | None:
    return None if outcome.error is None else one_line(outcome.error)


def _notes(
    outcomes: Sequence[Outcome[Any]], done: list[tuple[str, SampleResult]], *, alone: bool
) -> list[str]:
    notes = []
    valid = sum(result.success for _, result in done)
    if not alone or valid < len(outcomes):
        notes.append(f"{valid} of {len(outcomes)} valid")
    bad = [(key, result) for key, result in done if not result.success]
    for key, result in bad[:MOST_NAMED]:
        why = "; ".join(result.sample.failures) or "it was not checked to the end"
        notes.append(f"  {'not valid' if alone else key}: {why}")
    failed = [o for o in outcomes if o.error is not None]
    notes += [f"  {outcome.key}: {_error(outcome)}" for outcome in failed[:MOST_NAMED]]
    more = max(0, len(bad) - MOST_NAMED) + max(0, len(failed) - MOST_NAMED)
    if more:
        notes.append(f"  … and {more} more")
    for key, result in done:
        for error in result.errors:
            notes.append(f"  {'a chain' if alone else key} had an error: {one_line(error)}")
            break
    if any(s.reply.finish_reason == "simulated" for _, r in done for s in r.samples):
        notes.append("simulated: no model was asked")
    return notes


def _one_line(result: SampleResult) -> str:
    return " ".join(result.text.split())
