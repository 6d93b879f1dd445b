"""A workflow as a flow chart; of a run also how its steps ended, and how long they took."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from fanwise.view.flow_chart import FlowBranch, FlowNode
from fanwise.view.run_summary import duration
from fanwise.workflow.state.run_state import StepState, WorkflowState

ABOUT = {
    "shell": "run", "prompt": "prompt", "command": "command", "gate": "message", "call": "call",
    "if": "condition", "switch": "expression", "workflow": "workflow", "slot": "name",
}  # fmt: skip
"""The field that says what a step of each type is about; else it is `file`."""
FRAMES = ("while", "do-while", "fan-out", "workflow")
FIRST = ("running", "paused", "failed", "aborted", "interrupted", "cancelled", "completed",
         "skipped", "pending")  # fmt: skip
"""Of several states, the one that comes first here gives the colour."""
Chain = tuple[str, ...]
"""The ids of the steps around a step, and its own."""


class StepTotals(NamedTuple):
    """What became of a step, in all items and iterations."""

    states: Sequence[StepState]

    @property
    def state(self) -> str:
        found = {each.status for each in self.states}
        return next((each for each in FIRST if each in found), "")

    @property
    def line(self) -> str:
        """How many ended how, and the time: of one step its own, of several the median."""
        counts = Counter(each.status for each in self.states)
        many = len(self.states) > 1
        # In an order of its own: items end in any.
        found = sorted(counts, key=lambda each: (each != "completed", each))
        told = ", ".join(f"{counts[each]:,} {each}" if many else each for each in found)
        times = self.times
        return f"{told}, {'median ' if many else ''}{duration(median(times))}" if times else told

    @property
    def times(self) -> list[float]:
        """How long each took that has ended."""
        return [each.took for each in self.states if each.took is not None]


def totals_of(state: WorkflowState) -> dict[Chain, StepTotals]:
    """By the place in the file."""
    found: dict[Chain, list[StepState]] = {}
    for step in state.steps.values():
        chain = chain_of(step, state.steps)
        found.setdefault(chain, []).append(step)
    return {chain: StepTotals(states) for chain, states in found.items()}


def chain_of(step: StepState, steps: Mapping[str, StepState]) -> Chain:
    """The ids of the steps around it, and its own, without the numbers of items."""
    chain = [_own_id(step.path)]
    seen = step.path
    while step.inside and step.inside != seen and step.inside in steps:
        step = steps[step.inside]
        chain.append(_own_id(step.path))
        seen = step.path
    return tuple(reversed(chain))


def _own_id(path: str) -> str:
    parts = path.split(":")
    return parts[-2] if len(parts) > 1 and parts[-1].isdecimal() else parts[-1]


def flow_of(spec: Mapping[str, Any], state: WorkflowState | None = None) -> list[FlowNode]:
    """The steps of a file, as a run keeps it. `state`: what became of them."""
    drawing = _Drawing(spec.get("files", {}), {} if state is None else totals_of(state))
    folder = Path(spec["folder"])
    nodes = drawing.nodes(spec["data"]["steps"], (), folder)
    if spec["data"].get("on_end"):
        ends = drawing.nodes(spec["data"]["on_end"], (), folder)
        nodes.append(FlowNode("on_end", "always", ["runs whatever happened before"], frame=ends))
    return nodes


class _Drawing:
    def __init__(
        self, files: Mapping[str, Mapping[str, Any]], totals: Mapping[Chain, StepTotals]
    ) -> None:
        self._files = files
        self._totals = totals

    def nodes(self, steps: Any, around: Chain, folder: Path) -> list[FlowNode]:
        return [self._node(step, around, folder) for step in steps or ()]

    def _node(self, step: Mapping[str, Any], around: Chain, folder: Path) -> FlowNode:
        kind, chain = str(step.get("type", "command")), (*around, str(step["id"]))
        totals, lines = self._totals.get(chain), [*_about(step, kind)]
        items = self._totals.get((*chain, chain[-1])) if kind == "map" else None
        lines += [each.line for each in (totals, items) if each is not None]
        inside = [step["step"]] if kind == "fan-out" else step.get("steps")
        if kind == "workflow":
            path = os.path.normpath(folder / str(step["workflow"]))
            target = self._files.get(path, {"data": {}, "folder": str(folder)})
            folder, inside = Path(target["folder"]), target["data"].get("steps")
        return FlowNode(
            str(step["id"]),
            kind,
            lines,
            "" if totals is None else totals.state,
            [*self._branches(step, chain, folder)],
            self.nodes(inside, chain, folder) if kind in FRAMES else None,
            stacked=kind in ("fan-out", "map"),
        )

    def _branches(
        self, step: Mapping[str, Any], chain: Chain, folder: Path
    ) -> Iterator[FlowBranch]:
        match step.get("type"):
            case "if":
                for name in ("then", "else"):
                    yield FlowBranch(name, self.nodes(step.get(name), chain, folder))
            case "switch":
                for name, steps in step["cases"].items():
                    yield FlowBranch(str(name), self.nodes(steps, chain, folder))
                yield FlowBranch("default", self.nodes(step.get("default"), chain, folder))
        if step.get("on_failure"):
            if step.get("type") not in ("if", "switch"):
                yield FlowBranch("")
            nodes = self.nodes(step["on_failure"], chain, folder)
            ends = step.get("continue_on_error") is not True
            yield FlowBranch("on failure", nodes, dashed=True, ends=ends)


def _about(step: Mapping[str, Any], kind: str) -> Iterator[str]:
    if "if" in step and kind != "if":
        yield f"if {step['if']}"
    width = step.get("max_concurrency", 10 if kind == "map" else 1)
    match kind:
        case "fan-out" | "map":
            items = step.get("items", step.get("lines"))
            each = f"{len(items):,} items" if isinstance(items, list) else f"each of {items}"
            yield from (each, f"at most {width} at once")
        case "while" | "do-while":
            yield f"while {step['condition']}"
            yield f"at most {step.get('max_iterations') or 10} times"
        case "fan-in":
            yield f"of {', '.join(step['wait_for'])}"
        case _ if (field := ABOUT.get(kind, "file")) in step:
            yield next(iter(str(step[field]).strip().splitlines()), "")
    if kind == "map":
        yield " ".join(map(str, step["command"]))
