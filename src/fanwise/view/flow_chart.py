"""Flow charts: steps below one another, branches side by side, frames around what repeats.

Steps nest, so a chart is a tree, and a tree needs no general layout: each part knows its size,
and its parts are put inside it. A chart in a report must not need a program that may be missing.
Libraries were looked at: `graphviz` and `pygraphviz` need that program (`--format dot` is for it),
`grandalf` and `networkx` know no frames around nodes, elk, dagre and mermaid need JavaScript.
`templates/flow.html` draws it; `flow_text.py` has the same chart for Mermaid and Graphviz.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

LETTER = 7.2
"""The width of a letter; the template stretches texts to it, whatever the font is."""
MOST = 44
"""Letters of a line; the whole text is in the tooltip."""
LINE, PAD, GAP, HEAD = 16.0, 12.0, 26.0, 12.0


class FlowBranch(msgspec.Struct, frozen=True):
    """Steps that follow one another, in a branch or a frame."""

    label: str
    nodes: Sequence[FlowNode] = ()
    dashed: bool = False
    ends: bool = False
    """What comes after the branches is not reached from this one."""


class FlowNode(msgspec.Struct, frozen=True):
    """A step; with branches a decision, with a frame something that holds other steps."""

    title: str
    kind: str
    lines: Sequence[str] = ()
    state: str = ""
    """The class of its colour; empty: nothing ran."""
    branches: Sequence[FlowBranch] = ()
    frame: Sequence[FlowNode] | None = None
    stacked: bool = False
    """Drawn as several, one behind the other: a fan-out."""


class FlowLabel(NamedTuple):
    x: float
    y: float
    text: str
    length: float
    class_: str
    anchor: str = "middle"


class FlowBox(NamedTuple):
    x: float
    y: float
    width: float
    height: float
    class_: str
    tooltip: str
    points: str = ""
    """Of a polygon, if it is none with four corners."""


class FlowChart(NamedTuple):
    """Everything that is drawn, in pixels."""

    width: float
    height: float
    boxes: list[FlowBox]
    edges: list[tuple[str, str]]
    """Paths, and their classes."""
    labels: list[FlowLabel]


class _Size(NamedTuple):
    width: float
    height: float


def letters(text: str) -> int:
    """How wide a text is, in letters."""
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text)


def cut_line(text: str) -> str:
    """One line that fits."""
    line = " ".join(text.split())
    while letters(line) > MOST:
        line = f"{line[: -max(2, (letters(line) - MOST) // 2)]}…"
    return line


def flow_chart(nodes: Sequence[FlowNode]) -> FlowChart:
    """Place all of them."""
    size = _series_size(nodes)
    chart = FlowChart(size.width + 2 * PAD, size.height + 2 * (PAD + GAP), [], [], [])
    middle = chart.width / 2
    for y in (PAD, chart.height - PAD):
        chart.boxes.append(FlowBox(middle - 5, y - 5, 10, 10, "flow-end", ""))
    _edge(chart, (middle, PAD + 5), (middle, PAD + GAP))
    _draw_series(chart, nodes, middle, PAD + GAP)
    _edge(chart, (middle, chart.height - PAD - GAP), (middle, chart.height - PAD - 5))
    return chart


# -- sizes ----------------------------------------------------------------------------------------


def _texts(node: FlowNode) -> list[str]:
    return [cut_line(f"{node.title} · {node.kind}"), *map(cut_line, node.lines)]


def _head(node: FlowNode) -> _Size:
    texts = _texts(node)
    width = max([letters(text) for text in texts]) * LETTER + 2 * PAD
    return _Size(max(width, 120.0), len(texts) * LINE + HEAD)


def _body(node: FlowNode) -> _Size:
    """Without its branches."""
    head = _head(node)
    if node.frame is None:
        return head
    inside = _series_size(node.frame)
    more = inside.height + GAP + PAD if node.frame else PAD
    return _Size(max(head.width, inside.width + 2 * PAD), head.height + more)


def _size(node: FlowNode) -> _Size:
    body = _body(node)
    if not node.branches:
        return body
    sizes = [_branch_size(branch) for branch in node.branches]
    width = sum(each.width for each in sizes) + GAP * (len(sizes) - 1)
    height = max(each.height for each in sizes)
    return _Size(max(body.width, width), body.height + height + 2 * GAP)


def _branch_size(branch: FlowBranch) -> _Size:
    inside = _series_size(branch.nodes)
    label = letters(cut_line(branch.label)) * LETTER + PAD
    return _Size(max(inside.width, label, 2 * PAD), inside.height + LINE + GAP / 2)


def _series_size(nodes: Sequence[FlowNode]) -> _Size:
    sizes = [_size(node) for node in nodes]
    height = sum(each.height for each in sizes) + GAP * max(len(sizes) - 1, 0)
    return _Size(max((each.width for each in sizes), default=0.0), height)


# -- places ---------------------------------------------------------------------------------------


def _draw_series(chart: FlowChart, nodes: Sequence[FlowNode], middle: float, y: float) -> float:
    """Returns where it ends."""
    for number, node in enumerate(nodes):
        if number:
            _edge(chart, (middle, y), (middle, y + GAP))
            y += GAP
        y = _draw(chart, node, middle, y)
    return y


def _draw(chart: FlowChart, node: FlowNode, middle: float, y: float) -> float:
    body, head = _body(node), _head(node)
    left = middle - body.width / 2
    classes = f"flow-{'frame' if node.frame is not None else 'step'} state-{node.state or 'none'}"
    if node.stacked:
        # The last one hides what is behind: a frame lets half of it through.
        for away, behind in ((8, classes), (4, classes), (0, "flow-blank")):
            box = FlowBox(left + away, y + away, *body, f"{behind} flow-behind", "")
            chart.boxes.append(box)
    points = _cut_corners(left, y, body) if node.kind == "gate" else ""
    tooltip = "\n".join([f"{node.title} ({node.kind})", *node.lines])
    chart.boxes.append(FlowBox(left, y, body.width, body.height, classes, tooltip, points))
    for number, text in enumerate(_texts(node)):
        class_ = "flow-title" if number == 0 else "flow-line"
        at = y + HEAD / 2 + (number + 0.75) * LINE
        chart.labels.append(FlowLabel(middle, at, text, letters(text) * LETTER, class_))
    if node.frame:
        top = y + head.height
        _edge(chart, (middle, top), (middle, top + GAP / 2))
        _draw_series(chart, node.frame, middle, top + GAP / 2)
    bottom = y + body.height
    return _draw_branches(chart, node, middle, bottom) if node.branches else bottom


def _draw_branches(chart: FlowChart, node: FlowNode, middle: float, y: float) -> float:
    sizes = [_branch_size(branch) for branch in node.branches]
    width = sum(each.width for each in sizes) + GAP * (len(sizes) - 1)
    left, bottom = middle - width / 2, y + max(each.height for each in sizes) + 2 * GAP
    for branch, size in zip(node.branches, sizes, strict=True):
        at, class_ = left + size.width / 2, "flow-edge dashed" if branch.dashed else "flow-edge"
        top = y + GAP + LINE
        turn = y + GAP / 2
        down = _path((middle, y), (middle, turn), (at, turn), (at, top + GAP / 2))
        chart.edges.append((down, class_))
        text = cut_line(branch.label)
        chart.labels.append(FlowLabel(at, y + GAP + 4, text, letters(text) * LETTER, "flow-branch"))
        end = _draw_series(chart, branch.nodes, at, top + GAP / 2)
        turn = bottom - GAP / 2
        if not branch.ends:
            back = _path((at, end), (at, turn), (middle, turn), (middle, bottom))
            chart.edges.append((back, class_))
        left += size.width + GAP
    return bottom


def _cut_corners(left: float, y: float, size: _Size) -> str:
    right, bottom, half = left + size.width, y + size.height, y + size.height / 2
    corners = [(left + 10, y), (right - 10, y), (right, half), (right - 10, bottom),
               (left + 10, bottom), (left, half)]  # fmt: skip
    return " ".join(f"{x:.1f},{at:.1f}" for x, at in corners)


def _edge(chart: FlowChart, *points: tuple[float, float]) -> None:
    chart.edges.append((_path(*points), "flow-edge"))


def _path(*points: tuple[float, float]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
