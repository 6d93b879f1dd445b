"""A flow chart as text for other programs: Mermaid, and Graphviz's DOT."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fanwise.view.flow_chart import FlowNode, cut_line

FILLS = {
    "completed": "#d3f0dc", "failed": "#f9d2d0", "aborted": "#f9d2d0", "running": "#d5e6fb",
    "paused": "#fbeecb", "interrupted": "#fbeecb", "cancelled": "#fbeecb", "skipped": "#eeeeee",
}  # fmt: skip
Ends = list[tuple[str, str]]
"""The nodes that an edge to the next step leaves from, and the label of each edge."""


class Syntax(NamedTuple):
    """How each part is written."""

    first: str
    last: str
    node: str
    gate: str
    open: str
    close: str
    edge: str
    labelled: str
    line_break: str


MERMAID = Syntax(
    "flowchart TD", "", '{id}["{text}"]', '{id}{{{{"{text}"}}}}', 'subgraph {id}["{text}"]', "end",
    "{a} --> {b}", '{a} -->|"{label}"| {b}', "<br>",
)  # fmt: skip
DOT = Syntax(
    'digraph workflow {\n  node [shape=box style="rounded,filled" fillcolor=white];', "}",
    '{id} [label="{text}" fillcolor="{fill}"];',
    '{id} [label="{text}" shape=hexagon style=filled fillcolor="{fill}"];',
    'subgraph cluster_{id} {{ label="{text}"; style=rounded;', "}",
    "{a} -> {b};", '{a} -> {b} [label="{label}"];', "\\n",
)  # fmt: skip


def mermaid(nodes: Sequence[FlowNode]) -> str:
    """For GitHub, GitLab and mermaid.live."""
    writer = _Writer(MERMAID)
    lines = [*writer.series(nodes, [], "  ")[0]]
    states = sorted({state for state, _ in writer.states})
    styles = [f"  classDef {state} fill:{FILLS[state]},color:#111" for state in states]
    used = [f"  class {id_} {state}" for state, id_ in writer.states]
    return "\n".join([MERMAID.first, *lines, *writer.edges, *styles, *used, ""])


def dot(nodes: Sequence[FlowNode]) -> str:
    """For `dot -Tsvg`."""
    writer = _Writer(DOT)
    lines = [*writer.series(nodes, [], "  ")[0]]
    return "\n".join([DOT.first, *lines, *writer.edges, DOT.last, ""])


class _Writer:
    def __init__(self, syntax: Syntax) -> None:
        self._syntax = syntax
        self._count = 0
        self.edges: list[str] = []
        self.states: list[tuple[str, str]] = []

    def series(self, nodes: Sequence[FlowNode], ends: Ends, indent: str) -> tuple[list[str], Ends]:
        """Its lines, and where the next step is reached from."""
        lines: list[str] = []
        for node in nodes:
            more, ends = self._node(node, ends, indent)
            lines += more
        return lines, ends

    def _node(self, node: FlowNode, ends: Ends, indent: str) -> tuple[list[str], Ends]:
        self._count += 1
        id_, syntax = f"n{self._count}", self._syntax
        text = syntax.line_break.join(
            map(self._escaped, [f"{node.title} ({node.kind})", *node.lines])
        )
        if node.state in FILLS:
            self.states.append((node.state, id_))
        fill = FILLS.get(node.state, "#ffffff")
        shape = syntax.gate if node.kind == "gate" else syntax.node
        lines: list[str] = []
        if node.frame is None:
            lines.append(f"{indent}{shape.format(id=id_, text=text, fill=fill)}")
            self._reach(id_, ends)
            ends = [(id_, "")]
        else:
            lines.append(f"{indent}{syntax.open.format(id=id_, text=text)}")
            # An edge to a frame would be to no node: an entry stands for it.
            lines.append(f"{indent}  {syntax.node.format(id=f'{id_}in', text=' ', fill=fill)}")
            self._reach(f"{id_}in", ends)
            inside, ends = self.series(node.frame, [(f"{id_}in", "")], f"{indent}  ")
            lines += [*inside, f"{indent}{syntax.close}"]
        leaves: Ends = []
        lines += self._branches(node, ends, indent, leaves)
        return lines, leaves or ends

    def _branches(self, node: FlowNode, ends: Ends, indent: str, leaves: Ends) -> Iterator[str]:
        for branch in node.branches:
            starts = [(id_, branch.label) for id_, _ in ends]
            lines, reached = self.series(branch.nodes, starts, indent)
            yield from lines
            leaves += [] if branch.ends else reached

    def _reach(self, id_: str, ends: Ends) -> None:
        for start, label in ends:
            form = self._syntax.labelled if label else self._syntax.edge
            self.edges.append(f"  {form.format(a=start, b=id_, label=self._escaped(label))}")

    def _escaped(self, text: str) -> str:
        line = cut_line(text)
        if self._syntax is DOT:
            return line.replace("\\", "\\\\").replace('"', '\\"')
        # Mermaid reads HTML entities, written with #.
        return "".join(f"#{ord(c)};" if c in '"<>&#`{}|;' else c for c in line)
