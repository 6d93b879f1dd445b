"""Stores the calls of one function while the user's tests run.

The function is wrapped when its module has been imported, by whoever imports it; no file and no
option of the tests is changed, and subprocesses and workers of the tests record too, since all of
it is in the environment. Arguments are stored as bytes *before* the call; afterwards only what
tells whether a repetition does the same.

Bounds: distinct calls are kept as a reservoir, so that late ones have the same chance as early
ones: the k-th is written with probability most/k, and whoever reads the file lets it take the
place of another. After many calls only some are looked at, and after some seconds none.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import inspect
import json
import os
import random
import sys
import time
import weakref
from contextvars import ContextVar
from importlib.machinery import SourceFileLoader
from types import FunctionType, GeneratorType, ModuleType
from typing import Any

from .forms import Former, digest
from .pickling import THEN, Tap, dumps, to_text
from .returned import FUNCTIONS

_INNER = 24
"""Calls from inside a call that are kept: of a recursive function all but one are such."""
_FOLLOWED = 12
"""Calls of a returned function that are kept."""
_CHAINED = 2
"""Functions that return functions, one after another, that are followed."""
_ALL = 2000
"""Calls that are all looked at; from then on ever fewer."""
_depth: ContextVar[int] = ContextVar("fanwise_depth", default=0)


def install(how: str) -> None:
    """Wrap the function as soon as its module is there. `how` is JSON."""
    asked = json.loads(how)
    original = SourceFileLoader.exec_module

    def exec_module(loader: SourceFileLoader, module: ModuleType) -> None:
        original(loader, module)
        if os.path.realpath(loader.path) == asked["file"]:
            _wrap_in(module, asked)

    SourceFileLoader.exec_module = exec_module  # type: ignore[method-assign, assignment]


def _wrap_in(module: ModuleType, asked: dict[str, Any]) -> None:
    *path, name = asked["name"].split(".")
    owner: Any = module
    for each in path:
        owner = getattr(owner, each, None)
    raw = inspect.getattr_static(owner, name, None)
    if raw is None:
        return
    store = CallStore(asked, module)
    if inspect.isclass(owner) and name != "__init__" and "__init__" in vars(owner):
        _watch_constructor(owner, store)
    wrapped = _wrapped(raw, store)
    setattr(owner, name, wrapped)
    if owner is module:
        _replace_elsewhere(raw, wrapped)


def _watch_constructor(owner: type, store: CallStore) -> None:
    """Remember what objects were made from: a candidate's constructor may do more with it."""
    raw = owner.__init__  # type: ignore[misc]

    @functools.wraps(raw)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> None:
        data = store.packed(args, kwargs) if type(self) is owner else None
        raw(self, *args, **kwargs)
        if data is not None:
            store.made(self, data)

    owner.__init__ = wrapper  # type: ignore[misc]


def _replace_elsewhere(raw: Any, wrapped: Any) -> None:
    """In modules that took it while its own was not yet finished, and under other names."""
    for module in list(sys.modules.values()):
        names = getattr(module, "__dict__", None)
        if type(names) is not dict:
            continue
        for name in [name for name, value in list(names.items()) if value is raw]:
            names[name] = wrapped


def _wrapped(raw: Any, store: CallStore) -> Any:
    if isinstance(raw, staticmethod | classmethod):
        return type(raw)(_wrapped(raw.__func__, store))
    if isinstance(raw, property):
        return property(_wrapped(raw.fget, store), raw.fset, raw.fdel, raw.__doc__)
    if inspect.iscoroutinefunction(raw):
        return _coroutine(raw, store)
    if inspect.isasyncgenfunction(raw):
        return _async_generator(raw, store)
    if inspect.isgeneratorfunction(raw):
        return _generator(raw, store)
    return _plain(raw, store) if isinstance(raw, FunctionType) else _Proxy(raw, store)


def _plain(raw: Any, store: CallStore) -> Any:
    @functools.wraps(raw)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with store.call(args, kwargs) as call:
            call.value = raw(*call.args, **call.kwargs)
        return store.followed(call)

    return wrapper


