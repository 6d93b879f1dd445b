"""Secrets that stand in a file, where they do not belong: a run keeps its file in the journal.

By their names, since nobody can tell a secret by its look. A name that means one anywhere is
refused anywhere; in addresses and headers, where fields are few, less is enough: `?key=…` is a
secret there, and in the body of a request it may be the key of a cache. Nothing of a value is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl

ANYWHERE = re.compile(
    r"(api|access|auth|bearer|client|private|secret|session|subscription)(key|token)\Z"
    r"|(authorization|cookie|credentials?|passw(or)?d|secret)\Z"
)
IN_ADDRESSES = re.compile(r"(auth|code|key|pwd|sig|signature|token)\Z")
IN_VARIABLES = re.compile(r"(key|token|secret|passphrase|secrets|tokens|keys)\Z")
AS_HEADERS = re.compile(r"(basic|bearer)\s", re.IGNORECASE)
KEEP_OUT = "the journal would keep it. Put it into the environment and name it in `api_key_env`"


def in_address(url: str) -> str | None:
    """Which part of a URL is a secret, as text."""
    # By hand, for what is no URL may have one too.
    before, _, fields = url.partition("?")
    before, _, more = before.partition("#")
    if "@" in before.partition("//")[2].partition("/")[0] or "@" in before.partition("/")[0]:
        return "a user or password in an address is a secret"
    for name, _ in parse_qsl(f"{fields}&{more}".replace("#", "&"), keep_blank_values=True):
        if _is_secret(name, IN_ADDRESSES):
            return f"`{name}` in an address is a secret"
    return None


def in_data(data: Any) -> str | None:
    """The first field of plain data that is a secret, as text."""
    found = next(_fields(data, "", in_headers=False), None)
    return None if found is None else f"`{found}` is a secret"


def _fields(data: Any, path: str, *, in_headers: bool) -> Iterator[str]:
    if isinstance(data, list):
        for number, each in enumerate(data):
            yield from _fields(each, f"{path}[{number}]", in_headers=in_headers)
    if not isinstance(data, dict):
        return
    for name, value in data.items():
        place = f"{path}.{name}" if path else str(name)
        if isinstance(value, str) and _is_refused(str(name), value, in_headers=in_headers):
            yield place
        yield from _fields(value, place, in_headers=in_headers or "header" in str(name).lower())


def _is_refused(name: str, value: str, *, in_headers: bool) -> bool:
    if in_headers and AS_HEADERS.match(value):
        return True
    return _is_secret(name, IN_ADDRESSES if in_headers else ANYWHERE)


def _is_secret(name: str, more: re.Pattern[str]) -> bool:
    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    return ANYWHERE.search(plain) is not None or more.search(plain) is not None


def is_secret_variable(name: str) -> bool:
    """Whether an environment variable is a secret, judging by its name: `GITHUB_TOKEN`."""
    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    return ANYWHERE.search(plain) is not None or IN_VARIABLES.search(plain) is not None
