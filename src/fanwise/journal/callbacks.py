"""Call back from the journal into other people's code.

If a callback raises, whoever submitted the write may be gone, and the thread that writes for
everyone must go on. So the error is logged, with its traceback.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from fanwise.journal.port import Then, Write

log = logging.getLogger("fanwise.journal")


def tell(then: Then | None, error: BaseException | None) -> None:
    """Report the result of a write, if anyone asked for it."""
    if then is None:
        return
    try:
        then(error)
    except BaseException:
        _report(then)


def tell_written(batch: Iterable[tuple[Write, Then | None]]) -> None:
    """Report that many writes are on disk: `tell`, inlined for speed."""
    for _, then in batch:
        if then is None:
            continue
        try:
            then(None)
        except BaseException:
            _report(then)


def _report(then: Then) -> None:
    log.exception("the callback of a journal write raised: %r", then)
