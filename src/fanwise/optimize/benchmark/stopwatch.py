"""What is timed, and how: one side in one fresh process.

The child is `fanwise_child.clock_keeper`. It gets its instructions on stdin, and after them the
calls, and answers in one line that starts with a secret; what the candidate prints is discarded.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shlex
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from fanwise.errors import BenchFailed
from fanwise.kernel.confined.ending import ending_of
from fanwise.kernel.confined.settings import Settings
from fanwise.kernel.in_thread import in_thread
from fanwise.optimize.benchmark.new_files import Left, Seen, look_at, remove_new
from fanwise.optimize.benchmark.pair import PRINTED, Measurement
from fanwise.optimize.benchmark.size_class import CallClass, class_names
from fanwise.optimize.candidates.target import Target
from fanwise.optimize.differential.child_program import Where, run_line, run_program, site_of
from fanwise.optimize.differential.recording import CallRecording, digest_of
from fanwise.processes import CommandResult


class RecordedCalls(msgspec.Struct, frozen=True, kw_only=True):
    """The calls of the target that were recorded from the tests, each once in a pass."""

    recording: CallRecording
    target: Target


class BenchCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A command of the repository, timed from outside, from its start to its end.

    What it prints must be what the original prints, but for numbers; no figure is read from it:
    the candidate's code runs in it, and could print what it likes.
    """

    line: str


class BenchCall(msgspec.Struct, frozen=True, kw_only=True):
    """A function of the repository without arguments: `bench:run`."""

    module: str
    name: str

    @classmethod
    def parse(cls, text: str) -> BenchCall:
        """`module:function`, as it is written in files."""
        module, _, name = text.partition(":")
        return cls(module=module, name=name)


Bench = RecordedCalls | BenchCommand | BenchCall


HEAD = 12
"""As in `fanwise_child.clock_keeper`."""
_TIMES, _LEAST_S = 10.0, 10.0
"""A process may take so many times as long as the original's, and so long in any case."""


class NoFigure(msgspec.Struct, frozen=True):
    """Why nothing could be measured."""

    reason: str


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """The same for both sides: how often the calls are made, and whether results are lazy."""

    loops: int = 1
    samples: int = 1
    lazy: bool = False
    classes: tuple[CallClass, ...] = ()
    """The calls by size; all of them, each once."""
    makes: bool = False
    """Whether what is timed are the calls of a function that was returned."""
    most_s: float = 3600.0


class Stopwatch:
    """Measures either side, each time in a new process."""

    def __init__(self, bench: Bench, settings: Settings, *, pin: bool = True) -> None:
        self._bench = bench
        self._settings = settings
        self._core = _core() if pin else None
        self._found = Calibration(most_s=settings.timeout_s)
        self._files: dict[str, Seen] = {}
        """What was in each workspace before anything was measured there."""

    @property
    def what(self) -> str:
        """What is timed, in a few words."""
        if isinstance(self._bench, RecordedCalls):
            return f"the recorded calls of {self._bench.target.name}"
        if isinstance(self._bench, BenchCommand):
            return f"the command {self._bench.line!r}"
        return f"{self._bench.module}:{self._bench.name}"

    @property
    def classes(self) -> tuple[str, ...]:
        """The size classes that are told apart, by name."""
        return class_names(self._found.classes, makes=self._found.makes)

    async def calibrate(self, baseline: Where) -> None:
        """Learn from the original how much to do in a process. `BenchFailed` if it cannot be."""
        await in_thread(self._look_at, baseline)
        if isinstance(self._bench, RecordedCalls) and not self._bench.recording.calls:
            raise BenchFailed(self.what, "; ".join(self._bench.recording.notes()))
        begun = time.monotonic()
        if isinstance(self._bench, BenchCommand):
            found = await self.measure(baseline, 0)
            if isinstance(found, NoFigure):
                raise self.failed(found)
            self._found = Calibration(most_s=self._most(found.seconds))
            return
        answer = await self._ask(baseline, 0, {"loops": None})
        if isinstance(answer, NoFigure):
            raise self.failed(answer)
        per_process = (answer["samples"] + 5) * answer["sample_ns"] / 1e9
        self._found = Calibration(
            loops=answer["loops"],
            samples=answer["samples"],
            lazy=answer["lazy"],
            classes=msgspec.convert(answer["classes"], tuple[CallClass, ...]),
            makes=answer["makes"],
            most_s=self._most(time.monotonic() - begun + per_process),
        )

    def failed(self, problem: NoFigure) -> BenchFailed:
        """The error for an original that cannot be measured."""
        return BenchFailed(self.what, problem.reason)

    async def measure(self, where: Where, seed: int) -> Measurement | NoFigure:
        """Measure one side in a new process, which finds nothing of the ones before."""
        await in_thread(self._look_at, where)
        found = await self._measure(where, seed)
        left = await in_thread(self._remove_new, where)
        if isinstance(found, NoFigure):
            return found
        return msgspec.structs.replace(found, changed=left.changed, made=left.made)

    def _look_at(self, where: Where) -> None:
        site = site_of(where)
        if site.pooled and site.root not in self._files:
            self._files[site.root] = look_at(Path(site.root))

    def _remove_new(self, where: Where) -> Left:
        root = site_of(where).root
        return remove_new(Path(root), self._files[root]) if root in self._files else Left((), ())

    async def _measure(self, where: Where, seed: int) -> Measurement | NoFigure:
        begun = time.perf_counter()
        if isinstance(self._bench, BenchCommand):
            env = {"PYTHONHASHSEED": str(seed)}
            settings = self._bounded()
            result = await run_line(
                where, self._bench.line, env, settings, str(site_of(where).root)
            )
            took = time.perf_counter() - begun
            if not result.ok:
                return NoFigure(_ending(result, settings))
            return Measurement(
                seconds=took,
                forms={PRINTED: _printed(result)},
                source=_digest_of_files(where, self._bench.line),
            )
        answer = await self._ask(where, seed, msgspec.to_builtins(self._found))
        if isinstance(answer, NoFigure):
            return answer
        return _measured(answer, self._found)

    async def _ask(
        self, where: Where, seed: int, more: Mapping[str, object]
    ) -> dict[str, Any] | NoFigure:
        word = secrets.token_hex(8)
        how = {**how_to(self._bench, where), **more, "seed": seed, "core": self._core, "word": word}
        recording = self._bench.recording if isinstance(self._bench, RecordedCalls) else None
        calls = b"" if recording is None else await in_thread(Path(recording.file).read_bytes)
        how = {**how, "recorded": recording is not None, "calls": ""}
        data = msgspec.json.encode(how)
        settings = self._bounded()
        result = await run_program(
            where,
            "clock_keeper",
            f"{len(data):{HEAD}}".encode() + data + calls,
            settings,
            python=recording.python if recording else "",
            hash_seed=seed,
        )
        return answer_of(result, word, settings)

    def _bounded(self) -> Settings:
        return msgspec.structs.replace(self._settings, timeout_s=self._found.most_s)

    def _most(self, took_s: float) -> float:
        return min(self._settings.timeout_s, max(_LEAST_S, _TIMES * took_s))


