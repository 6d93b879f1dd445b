"""What people are told when a file of samples has run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fanwise.core.outcome import Outcome
from fanwise.errors import one_line
from fanwise.sampling.result import SampleResult
from fanwise.specs.system import End

MOST_NAMED = 10
MOST_NOTE = 500


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
    valid = sum(result.success for _, result in done)
    notes = [] if alone and valid else [f"{valid} of {len(outcomes)} valid"]
    notes += _some(
        f"{'not valid' if alone else key}: {_why(result)}"
        for key, result in done
        if not result.success
    )
    notes += _some(
        f"{'failed' if alone else o.key}: {one_line(o.error)}"
        for o in outcomes
        if o.error is not None
    )
    notes += _some(
        f"{'a chain' if alone else key} had an error: {words}"
        for key, result in done
        for words in dict.fromkeys(map(one_line, result.errors))
    )
    if any(s.reply.finish_reason == "simulated" for _, r in done for s in r.samples):
        notes.append("simulated: no model was asked")
    return notes


def _some(lines: Iterable[str]) -> list[str]:
    """The first ones, each in a line, and how many more there are."""
    found = list(lines)
    named = [f"  {_cut(' '.join(line.split()))}" for line in found[:MOST_NAMED]]
    more = len(found) - len(named)
    return [*named, f"  … and {more} more"] if more else named


def _cut(line: str) -> str:
    return line if len(line) <= MOST_NOTE else f"{line[: MOST_NOTE - 1]}…"


def _why(result: SampleResult) -> str:
    return "; ".join(result.sample.failures) or "it was not checked to the end"


def _one_line(result: SampleResult) -> str:
    return " ".join(result.text.split())
