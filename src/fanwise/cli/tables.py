"""Plain tables on stdout: aligned, and cut to the width of a terminal.

No borders or wrapping, so that `fanwise runs | grep` gets one whole line per run.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Sequence

from fanwise.cli.messages import print_line
from fanwise.view.terminal_text import terminal_line

GAP = "  "


def print_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], right: Collection[int] = ()
) -> None:
    """Print a table; `right`: the columns to align right."""
    rows = [[terminal_line(cell) for cell in row] for row in rows]
    widths = [max(len(row[place]) for row in (head, *rows)) for place in range(len(head))]
    limit = shutil.get_terminal_size().columns if os.isatty(1) else None
    if limit is not None:
        _narrow(widths, limit)
    for row in (head, *rows):
        cells = [_cell(row[i], widths[i], right=i in right) for i in range(len(head))]
        print_line(GAP.join(cells).rstrip())


def _narrow(widths: list[int], limit: int) -> None:
    """Narrow the widest columns until all fit, but not below 10."""
    over = sum(widths) + len(GAP) * (len(widths) - 1) - limit
    while over > 0:
        widest = widths.index(max(widths))
        if widths[widest] <= 10:
            return
        cut = min(over, widths[widest] - 10)
        widths[widest] -= cut
        over -= cut


def _cell(text: str, width: int, *, right: bool) -> str:
    if len(text) > width:
        text = f"{text[: width - 1]}…"
    return text.rjust(width) if right else text.ljust(width)
