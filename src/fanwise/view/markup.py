"""HTML and SVG as values: what is not markup already is escaped, so nobody can forget to.

What models answer is hostile: it may hold `</script>`. All text of a report goes through here, or
as JSON through `embedded_json`; there is no other way into a page.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any, Union

import msgspec


class Html(str):
    """Markup. Only this module makes it of text."""

    __slots__ = ()


Child = Union[str, Html, None, Iterable["Child"]]  # noqa: UP007 - it names itself
Attribute = str | float | bool | None
DASH = "–"  # noqa: RUF001
"""What stands where there is nothing to say, and between the ends of a range."""
VOID = frozenset({"meta", "br", "hr", "input", "col"})


def element(name: str, /, *children: Child, **attributes: Attribute) -> Html:
    """One element. `class_` is class, `data_x` is data-x; None and False are left out."""
    given = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in VOID:
        return Html(f"<{name}{given}>")
    return Html(f"<{name}{given}>{joined(children)}</{name}>")


def joined(children: Child) -> Html:
    """One after the other; text is escaped."""
    if children is None:
        return Html("")
    if isinstance(children, Html):
        return children
    if isinstance(children, str):
        return Html(escape(children))
    return Html("".join(map(joined, children)))


def embedded_json(data: Any, id_: str) -> Html:
    """Data for a script of the page. `<` is written so that no text can end the element."""
    text = msgspec.json.encode(data).decode().replace("<", "\\u003c")
    return element("script", Html(text), type="application/json", id=id_)


def inline(name: str, text: str) -> Html:
    """A script or a style of our own."""
    if f"</{name}" in text.lower():
        raise ValueError(f"a {name} that ends itself")
    return element(name, Html(text))


def number(value: float) -> str:
    """As short as a drawing needs it."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _attribute(key: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    text = value if isinstance(value, str) else number(value)
    return f' {name}="{escape(text)}"'
