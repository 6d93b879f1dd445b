"""Points in time, as data."""

from __future__ import annotations

from datetime import UTC, datetime


def moment(at: float | None) -> str | None:
    """A time as ISO 8601, in UTC."""
    if at is None:
        return None
    text = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")
