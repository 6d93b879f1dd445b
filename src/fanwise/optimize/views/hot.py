"""A run with `hot`: the costly functions, and what came of those that were optimised."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from fanwise.journal.port import RunRecord
from fanwise.kernel.repository_watch import outside_lines
from fanwise.optimize.state.hot_state import HotState
from fanwise.specs.system import Report
from fanwise.view.html import Section, Templates, Tile, changed_outside
from fanwise.view.table import Kind, Row, Table

SHOWN = 15
"""Of the ranking, on a terminal."""
COLUMNS: dict[str, Kind] = {
    "target": "text", "share": "number", "seconds": "number", "calls": "integer", "result": "text",
}  # fmt: skip


def rows(state: HotState) -> Iterator[Row]:
    """Each function of the ranking, with what came of it."""
    for each in state.ranked:
        yield {**msgspec.to_builtins(each), "result": result_of(state, each.target)}


def result_of(state: HotState, target: str) -> str:
    found = state.results.get(target)
    if found is None:
        return ""
    return f"not judged: {found}" if isinstance(found, str) else found.came_to()


def hot_table(state: HotState) -> Table:
    """For `export`."""
    return Table("functions", COLUMNS, rows(state))


def hot_lines(state: HotState) -> list[str]:
    """For a terminal."""
    cells = [
        (f"{each.share:.0%}", f"{each.seconds:.3f} s", f"{each.calls:,} calls", each.target)
        for each in state.ranked[:SHOWN]
    ]
    widths = [max((len(row[at]) for row in cells), default=0) for at in range(3)]
    lines = ["time that a faster version could save, by function:"] if cells else []
    lines += ["  ".join([*map(str.rjust, row[:3], widths), row[3]]) for row in cells]
    if len(state.ranked) > SHOWN:
        lines.append(f"and {len(state.ranked) - SHOWN} more")
    lines += [f"{target}: {result_of(state, target)}" for target in state.results]
    if state.commits:
        lines.append(f"{len(state.commits)} commits on the branch {state.branch}")
    return lines + outside_lines(state.outside)


def hot_document(state: HotState) -> dict[str, object]:
    """As plain data."""
    return {
        "hot": list(rows(state)),
        "functions": msgspec.to_builtins(state.results),
        "branch": state.branch or None,
        "commits": list(state.commits),
        "problem": state.problem,
        "outside": list(state.outside),
    }


def hot_report(run: RunRecord, state: HotState) -> Report:
    """The table of functions, and the changes."""
    templates = Templates("fanwise.optimize.views", state=state, result_of=result_of)
    where = f"on the branch {state.branch}" if state.commits else ""
    tiles = [
        Tile("functions ranked", f"{len(state.ranked):,}"),
        Tile("optimised", f"{len(state.results):,}"),
        Tile("faster", f"{len(state.made):,}", where),
    ]
    if state.failures or state.problem:
        count = len(state.failures) + bool(state.problem)
        tiles.append(Tile("problems", f"{count:,}", bad=True))
    sections: list[Section] = [templates.section("hot", "Functions", rows=list(rows(state)))]
    if state.outside:
        sections.append(changed_outside(templates, state.outside))
    page = templates.report(run, tiles, sections)
    return Report(page.html(), hot_lines(state), hot_document(state), page)
