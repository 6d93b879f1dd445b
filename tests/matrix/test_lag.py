"""Latencies that are partly this process's own are flagged wherever they are shown."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fanwise import call
from fanwise.core.lag import is_notable
from fanwise.journal.open import open_journal
from fanwise.kernel.virtual_time import VirtualLoop, run_virtual
from fanwise.matrix import Matrix, Subject, run_matrix
from fanwise.matrix.state.recorded_matrix import read_matrix
from fanwise.matrix.state.run_comparison import Side, compare_sides
from fanwise.matrix.views.cell_rows import cell_table
from fanwise.matrix.views.page import report
from fanwise.matrix.views.run_comparison import comparison_report
from fanwise.matrix.views.text import describe_run, end_of
from fanwise.view.calls import call_detail, call_lines
from tests.view.seen import Seen

INPUTS = [{"id": f"i{n}"} for n in range(4)]
WARNING = "at 4 in flight this process adds 28 ms: lower the cap or use more workers"


async def answer(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "good"


async def slowed(subject: Subject) -> Any:
    """The answer is there after 20 ms. The loop computes from 10 ms on, so it is seen at 38."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    if subject.input["id"] == "i0":
        loop.call_later(0.01, loop.block, 0.028)
    return await call(answer, 0.02, name="model")


async def undisturbed(subject: Subject) -> Any:
    return await call(answer, 0.02, name="model")


class Shown:
    """Everything that people and programs see of a recorded matrix."""

    def __init__(self, journal: Path, strategy: Any) -> None:
        matrix = Matrix("lag", prompts={"only": strategy}, inputs=INPUTS)
        run_virtual(run_matrix(matrix, run="lag", journal=journal))
        with closing(open_journal(journal, read_only=True)) as opened:
            found = read_matrix(opened, "lag")
            self.html = Seen(report(opened, opened.run("lag")).html).text
            self.calls = "\n".join(call_lines(call_detail(opened.call_totals("lag"))))
        end = end_of(found)
        self.table, self.notes = "\n".join(end.output), list(end.notes)
        self.run = "\n".join(describe_run(found, fully=False))
        self.cells = [each.to_json() for each in found.results]
        self.rows = list(cell_table(found).rows)


def test_a_lag_is_flagged_in_table_note_report_and_show_even_of_four_cells(tmp_path: Path) -> None:
    shown = Shown(tmp_path / "journal.db", slowed)
    assert "0.04 s (28 ms lag)" in shown.table and "0.04 s (28 ms lag)" in shown.run
    assert shown.notes == [f"latencies are too long: {WARNING}"]
    assert WARNING in shown.html
    assert f"late      4 of 4 attempts: {WARNING}" in shown.calls
    assert {each["lag_s"] for each in shown.cells} == {0.028}


def test_without_a_lag_nothing_is_flagged(tmp_path: Path) -> None:
    shown = Shown(tmp_path / "journal.db", undisturbed)
    assert "0.02 s" in shown.table and "ms lag" not in shown.table
    assert shown.notes == []
    assert "this process adds" not in shown.html and "late" not in shown.calls


def test_a_lag_is_flagged_where_runs_are_compared_also_with_an_older_export(tmp_path: Path) -> None:
    slow, fast = Shown(tmp_path / "slow.db", slowed), Shown(tmp_path / "fast.db", undisturbed)
    found = comparison_report([compare_sides(Side("fast", fast.rows), Side("slow", slow.rows))])
    lines = [line for line in found.lines if line.startswith(("fast  ", "slow  "))]
    assert "0.02 s  " in lines[0] and "0.04 s (28 ms lag)" in lines[1]
    assert f"latencies are too long: {WARNING}" in found.lines
    assert WARNING in Seen(found.html).text
    before, after = found.document["comparisons"][0]["summaries"]
    assert (before["lag_s"]["p50"], after["lag_s"]["p50"], after["in_flight"]) == (0.0, 0.028, 4)
    older = [{k: v for k, v in row.items() if k not in ("lag_s", "in_flight")} for row in slow.rows]
    found = comparison_report([compare_sides(Side("fast", fast.rows), Side("slow", older))])
    assert "ms lag" not in "\n".join(found.lines)


@pytest.mark.parametrize(
    ("lag_s", "ran_s", "notable"),
    [(0.028, 0.05, True), (0.004, 0.005, False), (0.05, 2.0, False), (0.3, 2.0, True)],
)
def test_a_lag_is_notable_beside_the_latency_and_above_5_ms(
    lag_s: float, ran_s: float, notable: bool
) -> None:
    assert is_notable(lag_s, ran_s) is notable
