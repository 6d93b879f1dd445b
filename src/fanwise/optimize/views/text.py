"""A run in words, for a terminal: one line for each candidate, and who won."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from fanwise.kernel.repository_watch import outside_lines
from fanwise.optimize.benchmark.size_class import SizeClass
from fanwise.optimize.state.run_state import OptimizeState
from fanwise.optimize.verdict import ORIGINAL, CandidateVerdict, winner

MOST_NAME = 40
MOST_NAMED = 5


def describe_run(state: OptimizeState, *, fully: bool) -> list[str]:
    """The lines of `fanwise show`."""
    lines = table_lines(state.verdicts)
    if fully:
        lines += [line for each in state.verdicts for line in full_lines(each)]
    if state.waiting:
        lines.append(f"{len(state.waiting)} candidates have not been judged")
    best = winner(state.verdicts)
    if best is not None:
        lines.append(f"the best so far: {best.candidate.name}, {speed_text(best)}")
    lines += failure_lines(state.failures, "stages failed")
    return lines + outside_lines(state.outside)


def table_lines(verdicts: Sequence[CandidateVerdict]) -> list[str]:
    """Every candidate with its verdict, in order."""
    names = {each.candidate.key: each.candidate.name for each in verdicts}
    rows = [
        (_cut(each.candidate.name, MOST_NAME), each.status, speed_text(each)) for each in verdicts
    ]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    return [
        "  ".join(
            [*(cell.ljust(width) for cell, width in zip(row, widths, strict=True)), why]
        ).rstrip()
        for row, why in zip(rows, (why(each, names) for each in verdicts), strict=True)
    ]


def speed_text(verdict: CandidateVerdict) -> str:
    """`2.31x [2.20, 2.42]`; empty if it was not measured."""
    speed = verdict.speed
    return "" if speed is None else f"{speed.ratio:.2f}x [{speed.low:.2f}, {speed.high:.2f}]"


def size_text(found: SizeClass) -> str:
    """`size 1 to 3: 0.21x [0.20, 0.22]`: calls of one size."""
    return f"{found.name}: {found.ratio:.2f}x [{found.low:.2f}, {found.high:.2f}]"


def full_lines(verdict: CandidateVerdict) -> Iterator[str]:
    """Everything about one candidate."""
    candidate = verdict.candidate
    yield f"{candidate.name}: {verdict.status} at {verdict.stage}. {one_line(verdict.reason)}"
    if candidate.parent is not None:
        yield f"    {candidate.how} from {candidate.parent}, round {candidate.round}"
    if verdict.speed is not None:
        yield from (f"    {size_text(each)}" for each in verdict.speed.classes)
    took = ", ".join(f"{stage} {seconds:.2f} s" for stage, seconds in verdict.seconds.items())
    if took:
        yield f"    {took}"
    if verdict.difference is not None:
        yield f"    {one_line(verdict.difference.call)}"
        yield f"      the original: {one_line(verdict.difference.expected)}"
        yield f"      this one:     {one_line(verdict.difference.got)}"


def failure_lines(failures: Mapping[str, str], what: str) -> list[str]:
    """What could not be done: the first few, with the reason."""
    if not failures:
        return []
    named = [f"  {key}: {one_line(why)}" for key, why in list(failures.items())[:MOST_NAMED]]
    more = len(failures) - len(named)
    return [f"{len(failures)} {what}:", *named, *([f"  … and {more} more"] if more else [])]


def one_line(text: str) -> str:
    """A text on one line."""
    return " ".join(text.split())


def why(verdict: CandidateVerdict, names: Mapping[str, str]) -> str:
    """The reason of a verdict, in one line."""
    if verdict.status == "same" and verdict.same_as not in (None, ORIGINAL):
        return f"the same as {names.get(verdict.same_as or '', verdict.same_as)}"
    if verdict.status == "same":
        return "the same as the original"
    if verdict.status == "rejected" and verdict.reason:
        return f"{verdict.stage}: {one_line(verdict.reason)}"
    return one_line(verdict.reason)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
