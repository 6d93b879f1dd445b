"""The address of a journal on a server."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit

SCHEMES = ("postgresql", "postgres")


def is_postgres(location: str) -> bool:
    """Whether a journal's location is the address of a PostgreSQL server."""
    return location.partition("://")[0] in SCHEMES and "://" in location


def without_password(address: str) -> str:
    """The address for messages. Its options are left out too, because they may hold a password."""
    parts = urlsplit(address)
    user, at, host = parts.netloc.rpartition("@")
    netloc = user.partition(":")[0] + at + host
    return urlunsplit((parts.scheme, netloc, parts.path, "", ""))
