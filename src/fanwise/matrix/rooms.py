"""How many items of a matrix are at work at once, so that none keeps others from their turn.

An item holds no permit of a provider; its calls do. So that items that wait for a busy provider do
not fill the fan-out, those that need the same caps have a room of their own in it: twice as many as
calls, and some, for while many back off, others use the permits.
"""

from __future__ import annotations

import os

from fanwise.core.caps import Caps
from fanwise.matrix.cells import NO_MODEL, Cell
from fanwise.matrix.compiled import Compiled
from fanwise.matrix.scorers import Compared, Pattern, Program, Scorer
from fanwise.matrix.spec import COMMAND, MatrixSpec
from fanwise.models.port import Model

ROOM = 64
"""Items at once of a provider without a cap, of cells without a model, and of functions that
score."""
PARKED = 16
"""Items of a provider with a cap that may back off without keeping others from their turn."""
AT_ONCE = "cells:scores"
"""The room of scores that take no time. They are as quick as the providers are together."""


def room_of(spec: MatrixSpec, cell: Cell) -> str:
    """Where the steps of a cell are done."""
    return f"cells:{cell.model if cell.model in spec.caps else cell.provider}"


def score_room(scorer: Scorer) -> str:
    """Where a score is made."""
    if isinstance(scorer, Compared | Pattern):
        return AT_ONCE
    if isinstance(scorer, Program):
        return f"cells:{COMMAND}"
    judge: Model | None = getattr(scorer, "model", None)
    return f"cells:{NO_MODEL}" if judge is None else judge_room(judge)


def judge_room(judge: Model) -> str:
    """Where a judge's scores are made."""
    return f"judges:{judge.name}"


def rooms(compiled: Compiled) -> dict[str, int]:
    """Items at once, by the cap that is the room."""
    spec = compiled.spec
    found = {f"cells:{NO_MODEL}": ROOM}
    for cell in compiled.cells:
        room = room_of(spec, cell)
        if room not in found:
            found[room] = _size(spec, cell.model, cell.provider)
    for scorer in compiled.scorers:
        judge: Model | None = getattr(scorer, "model", None)
        if judge is not None:
            found[judge_room(judge)] = _size(spec, judge.name, judge.provider)
        elif isinstance(scorer, Program):
            found[score_room(scorer)] = _most(spec, COMMAND) or os.cpu_count() or 1
    return {**dict(sorted(found.items())), AT_ONCE: sum(found.values())}


def _size(spec: MatrixSpec, model: str, provider: str) -> int:
    most = [cap for name in (model, provider, "all") if (cap := _most(spec, name)) is not None]
    return 2 * min(most) + PARKED if most else ROOM


def _most(spec: MatrixSpec, name: str) -> int | None:
    cap = spec.caps.get(name)
    return cap if isinstance(cap, int) else None if cap is None else cap.most


def caps_for(compiled: Compiled) -> Caps:
    """The caps and rates of the file, and the rooms."""
    return Caps({**compiled.spec.limits(), **rooms(compiled)})
