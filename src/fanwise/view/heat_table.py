"""A heat map that is a table: it has headers, can be copied, and is read aloud as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from fanwise.view.markup import Child, Html, element
from fanwise.view.scales import Scale

DARK_FROM = 0.62
"""From there on text is written in the other colour."""


class Heat(msgspec.Struct, frozen=True):
    """One value of it."""

    value: float | None
    title: str
    mark: str = ""
    """What stands there if there is no value."""
    data: Mapping[str, str] = {}
    """`data-…` attributes, for a script of the page."""


def heat_cell(heat: Heat | None, scale: Scale) -> Html:
    """A cell of the table; None: there is nothing."""
    if heat is None:
        return element("td", class_="heat none")
    data = {f"data_{name}": value for name, value in heat.data.items()}
    if heat.value is None:
        return element("td", heat.mark, class_="heat missing", title=heat.title, **data)
    share = scale.place(heat.value)
    class_ = "heat high" if share >= DARK_FROM else "heat"
    text = f"{heat.value:.2f}"
    return element(
        "td", text, class_=class_, title=heat.title, style=f"--heat:{share * 100:.0f}%", **data
    )


def heat_table(
    head: Child,
    rows: Sequence[tuple[str, Sequence[Heat | None]]],
    scale: Scale,
    *,
    caption: str,
    class_: str = "",
) -> Html:
    """Rows with their headers; `head` is the rows of the table's head."""
    body = [
        element("tr", element("th", name, scope="row"), [heat_cell(each, scale) for each in values])
        for name, values in rows
    ]
    table = element(
        "table",
        element("caption", caption),
        element("thead", head),
        element("tbody", body),
        class_=f"heat-map {class_}".strip(),
    )
    return element("div", table, class_="scroll", tabindex="0", role="region", aria_label=caption)
