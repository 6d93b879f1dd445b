"""Who of the leaves did it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fanwise.plan.model.change import Blob, Change


def first_leaf(
    changes: Sequence[Change], path: str, fits: Callable[[Blob | None], bool]
) -> Change | None:
    """The first that has changed a file in such a way."""
    some = (change for change in changes if path in change.files)
    return next((change for change in some if fits(change.files[path])), None)
