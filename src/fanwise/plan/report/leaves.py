"""Everything about each leaf, folded: its files, its tries and what they were told, its cost."""

from __future__ import annotations

from collections.abc import Iterator

from fanwise.plan.ended import Ended, Try
from fanwise.plan.recorded import Leaf, Recorded
from fanwise.plan.report.marks import anchor, files_text, leaf_links, state_chip
from fanwise.plan.telling import cost_text, one_line
from fanwise.view.calls import dollars
from fanwise.view.markup import DASH, Child, Html, element
from fanwise.view.patch import bounded
from fanwise.view.pieces import block, duration_text, folded, scrolled

MOST_FILES = 200


def leaves(found: Recorded) -> Html:
    """All of them, in the order of the tree."""
    return element("div", [_leaf(each, found) for each in found.leaves.values()])


def _leaf(leaf: Leaf, found: Recorded) -> Html:
    summary = [
        element("span", leaf.node.title, class_="where"),
        element("span", one_line(leaf.why) or _shortly(leaf), class_="said"),
        element("span", state_chip(leaf.state), class_="chips"),
    ]
    inside = element("div", list(_inside(leaf, found)), class_="inside")
    cell = folded(summary, inside, class_="cell")
    return element("div", cell, id=anchor(leaf.node.id), class_="anchor")


def _shortly(leaf: Leaf) -> str:
    told = [files_text(leaf)] if leaf.node.files else []
    if leaf.ran_s:
        told.append(duration_text(leaf.ran_s))
    return ", ".join(told)


def _inside(leaf: Leaf, found: Recorded) -> Iterator[Child]:
    yield element("p", _origin(leaf), class_="small")
    if leaf.node.goal:
        yield block("its own goal", bounded(leaf.node.goal))
    if leaf.node.irreducible:
        yield element("p", f"Beyond the limits: {leaf.node.irreducible}", class_="small")
    if leaf.node.after:
        yield element("p", "After ", leaf_links(leaf.node.after, found), class_="small")
    if leaf.why:
        yield element("p", leaf.why)
    if leaf.node.files:
        yield _files(leaf)
    for number, each in enumerate(leaf.tries, 1):
        yield _try(number, each)
    for title, ended in (("what it said", leaf.ended), ("what it said, once more", leaf.again)):
        if ended is not None:
            yield _ended(title, ended)
    if leaf.kept:
        yield element("p", "Its last edits are in ", element("code", leaf.kept))


def _origin(leaf: Leaf) -> str:
    told = [leaf.node.id, f"{leaf.node.tokens:,} tokens"]
    if leaf.spans:
        told.append(f"ran {duration_text(leaf.ran_s)}, waited {duration_text(leaf.queued_s)}")
    if leaf.starts > 1:
        told.append(f"started {leaf.starts} times without an end: it may have run twice")
    if cost_text(leaf):
        told.append(cost_text(leaf))
    return "; ".join(told)


def _files(leaf: Leaf) -> Html:
    changed = set() if leaf.change is None else set(leaf.change.files)
    own = [f"{'*' if path in changed else ' '} {path}" for path in leaf.node.files[:MOST_FILES]]
    fresh = [f"+ {path}" for path in sorted(changed - set(leaf.node.files))]
    more = len(leaf.node.files) - MOST_FILES
    rest = [f"… and {more:,} more"] if more > 0 else []
    return block("files (* changed, + new or shared)", "\n".join([*own, *rest, *fresh]))


def _try(number: int, tried: Try) -> Html:
    title = f"try {number}: {tried.stage} failed after {duration_text(tried.seconds)}"
    text = f"{tried.reason}\n\n{tried.said}" if tried.said else tried.reason
    return block(title, bounded(text), kind="error")


def _ended(title: str, ended: Ended) -> Html:
    said = bounded(ended.said) or "nothing"
    return block(f"{title} ({ended.status}; verification: {ended.verified})", said, kind="answer")


# -- cost -----------------------------------------------------------------------------------------


def cost(found: Recorded) -> Html:
    """What each leaf cost, the dearest first; what nobody knows is said."""
    asked = [each for each in found.leaves.values() if each.calls.attempts]
    asked.sort(key=lambda each: (-(each.calls.usd.known), -(each.calls.tokens.known)))
    names = ("sub-plan", "calls", "tokens in", "tokens out", "tokens", "dollars")
    head = [
        element("th", name, scope="col", class_="number" if place else None)
        for place, name in enumerate(names)
    ]
    body = [element("tr", list(_cost_cells(each))) for each in asked]
    table = element("table", element("thead", element("tr", head)), element("tbody", body))
    return scrolled(table, "Cost")


def _cost_cells(leaf: Leaf) -> Iterator[Html]:
    calls = leaf.calls
    yield element("th", element("a", leaf.node.title, href=f"#{anchor(leaf.node.id)}"), scope="row")
    yield element("td", f"{calls.attempts:,}", class_="number")
    for part in (calls.input_tokens, calls.output_tokens, calls.tokens):
        text = DASH if part.total is None else f"{part.total:,.0f}"
        yield element("td", text, class_="number")
    usd = calls.usd.total
    yield element("td", "unknown" if usd is None else dollars(usd), class_="number")
