"""Calling back out of a journal, into code that is not ours.

What it raises cannot go to whoever submitted the write, which may be long gone, and must not end
the thread that writes for everybody else. So it is logged, with its traceback.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from fanwise.journal.port import Then, Write

log = logging.getLogger("fanwise.journal")


def tell(then: Then | None, error: BaseException | None) -> None:
    """Say what became of a write, if anybody asked."""
    if then is None:
        return
    try:
        then(error)
    except BaseException:
        _report(then)


def tell_written(batch: Iterable[tuple[Write, Then | None]]) -> None:
    """Say of many writes that they are on disk: `tell`, without a call for each."""
    for _, then in batch:
        if then is None:
            continue
        try:
            then(None)
        except BaseException:
            _report(then)


def _report(then: Then) -> None:
    log.exception("what was to be told of a write to the journal raised: %r", then)
