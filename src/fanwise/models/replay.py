"""Record a model once, and play it back: the same replies, errors and cancellations.

So a test or a bug report needs no provider, and gives the same bytes each time. Calls are matched
by what they ask for, not by their order, for a fan-out has none: equal requests get the recorded
answers in the order in which those calls began.

A call that was cancelled does not answer in the replay either: it waits to be cancelled again.
"""

from __future__ import annotations

import asyncio
import os
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import msgspec

from fanwise.core.outcome import Usage
from fanwise.errors import NotRecorded, UsageError
from fanwise.models import tape
from fanwise.models.names import Spec
from fanwise.models.port import Model, Reply, Request
from fanwise.models.reply_cache import content_of

MOST_SHOWN = 60
_NONE = object()


class RecordingModel:
    """A model that records every request and reply. Close it."""

    def __init__(self, model: Model, path: Path) -> None:
        self.name = model.name
        self.provider = model.provider
        self.key = model.key
        self._model = model
        self._began = len(tape.read(path)) if path.exists() else 0
        self._file = path.open("ab")

    def __enter__(self) -> RecordingModel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write the rest to disk and close the file."""
        if not self._file.closed:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()

    def estimate(self, request: Request) -> Usage:
        return self._model.estimate(request)

    async def reply(self, request: Request) -> Reply:
        clock = asyncio.get_running_loop().time
        began, number = clock(), self._began
        self._began += 1
        reply: Reply | None = None
        failed: tape.Failed | None = None
        try:
            reply = await self._model.reply(request)
            return reply
        except Exception as error:
            failed = tape.failed(error)
            raise
        finally:
            line = tape.TapedCall(
                number, self.name, self.provider, self.key, request, self.estimate(request),
                clock() - began, reply, failed,
            )  # fmt: skip
            self._file.write(tape.encode(line))
            self._file.flush()


def record(model: Model, path: str | os.PathLike[str]) -> RecordingModel:
    """A model that appends every call to the file: `with record(model, "calls.jsonl") as model:`.

    Requests and replies are in it as they are; no key is.
    """
    return RecordingModel(model, Path(path))


class ReplayModel:
    """A recording as a model, under the recorded model's name so that results are equal."""

    def __init__(self, path: Path, speed: float | None) -> None:
        lines = tape.read(path)
        if not lines:
            raise UsageError(f"{path} has no recorded call", "Record one with `record`")
        models = {line.model: line for line in lines}
        if len(models) > 1:
            what = f"{path} has recordings of {', '.join(sorted(models))}"
            raise UsageError(what, "Record each model to a file of its own")
        self.name = lines[0].model
        self.provider = lines[0].provider
        self.key = lines[0].key
        self._path = path
        self._speed = speed
        self._left: defaultdict[bytes, deque[tape.TapedCall]] = defaultdict(deque)
        for line in lines:
            self._left[_identity(line.request)].append(line)
        self._lines = lines
        self._estimates = {_identity(line.request): line.estimate for line in lines}

    def __repr__(self) -> str:
        return f"<Replay of {self.name} from {self._path}>"

    def estimate(self, request: Request) -> Usage:
        found = self._estimates.get(_identity(request))
        if found is None:
            raise self._not_recorded(request)
        return found

    def identity(self) -> str:
        return content_of(self._path)

    async def reply(self, request: Request) -> Reply:
        left = self._left.get(_identity(request))
        if not left:
            raise self._not_recorded(request)
        line = left.popleft()
        await asyncio.sleep(0 if self._speed is None else line.ran_s / self._speed)
        if line.reply is not None:
            return line.reply
        if line.error is not None:
            raise tape.revived(line.error)
        cancelled_again: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        return await cancelled_again

    def _not_recorded(self, request: Request) -> NotRecorded:
        return NotRecorded(str(self._path), difference(request, [x.request for x in self._lines]))


def _identity(request: Request) -> bytes:
    return msgspec.json.encode(request, order="sorted")


def open_model(spec: Spec) -> ReplayModel:
    """`replay:PATH`, or `replay:PATH?speed=1` at the recorded speed."""
    path, _, query = spec.name.partition(":")[2].partition("?")
    options = parse_qs(query)
    given = options.pop("speed", [""])[0]
    try:
        speed = float(given) if given else None
    except ValueError:
        speed = 0.0
    if options or not path or (speed is not None and not speed > 0):
        raise UsageError(
            f"{spec.name!r} cannot be read", "Write replay:PATH or replay:PATH?speed=1"
        )
    return ReplayModel(Path(path), speed)


def difference(asked: Request, recorded: Sequence[Request]) -> str:
    """How a request differs from the nearest recorded one."""
    times = sum(request == asked for request in recorded)
    if times:
        return f"it was recorded {times} times, and all of them have been played"
    wanted = dict(_flat(asked.to_json()))
    number, differing = min(
        ((n, _differing(wanted, request)) for n, request in enumerate(recorded)),
        key=lambda found: len(found[1]),
    )
    place = differing[0]
    there = dict(_flat(recorded[number].to_json()))
    more = f", and {len(differing) - 1} more differences" if len(differing) > 1 else ""
    return (
        f"the nearest is call {number + 1}, where {place} is {_shown(there.get(place, _NONE))} "
        f"and not {_shown(wanted.get(place, _NONE))}{more}"
    )


def _differing(wanted: dict[str, Any], request: Request) -> list[str]:
    there = dict(_flat(request.to_json()))
    return [
        place
        for place in dict.fromkeys([*wanted, *there])
        if wanted.get(place, _NONE) != there.get(place, _NONE)
    ]


def _flat(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, member in value.items():
            yield from _flat(member, f"{place}.{name}" if place else name)
    elif isinstance(value, list):
        for index, member in enumerate(value):
            yield from _flat(member, f"{place}[{index}]")
    else:
        yield place, value


def _shown(value: Any) -> str:
    if value is _NONE:
        return "missing"
    text = repr(value)
    return text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + "…"