def _generator(raw: Any, store: CallStore) -> Any:
    @functools.wraps(raw)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with store.call(args, kwargs, lazy=True) as call:
            return (yield from raw(*call.args, **call.kwargs))

    return wrapper


def _coroutine(raw: Any, store: CallStore) -> Any:
    @functools.wraps(raw)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        with store.call(args, kwargs) as call:
            call.value = await raw(*call.args, **call.kwargs)
            return call.value

    return wrapper


def _async_generator(raw: Any, store: CallStore) -> Any:
    @functools.wraps(raw)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        with store.call(args, kwargs, lazy=True) as call:
            async for each in raw(*call.args, **call.kwargs):
                yield each

    return wrapper


class _Proxy:
    """Around what is callable and no function, such as one with a cache, and else like it."""

    def __init__(self, raw: Any, store: CallStore) -> None:
        self.__wrapped__ = raw
        self._store = store

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with self._store.call(args, kwargs) as call:
            call.value = self.__wrapped__(*call.args, **call.kwargs)
        return self._store.followed(call)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__wrapped__, name)


class Call:
    """One call while it runs; `line` is what will be stored of it, None if nothing."""

    def __init__(self, store: CallStore, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.store = store
        self.args = args
        self.kwargs = kwargs
        self.value: Any = None
        self.line: dict[str, Any] | None = None
        self.lazy = False
        self.taps: list[Tap] = []
        self._begun = 0.0
        self._token: Any = None

    def __enter__(self) -> Call:
        self._token = _depth.set(_depth.get() + 1)
        self._begun = time.perf_counter()
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        took = time.perf_counter() - self._begun
        with contextlib.suppress(ValueError):  # a generator may be ended elsewhere
            _depth.reset(self._token)
        if self.line is not None and not (self.taps and isinstance(error, GeneratorExit)):
            self.store.ended(self, error, took)


class CallStore:
    """Writes calls to a file, one for each process."""

    def __init__(self, asked: dict[str, Any], module: ModuleType) -> None:
        self._asked = asked
        self._module = module.__name__
        self._random = random.Random(asked["seed"])
        self._file: int | None = None
        self._pid = 0
        self._known: set[bytes] = set()
        self._size = self._inner = 0
        self._spent = 0.0
        self.counts: dict[str, int] = {"seen": 0, "distinct": 0, "inner": 0}
        self.unstorable: dict[str, int] = {}
        self._made: dict[int, tuple[Any, bytes, bytes]] = {}
        atexit.register(self.tell)

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any], *, lazy: bool = False) -> Call:
        """Record a call that is about to be made, if it is worth it."""
        call = Call(self, args, kwargs)
        call.lazy = lazy
        self.counts["seen"] += 1
        if self._worth_it():
            begun = time.perf_counter()
            try:
                self._look(call)
            except Exception as error:  # a test must not fail because somebody looks at it
                self._cannot(error)
            self._spent += time.perf_counter() - begun
        return call

    def packed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes | None:
        """The arguments of a constructor as bytes; None if they cannot be stored."""
        try:
            return dumps((list(args), kwargs))
        except Exception:
            return None

    def made(self, thing: Any, data: bytes) -> None:
        """Remember the arguments that an object was made with, and what it was then."""
        with contextlib.suppress(Exception):  # one that nothing can refer to, or be stored
            self._made[id(thing)] = weakref.ref(thing), data, dumps(thing)

    def _init_of(self, args: tuple[Any, ...]) -> dict[str, str]:
        """How to make the object of a method, as long as it is as it was made."""
        ref, data, state = self._made.get(id(args[0]) if args else 0, (None, b"", b""))
        if ref is None or ref() is not args[0] or dumps(args[0]) != state:
            return {}
        return {"init": to_text(data)}

    def followed(self, call: Call) -> Any:
        """What the call gave; of a function, one that writes down how it is called."""
        if call.line is None or not isinstance(call.value, FUNCTIONS):
            return call.value
        return self._following(call.line["name"], "", call.value, set())

    def _following(self, of: str, before: str, value: Any, seen: set[str]) -> Any:
        """A function that was returned; `before`: the calls of earlier ones that led to it."""

        def follow(*args: Any, **kwargs: Any) -> Any:
            data = self.packed(args, kwargs) if len(seen) < _FOLLOWED else None
            chain = before + to_text(data or b"")
            if data is not None and chain not in seen:
                seen.add(chain)
                self._write({"of": of, "follow": chain})
            found = value(*args, **kwargs)
            if data is None or not isinstance(found, FUNCTIONS) or chain.count(THEN) >= _CHAINED:
                return found
            return self._following(of, chain + THEN, found, seen)

        return functools.update_wrapper(follow, value)

    def ended(self, call: Call, error: BaseException | None, took: float) -> None:
        """Write a call that has ended."""
        line, begun = call.line or {}, time.perf_counter()
        line["seconds"] = took
        try:
            if call.taps:
                line["streams"] = [[to_text(item) for item in tap.items] for tap in call.taps]
            elif not call.lazy:
                line["after"] = after(call.args, call.kwargs, call.value, error)
            self._write(line)
        except Exception as failure:  # as above
            self._cannot(failure)
        self._spent += time.perf_counter() - begun

    def tell(self) -> None:
        """Write how many calls there were."""
        if self.counts["seen"]:
            self._write({"counts": self.counts, "unstorable": self.unstorable})

    def _worth_it(self) -> bool:
        seen = self.counts["seen"]
        if seen & (seen - 1) == 0 and seen > 1:
            self.tell()  # the process may end without a farewell
        self.counts["inner"] += _depth.get() > 0
        if self._spent > self._asked["seconds"] or self._size > self._asked["bytes"]:
            return False
        if _depth.get() > 0:
            return self._inner < _INNER
        return seen <= _ALL or self._random.random() < _ALL / seen

    def _look(self, call: Call) -> None:
        call.args, call.taps = _tapped(call.args)
        data = dumps((list(call.args), call.kwargs), call.taps)
        name = hashlib.sha256(data).digest()
        if name in self._known and not call.taps:
            return
        if len(data) > self._asked["bytes_each"]:
            self._count("larger than is stored")
            return
        self._known.add(name)
        self.counts["distinct"] += 1
        self._inner += _depth.get() > 0
        number = self.counts["distinct"]
        if number <= self._asked["most"] or self._random.random() < self._asked["most"] / number:
            place = number - 1 if number <= self._asked["most"] else -1
            self._size += len(data)
            call.line = {"call": to_text(data), "place": place, "depth": _depth.get()}
            call.line |= {"name": name.hex(), **self._init_of(call.args)}

    def _cannot(self, error: Exception) -> None:
        self._count(f"{type(error).__name__}: {str(error)[:120]}")

    def _count(self, why: str) -> None:
        if why in self.unstorable or len(self.unstorable) < 20:
            self.unstorable[why] = self.unstorable.get(why, 0) + 1

    def _write(self, line: dict[str, Any]) -> None:
        if self._pid != os.getpid():  # the first one, or the child of a fork
            self._pid = os.getpid()
            self._file = self._open()
        assert self._file is not None
        os.write(self._file, json.dumps(line).encode() + b"\n")

    def _open(self) -> int:
        name = f"calls-{os.getpid()}-{os.urandom(4).hex()}.jsonl"
        path = os.path.join(self._asked["into"], name)  # noqa: PTH118
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        head = {"module": self._module, "python": sys.executable, "path": sys.path}
        os.write(file, json.dumps(head).encode() + b"\n")
        return file


def after(args: Any, kwargs: Any, value: Any, error: BaseException | None) -> str:
    """A digest of what a call has done, as far as it can be seen at once."""
    former = Former()
    seen = [former.form(list(args)), former.form(kwargs)]
    seen.append(former.form(value) if error is None else [type(error).__name__, str(error)])
    return digest(seen)


def _tapped(args: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[Tap]]:
    taps: list[Tap] = []
    found = []
    for each in args:
        if isinstance(each, GeneratorType):
            taps.append(Tap(each))
            found.append(taps[-1].hands)
        else:
            found.append(each)
    return tuple(found), taps