def _core() -> int | None:
    """The last one that we may use: the first ones serve the most interrupts."""
    return max(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None


def how_to(bench: Bench, where: Where) -> dict[str, Any]:
    """What a child needs to know to make the calls of a benchmark in a checkout."""
    site = site_of(where)
    if isinstance(bench, RecordedCalls):
        return bench.recording.how(site.root, bench.target.file, bench.target.name)
    assert isinstance(bench, BenchCall)
    found = {"path": [site.path], "module": bench.module, "name": bench.name}
    return {**found, "file": str(Path(site.path, *bench.module.split(".")).with_suffix(".py"))}


def answer_of(result: CommandResult, word: str, settings: Settings) -> dict[str, Any] | NoFigure:
    """The answer that starts with the secret; without one, how the process ended."""
    for line in result.stdout.data.splitlines():
        if line.startswith(word.encode()):
            answer: dict[str, Any] = msgspec.json.decode(line[len(word) :])
            return NoFigure(answer["problem"]) if "problem" in answer else answer
    return NoFigure(_ending(result, settings))


def _measured(answer: Mapping[str, Any], how: Calibration) -> Measurement | NoFigure:
    try:
        return Measurement(
            seconds=_positive(_typical(answer["samples"])),
            new_s=_positive(answer["new_ns"]),
            again_s=_positive(answer["again_ns"]),
            classes=tuple(_positive(_typical(each)) for each in answer["classes"]),
            forms=answer["forms"],
            claimed_s=_claimed_ns(answer, how) / 1e9,
            wall_s=answer["wall_s"],
            cpu_s=answer["cpu_s"],
            import_s=answer["import_s"],
            import_cpu_s=answer["import_cpu_s"],
            source=answer["source"],
            pinned=answer["pinned"],
        )
    except (KeyError, TypeError, ValueError) as error:
        return NoFigure(f"its measurements are invalid: {error}")


def _claimed_ns(answer: Mapping[str, Any], how: Calibration) -> float:
    """How long all that was timed took, if the figures are true."""
    passes = zip(how.classes, answer["classes"], strict=False)
    known = sum(each.loops * sum(samples) for each, samples in passes)
    return float(known + 3 * how.loops * answer["again_ns"] + how.samples * answer["new_ns"])


def _printed(result: CommandResult) -> str:
    """What a command printed, as JSON, without its numbers: these may be times."""
    text = re.sub(r"[\d.,:]+", "#", result.stdout.text)
    return msgspec.json.encode(["digest", hashlib.sha256(text.encode()).hexdigest()]).decode()


def _typical(samples: Sequence[float]) -> float:
    """The lower quartile: on a busy core half of the samples may have been interrupted."""
    return sorted(samples)[len(samples) // 4]


def _positive(ns: float) -> float:
    """In seconds; a clock that did not tick counts as one tick."""
    return max(ns, 1.0) / 1e9


def _ending(result: CommandResult, settings: Settings) -> str:
    if ended := ending_of(result, settings):
        return ended
    said = result.stderr.text.strip()
    last = f": {said.splitlines()[-1][:300]}" if said else ""
    return f"it ended with code {result.exit_code}{last}"


def _digest_of_files(where: Where, line: str) -> str:
    """Of the files of the repository that the line names: both sides must have the same."""
    site = site_of(where)
    try:
        words = shlex.split(line)
    except ValueError:
        words = line.split()
    found = [Path(site.path) / word for word in words]
    files = [each for each in found if each.is_file() and each.resolve().is_relative_to(site.root)]
    return " ".join(digest_of(each) for each in files)
