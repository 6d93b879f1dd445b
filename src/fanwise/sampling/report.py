"""What people are told when a file of samples has run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fanwise.core.outcome import Outcome
from fanwise.errors import RecordedError
from fanwise.sampling.result import Sample, SampleResult
from fanwise.specs.system import End

MOST_NAMED = 10
MOST_TEXT = 100


def end_of(outcomes: Sequence[Outcome[Any]], total: int, *, alone: bool) -> End:
    """The texts on stdout, in the order of the inputs; what is wrong on stderr."""
    done = [(o.key, SampleResult.from_json(o.unwrap())) for o in outcomes if o.ok]
    valid = [key for key, result in done if result.success]
    return End(
        document=_document(outcomes, alone=alone),
        output=[result.text if alone else f"{key}\t{_one_line(result)}" for key, result in done],
        notes=_notes(outcomes, done, total - len(outcomes), alone=alone),
        exit_code=0 if len(valid) == len(outcomes) else 1,
    )


def lines_of(key: str, result: SampleResult, *, fully: bool) -> list[str]:
    """One input for `fanwise show`: the sample that was chosen; fully: each sample, in order."""
    chosen = result.sample
    made = f"sample {chosen.id}, of {len(result.samples)} that were made"
    lines = [f"{key}: {_state(chosen)} ({made}): {_cut(_one_line(result))}"]
    if not fully:
        return lines
    for sample in sorted(result.samples, key=lambda each: (each.iteration, each.chain)):
        mark = "*" if sample is chosen else " "
        where = f"chain {sample.chain}, iteration {sample.iteration}"
        why = "; ".join(" ".join(each.split()) for each in sample.failures)
        told = f"{_state(sample)} ({why})" if why else _state(sample)
        text = _cut(" ".join(sample.text.split()))
        lines.append(f"  {mark} sample {sample.id} ({where}): {told}: {text}")
    errors = dict.fromkeys(said(error) for error in result.errors)
    return [*lines, *(f"    a chain had an error: {error}" for error in errors)]


def _state(sample: Sample) -> str:
    if not sample.checked:
        return "not checked"
    return "valid" if sample.valid else "not valid"


def _cut(text: str) -> str:
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]} …"


def _document(outcomes: Sequence[Outcome[Any]], *, alone: bool) -> Any:
    found = [{"id": o.key, "error": _error(o), **(o.value or {})} for o in outcomes]
    if not alone:
        return found
    return found[0] if found else None


def _error(outcome: Outcome[Any]) -> str | None:
    return None if outcome.error is None else said(outcome.error)


def _notes(
    outcomes: Sequence[Outcome[Any]],
    done: list[tuple[str, SampleResult]],
    missing: int,
    *,
    alone: bool,
) -> list[str]:
    notes = []
    valid = sum(result.success for _, result in done)
    if not alone or valid < len(outcomes):
        rest = f", and {missing:,} not sampled" if missing and not alone else ""
        notes.append(f"{valid} of {len(outcomes)} valid{rest}")
    bad = [(key, result) for key, result in done if not result.success]
    for key, result in bad[:MOST_NAMED]:
        why = "; ".join(result.sample.failures) or "it was not checked to the end"
        notes.append(f"  {'not valid' if alone else key}: {why}")
    failed = [o for o in outcomes if o.error is not None]
    notes += [
        f"  {'no sample' if alone else outcome.key}: {_error(outcome)}"
        for outcome in failed[:MOST_NAMED]
    ]
    more = max(0, len(bad) - MOST_NAMED) + max(0, len(failed) - MOST_NAMED)
    if more:
        notes.append(f"  … and {more} more")
    died = [(key, result.errors[0]) for key, result in done if result.errors]
    notes += [
        f"  {'a chain' if alone else key} had an error: {said(error)}"
        for key, error in died[:MOST_NAMED]
    ]
    if len(died) > MOST_NAMED:
        notes.append(f"  … and chains of {len(died) - MOST_NAMED} more")
    if any(s.reply.finish_reason == "simulated" for _, r in done for s in r.samples):
        notes.append("simulated: no model was asked")
    return notes


def _one_line(result: SampleResult) -> str:
    return " ".join(result.text.split())


def said(error: BaseException) -> str:
    """An error in a line; of a group, what is in it, each once."""
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(dict.fromkeys(said(each) for each in error.exceptions))
    if isinstance(error, RecordedError):
        return f"{error.type_name.rpartition('.')[2]}: {error.text}"
    return f"{type(error).__name__}: {error}"
