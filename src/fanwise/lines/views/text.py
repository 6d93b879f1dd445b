"""What is printed when a map has ended: failures, and lines that may have run twice."""

from __future__ import annotations

import os
import shlex

from fanwise.journal.codec import JSON
from fanwise.journal.port import Journal, RunRecord
from fanwise.journal.take_first import take
from fanwise.lines.spec.map_spec import LineItem, MapSpec
from fanwise.lines.state.counts import MOST, Tally, unit_of
from fanwise.view.terminal_text import terminal_line

MOST_WIDTH = 60


def end_lines(tally: Tally, journal: Journal, run_id: str, together: int) -> list[str]:
    """Nothing if all went well. Indented lines belong to the one before."""

    def name(index: int) -> str:
        return _name(journal, run_id, index, unit_of(together))

    lines: list[str] = []
    failed = tally.counts["failed"]
    if failed:
        lines.append(f"{failed} failed:")
        lines += [f"  {name(each.index)}: {each.why}" for each in tally.failures]
        lines += _more(failed, run_id)
    if tally.ran_twice:
        were, they = ("was", "it") if tally.ran_twice == 1 else ("were", "they")
        cut_off = f"{tally.ran_twice} {were} cut off and started again"
        lines.append(f"{cut_off}, so {they} may have run twice:")
        lines += [f"  {name(index)}" for index in tally.twice]
        lines += _more(tally.ran_twice, run_id)
    return lines


def command_of(journal: Journal, run: RunRecord, path: str, key: str) -> str:
    """The command of a line as one would type it; `{%}` stays, for slots are not recorded."""
    fan_outs = [each.id for each in journal.fan_outs(run.id) if each.path == path]
    for item in journal.items(fan_outs[0], [key]) if fan_outs else ():
        for record in take(journal.inputs(run.id, item.index), 1):
            make = MapSpec.from_json(JSON.decode(run.spec)).commands()
            words = make(LineItem(item.index, record.data), "{%}").exec_argv()
            return shlex.join(os.fsdecode(each) for each in words)
    return ""


def _name(journal: Journal, run_id: str, index: int, unit: str) -> str:
    name = f"{unit} {index + 1}"
    for record in take(journal.inputs(run_id, index), 1):
        text = terminal_line(record.data.decode("utf-8", "backslashreplace"))
        return f"{name} ({text if len(text) <= MOST_WIDTH else text[: MOST_WIDTH - 1] + '…'})"
    return name


def _more(number: int, run_id: str) -> list[str]:
    return [f"  and {number - MOST} more: fanwise show {run_id}"] if number > MOST else []
