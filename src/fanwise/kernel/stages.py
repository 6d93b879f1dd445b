"""What an item is doing now, for subscribers. It is not recorded."""

from __future__ import annotations

from fanwise.kernel.events import StageBegan
from fanwise.kernel.scope import current


def begin_stage(stage: str, number: int = 1) -> None:
    """Tell subscribers that the current item begins this stage.

    `number`: the number of the attempt. Outside an item it does nothing.
    """
    open_item = current.get()
    if open_item is None or not open_item.fan_out.subscribers:
        return
    fan_out = open_item.fan_out
    fan_out.subscribers.emit(
        StageBegan(
            at=fan_out.loop.time(),
            path=fan_out.path,
            index=open_item.index,
            key=open_item.key,
            stage=stage,
            number=number,
        )
    )
