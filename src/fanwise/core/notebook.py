"""Results in notebooks: small tables that need no style of their own, with everything escaped.

Jupyter calls `_repr_html_` of what stands last in a cell. A table shows some rows and says how many
there are: a million outcomes would freeze the page.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

MOST_ROWS = 20
MOST_TEXT = 200


def escape(text: str) -> str:
    """Text that is safe between tags. `html.escape` would read its table of entities first."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def html_table(
    caption: str, names: Sequence[str], rows: Iterable[Sequence[Any]], total: int
) -> str:
    """Some rows under their names, and how many more there are."""
    shown = "".join(_row("td", row) for row in islice(rows, MOST_ROWS))
    more = f"<p>… and {total - MOST_ROWS:,} more</p>" if total > MOST_ROWS else ""
    head = f"<caption>{escape(caption)}</caption><thead>{_row('th', names)}</thead>"
    return f"<table>{head}<tbody>{shown}</tbody></table>{more}"


def html_lines(lines: Iterable[str]) -> str:
    """Text as it stands in a terminal."""
    return f"<pre>{escape(chr(10).join(lines))}</pre>"


def _row(tag: str, values: Iterable[Any]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(_cut(value))}</{tag}>' for value in values)}</tr>"


def _cut(value: Any) -> str:
    text = "" if value is None else value if isinstance(value, str) else repr(value)
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]} …"
