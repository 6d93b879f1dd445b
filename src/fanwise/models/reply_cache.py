"""Replies kept on disk, so that the same request is paid for once: across runs and systems.

A request is kept under all that can change its answer: the whole request, and what the model says
of itself (`identity`): the address that it would ask now, how it asks, the contents of a file. With
a temperature, or without one (providers choose it), two equal requests have different answers, and
whoever asks twice wants both; so these are kept only with a seed, or with `always`. So are those
with a file at a URL, which may change.

Equal requests of one event loop wait for the first of them; other processes may ask at the same
time. A file of SQLite, opened for each look: many processes may share it, and none has to close it.
"""

from __future__ import annotations

import asyncio
import functools
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from hashlib import file_digest, sha256
from pathlib import Path
from weakref import WeakKeyDictionary

import msgspec
from msgspec.structs import replace

from fanwise.cache_folder import cache_folder
from fanwise.core.outcome import Usage
from fanwise.errors import UsageError
from fanwise.models.names import Spec
from fanwise.models.port import Model, Reply, Request
from fanwise.private_files import make_file, make_folder

TABLE = "CREATE TABLE IF NOT EXISTS replies (key BLOB PRIMARY KEY, at REAL, reply BLOB)"
WAIT_S = 60.0
HIT = "cache "
"""A call that the cache answered is recorded under this, followed by the model's name."""

_asked: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[Path, bytes], asyncio.Event]]
_asked = WeakKeyDictionary()
"""What is being asked now, by cache and key."""


def is_hit(call: str | None, tokens: float | None) -> bool:
    """Whether a recorded call was answered from the cache: nobody was asked, so it has no latency.

    `tokens`: what it used. A call that took some was made, whatever its name says.
    """
    return call is not None and call.startswith(HIT) and tokens == 0


class ReplyCache:
    """One file. `ttl`: seconds after which a reply expires."""

    def __init__(
        self, path: Path, ttl: float | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self.path = path
        self._ttl = ttl
        self._clock = clock

    def find(self, key: bytes) -> Reply | None:
        row = self._execute("SELECT at, reply FROM replies WHERE key = ?", key)
        if row is None or (self._ttl is not None and self._clock() - row[0] > self._ttl):
            return None
        return msgspec.json.decode(row[1], type=Reply)

    def keep(self, key: bytes, reply: Reply) -> None:
        encoded = msgspec.json.encode(reply)
        self._execute("REPLACE INTO replies VALUES (?, ?, ?)", key, self._clock(), encoded)

    def _execute(self, query: str, *values: object) -> tuple[float, bytes] | None:
        try:
            make_folder(self.path.parent)
            make_file(self.path)
            with closing(sqlite3.connect(self.path, timeout=WAIT_S)) as connection, connection:
                connection.execute(TABLE)
                found: tuple[float, bytes] | None = connection.execute(query, values).fetchone()
                return found
        except (sqlite3.Error, OSError) as error:
            step = "Remove it, or give another path"
            raise UsageError(f"the cache {self.path} cannot be used: {error}", step) from None


class CachedModel:
    """A model with a cache. `ask` looks there before it calls the model."""

    def __init__(self, model: Model, spec: Spec, cache: ReplyCache, *, always: bool) -> None:
        self.model = model
        self.name = model.name
        self.provider = model.provider
        self.key = model.key
        self.server = getattr(model, "server", None)
        self._spec = spec
        self._cache = cache
        self._always = always

    def __repr__(self) -> str:
        return f"<Cached {self.name} in {self._cache.path}>"

    def estimate(self, request: Request) -> Usage:
        return self.model.estimate(request)

    async def reply(self, request: Request) -> Reply:
        return await self.model.reply(request)

    def keeps(self, request: Request) -> bool:
        """Whether the answer to this request is the same each time."""
        files = (file for message in request.messages for file in message.files)
        fixed = request.options.temperature == 0 or request.seed is not None
        return self._always or (fixed and all(file.url is None for file in files))

    @asynccontextmanager
    async def turn(self, request: Request) -> AsyncIterator[None]:
        """Wait while an equal request is asked. If that fails, all who waited ask at once."""
        now = _asked.setdefault(asyncio.get_running_loop(), {})
        place = self._cache.path, self._key(request)
        if (first := now.get(place)) is not None:
            await first.wait()
            yield
            return
        now[place] = answered = asyncio.Event()
        try:
            yield
        finally:
            del now[place]
            answered.set()

    def find(self, request: Request) -> Reply | None:
        """The cached reply. It costs nothing and takes no time; `usage` is the original one."""
        reply = self._cache.find(self._key(request))
        if reply is None:
            return None
        return replace(reply, usd=0.0, first_token_s=None, ran_s=0.0, from_cache=True)

    def keep(self, request: Request, reply: Reply) -> None:
        self._cache.keep(self._key(request), reply)

    def _key(self, request: Request) -> bytes:
        identity = getattr(self.model, "identity", None)
        parts = [self._spec.name, identity and identity(), request]
        return sha256(msgspec.json.encode(parts, order="sorted")).digest()


def content_of(path: Path) -> str:
    """A digest of a file. It is read again only after a change."""
    found = path.stat()
    return _content_of(path.resolve(), found.st_size, found.st_mtime_ns)


@functools.lru_cache
def _content_of(path: Path, _size: int, _changed: int) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def with_cache(model: Model, spec: Spec) -> Model:
    given = spec.cache
    if given is None or given is False:
        return model
    path = given if isinstance(given, str) else None if given is True else given.path
    ttl, always = (None, False) if isinstance(given, str | bool) else (given.ttl, given.always)
    cache = ReplyCache(Path(path) if path else cache_folder() / "replies.db", ttl)
    return CachedModel(model, spec, cache, always=always)
