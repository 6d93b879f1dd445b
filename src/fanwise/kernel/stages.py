"""What an item does now, for those who watch. Nothing of it is recorded."""

from __future__ import annotations

from fanwise.kernel.events import StageBegan
from fanwise.kernel.scope import current


def begin_stage(stage: str, number: int = 1) -> None:
    """Tell subscribers that the item around the code that runs now begins this stage.

    `number`: which try at it this is. Outside of an item it does nothing.
    """
    entry = current.get()
    if entry is None or not entry.fan_out.subscribers:
        return
    fan_out = entry.fan_out
    fan_out.subscribers.emit(
        StageBegan(
            at=fan_out.loop.time(),
            path=fan_out.path,
            index=entry.index,
            key=entry.key,
            stage=stage,
            number=number,
        )
    )
