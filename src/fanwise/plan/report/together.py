"""How changes came together: conflicts, requests, broken names, the check and its bisection."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fanwise.plan.change import Request
from fanwise.plan.merge.merged import Checked, Conflict
from fanwise.plan.recorded import Recorded
from fanwise.plan.report.marks import leaf_link, leaf_links, state_chip
from fanwise.plan.telling import moved_line, plural, settled
from fanwise.view.markup import DASH, Child, Html, element
from fanwise.view.patch import MOST, bounded, diff
from fanwise.view.pieces import block, duration_text, folded, scrolled

Cells = Sequence[Child]


def conflicts(found: Recorded) -> Html:
    """Each with its files, both sides, and what became of it."""
    shown = [_conflict(each, found) for each in found.joined.conflicts]
    taken = [
        ([element("code", each.path)], leaf_link(each.leaf, found), leaf_links(each.others, found))
        for each in found.joined.taken
    ]
    table = _table(
        "Files of which the later one's version was taken", ("file", "taken of", "lost of"), taken
    )
    moved = [element("li", moved_line(each, found)) for each in found.joined.moved]
    return element("div", shown, table if taken else None, element("ul", moved) if moved else None)


def _conflict(conflict: Conflict, found: Recorded) -> Html:
    leaf = found.leaves.get(conflict.leaf)
    summary = [
        element("span", ", ".join(conflict.paths), class_="where"),
        element("span", f"{found.title(conflict.leaf)} with ",
                ", ".join(map(found.title, conflict.others)), class_="said"),
        element("span", element("span", conflict.kind, class_="chip"),
                None if leaf is None else state_chip(leaf.state), class_="chips"),
    ]  # fmt: skip
    inside = [
        element("p", leaf_link(conflict.leaf, found), " was set aside: it does not go with ",
                leaf_links(conflict.others, found), ". ", settled(conflict.leaf, found), ".")
    ]  # fmt: skip
    if conflict.detail:
        inside.append(block("what git said", bounded(conflict.detail)))
    return folded(summary, element("div", inside, class_="inside"), class_="cell")


def requests(wanted: Sequence[Request], found: Recorded) -> Html:
    """Each with its patch."""
    return element("div", [_request(each, found) for each in wanted])


def _request(request: Request, found: Recorded) -> Html:
    owner = "nobody's" if request.owner is None else f"of {found.title(request.owner)}"
    more = f", and {plural(request.more, 'other file')} of the same" if request.more else ""
    summary = [
        element("span", request.path, class_="where"),
        element("span", f"wanted by {found.title(request.leaf)}{more}", class_="said"),
        element("span", element("span", owner, class_="chip"), class_="chips"),
    ]
    inside = element("div", diff(request.patch, MOST), class_="inside")
    return folded(summary, inside, class_="cell")


def broken_names(found: Recorded) -> Html:
    """Names that one leaf took away and another uses."""
    rows = [
        (
            element("code", each.name),
            [leaf_link(each.removed_by, found), f", from {each.removed_from}"],
            element("code", each.renamed_to) if each.renamed_to else DASH,
            [leaf_link(each.used_by, found), f", {each.path}:{each.line}"],
        )
        for each in found.joined.broken
    ]
    return _table("Names", ("name", "taken away by", "now", "used by"), rows)


def checks(found: Recorded) -> Html:
    """The check, and those of the bisection, in order."""
    return element("div", list(_checks(found)))


def _checks(found: Recorded) -> Iterator[Child]:
    for number, each in enumerate(found.joined.checks):
        name = "check" if number == 0 else f"bisection, check {number}"
        verdict = element(
            "span", "passed" if each.passed else "failed",
            class_=f"chip {'good' if each.passed else 'bad'}",
        )  # fmt: skip
        summary = [
            element("span", name, class_="where"),
            element("span", _without(each, found), class_="said"),
            element("span", element("span", duration_text(each.seconds), class_="chip"), verdict,
                    class_="chips"),
        ]  # fmt: skip
        inside = block("what it said", bounded(each.said) or "nothing")
        yield folded(summary, element("div", inside, class_="inside"), class_="cell")
    for step in found.joined.failures:
        yield block(
            f"{step.key.replace(':', ' ')} could not be made", bounded(step.error), kind="error"
        )


def _without(checked: Checked, found: Recorded) -> str:
    if not checked.without:
        return "with all that was merged"
    return f"without {', '.join(map(found.title, checked.without))}"


def _table(caption: str, names: Sequence[str], rows: Sequence[Cells]) -> Html:
    head = element("tr", [element("th", name, scope="col") for name in names])
    body = [element("tr", [element("td", cell) for cell in row]) for row in rows]
    table = element(
        "table", element("caption", caption), element("thead", head), element("tbody", body)
    )
    return scrolled(table, caption)
