"""The steps of a run as a tree, from its journal: what each came to, and how long it took.

Leaves are items, and have their times there. Of the steps around them the run noted what they came
to. A step that was begun and has no end was running when the run was interrupted, or is now: of
these the journal has no more than a key, and the file says what they are and where they stand.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from fanwise.journal.codec import JSON, decode_error
from fanwise.journal.port import EventRecord, ItemRecord, Journal, RunRecord
from fanwise.view.run_summary import duration, shown_status
from fanwise.view.terminal_text import terminal_line
from fanwise.workflow.spec.outline import Outline
from fanwise.workflow.state.step_note import STEP, StepNote
from fanwise.workflow.state.step_result import Record, record_of

MOST = 20
"""Steps inside one that are shown, if not all are wanted."""


class TreeNode(msgspec.Struct):
    """One step, at one path."""

    path: str
    type: str
    status: str
    began: float | None = None
    ended: float | None = None
    inside: str = ""
    error: str | None = None


def tree_lines(journal: Journal, run: RunRecord, *, fully: bool) -> list[str]:
    """For `fanwise show`."""
    outline = Outline(JSON.decode(run.spec))
    nodes = nodes_of(journal, run)
    _complete(nodes, outline, "running" if shown_status(run) == "running" else "interrupted")
    order = {step: n for n, step in enumerate(outline.top)}
    inside: dict[str, list[TreeNode]] = {}
    for node in nodes.values():
        inside.setdefault(node.inside, []).append(node)
    for children in inside.values():
        children.sort(key=lambda node: (order.get(node.path, len(order)), node.began or 0.0))
    return [*_lines(inside, "", 0, fully=fully)]


def _complete(nodes: dict[str, TreeNode], outline: Outline, unfinished: str) -> None:
    """Add what the journal does not have: the steps around those in flight, and those to come."""
    for node in list(nodes.values()):
        if not node.type:
            node.type, node.inside = outline.type(node.path), outline.around(node.path)
        if node.status == "running":
            node.status = unfinished
        while node.inside and node.inside not in nodes:
            path, began = node.inside, node.began
            status = "cancelled" if node.status == "cancelled" else unfinished
            node = TreeNode(path, outline.type(path), status, began, inside=outline.around(path))
            nodes[path] = node
    for step in outline.top:
        nodes.setdefault(step, TreeNode(step, outline.type(step), "pending"))


def nodes_of(journal: Journal, run: RunRecord) -> dict[str, TreeNode]:
    """By path."""
    nodes: dict[str, TreeNode] = {}
    for event in journal.events(run.id):
        if event.kind == STEP:
            node = _noted(event)
            nodes[node.path] = node
    for fan_out in journal.fan_outs(run.id):
        name = fan_out.path.rpartition("/")[2].replace("%2F", "/").replace("%25", "%")
        for item in journal.items(fan_out.id):
            # Others are of systems that ran inside a step.
            if item.key == name or item.key.startswith(f"{name}:"):
                nodes[item.key] = _recorded(item)
    return nodes


def _noted(event: EventRecord) -> TreeNode:
    note = event.decode(StepNote)
    return TreeNode(
        note.path, note.type, note.status, note.at, event.at, note.inside, note.error
    )  # fmt: skip


def _recorded(item: ItemRecord) -> TreeNode:
    record = None if item.value is None else record_of(JSON.decode(item.value))
    if record is None:
        status = "running" if item.status == "started" else item.status
        error = None if item.error is None else decode_error(item.error).text
        return TreeNode(item.key, "", status, item.started_at, item.ended_at, "", error)
    return TreeNode(
        item.key, record.type, record.status, item.started_at, item.ended_at, record.inside,
        record.error or _question(item.key, record),
    )  # fmt: skip


def _question(path: str, record: Record) -> str | None:
    """What a gate waits for, as it can be typed."""
    if record.type != "gate" or record.status != "paused":
        return None
    options = "|".join(record.output["options"])
    return f"waits for --answer {path}={options}: {record.output['message']}"


def _lines(
    inside: dict[str, list[TreeNode]], path: str, depth: int, *, fully: bool
) -> Iterator[str]:
    children = inside.get(path, [])
    shown = children if fully else children[:MOST]
    width = max((len(node.path) for node in shown), default=0)
    for node in shown:
        yield f"{'  ' * depth}{node.path:<{width}}  {_told(node)}".rstrip()
        yield from _lines(inside, node.path, depth + 1, fully=fully)
    if len(shown) < len(children):
        yield f"{'  ' * depth}… and {len(children) - MOST:,} more (all of them: --items)"


def _told(node: TreeNode) -> str:
    took: Any = ""
    if node.began is not None and node.ended is not None and node.status != "pending":
        took = duration(node.ended - node.began)
    error = f"  {terminal_line(node.error)}" if node.error else ""
    return f"{node.type:<8}  {node.status:<9}  {took}{error}"
