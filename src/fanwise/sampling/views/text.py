"""The results of a file of samples as text: for stdout, for stderr, and for `fanwise show`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fanwise.core.counts import Counts, many
from fanwise.core.outcome import Outcome
from fanwise.errors import one_line, refused_by_budget
from fanwise.sampling.samples import Sample
from fanwise.sampling.state.result import SampleResult
from fanwise.specs.system import End

MOST_NAMED = 10
MOST_NOTE = 500
MOST_TEXT = 100


def end_of(outcomes: Sequence[Outcome[Any]], total: int, *, alone: bool) -> End:
    """The texts for stdout, in the order of the inputs; what went wrong for stderr."""
    done = [(o.key, SampleResult.from_json(o.unwrap())) for o in outcomes if o.ok]
    valid = [key for key, result in done if result.ok]
    return End(
        document=_document(outcomes, alone=alone),
        output=[result.text if alone else f"{key}\t{_one_line(result)}" for key, result in done],
        notes=_notes(outcomes, done, total - len(outcomes), alone=alone),
        exit_code=0 if len(valid) == total else 1,
        counts=_counts(outcomes, done, total),
        failures=[
            *(f"{key}: {_why(result)}" for key, result in done if not result.ok),
            *(f"{o.key}: {one_line(o.error)}" for o in outcomes if o.error is not None),
        ],
    )


def _counts(
    outcomes: Sequence[Outcome[Any]], done: list[tuple[str, SampleResult]], total: int
) -> Counts:
    """How many prompts were sampled to the end; those that the budget cut off were not."""
    cut = [result for _, result in done if not result.ok and _cut_off(*result.errors)]
    refused = [o for o in outcomes if o.status == "failed" and _cut_off(o.error)]
    failed = sum(o.status == "failed" for o in outcomes) - len(refused)
    halted = go_on = ""
    if cut or refused:
        few = f"{len(cut) + len(refused):,} of {many(total, 'prompt')}"
        halted = f"the budget is used up: {few} not sampled to the end"
        go_on = "raise the budget, and start a new run"
    return Counts("prompt", len(done) - len(cut), failed, total, halted, go_on)


def _cut_off(*errors: BaseException | None) -> bool:
    return any(map(refused_by_budget, errors))


def lines_of(key: str, result: SampleResult, *, fully: bool) -> list[str]:
    """One input for `fanwise show`: the chosen sample; `fully`: every sample, in order."""
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
    errors = dict.fromkeys(one_line(error) for error in result.errors)
    return [*lines, *(f"    a chain had an error: {error}" for error in errors)]


def _state(sample: Sample) -> str:
    if not sample.checked:
        return "not checked"
    return "valid" if sample.valid else "not valid"


def _cut(text: str, most: int = MOST_TEXT) -> str:
    return text if len(text) <= most else f"{text[:most]} …"


def _document(outcomes: Sequence[Outcome[Any]], *, alone: bool) -> Any:
    found = [{"id": o.key, "error": _error(o), **(o.value or {})} for o in outcomes]
    if not alone:
        return found
    return found[0] if found else None


def _error(outcome: Outcome[Any]) -> str | None:
    return None if outcome.error is None else one_line(outcome.error)


def _notes(
    outcomes: Sequence[Outcome[Any]],
    done: list[tuple[str, SampleResult]],
    missing: int,
    *,
    alone: bool,
) -> list[str]:
    valid = sum(result.ok for _, result in done)
    rest = f", and {missing:,} not sampled" if missing and not alone else ""
    notes = [] if alone and valid else [f"{valid} of {len(outcomes)} valid{rest}"]
    notes += _some(
        f"{'not valid' if alone else key}: {_why(result)}" for key, result in done if not result.ok
    )
    notes += _some(
        f"{'no sample' if alone else o.key}: {one_line(o.error)}"
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
    """The first lines, and how many more there are."""
    found = list(lines)
    named = [f"  {_cut(' '.join(line.split()), MOST_NOTE)}" for line in found[:MOST_NAMED]]
    more = len(found) - len(named)
    return [*named, f"  … and {more} more"] if more else named


def _why(result: SampleResult) -> str:
    return "; ".join(result.sample.failures) or "it was not checked to the end"


def _one_line(result: SampleResult) -> str:
    return " ".join(result.text.split())
