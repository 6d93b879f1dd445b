"""Small things that stand in several parts of the page."""

from __future__ import annotations

from collections.abc import Mapping

from fanwise.plan.recorded import Leaf, Recorded
from fanwise.plan.states import MARKS, ORDER, State
from fanwise.plan.telling import plural
from fanwise.view.markup import Html, element

CLASSES: Mapping[State, str] = {
    "done": "good", "unchanged": "", "split": "", "queued": "", "running": "active",
    "verifying": "active", "merging": "active", "failed": "bad", "given up": "bad",
    "skipped": "warn", "conflict": "warn", "left out": "warn",
}  # fmt: skip


def state_chip(state: State) -> Html:
    """A state with its mark and colour: the colour alone tells nobody anything."""
    text = f"{MARKS[state]} {state}"
    return element("span", text, class_=f"chip {CLASSES[state]}".strip())


def count_chips(counts: Mapping[State, int]) -> list[Html]:
    """How many are in which state."""
    return [
        element("span", f"{counts[state]:,} {state}", class_=f"chip {CLASSES[state]}".strip())
        for state in ORDER
        if counts.get(state)
    ]


def anchor(leaf: str) -> str:
    """Where on the page all about a leaf stands."""
    return f"leaf-{leaf}"


def leaf_link(leaf: str, found: Recorded) -> Html:
    """Its title, leading to all about it."""
    if leaf not in found.leaves:
        return element("span", found.title(leaf))
    return element("a", found.title(leaf), href=f"#{anchor(leaf)}")


def leaf_links(leaves: tuple[str, ...], found: Recorded) -> list[Html | str]:
    """Several, with commas."""
    links = [leaf_link(leaf, found) for leaf in leaves]
    return [part for link in links for part in (", ", link)][1:]


def files_text(leaf: Leaf) -> str:
    """`7 files`."""
    return plural(len(leaf.node.files), "file")
