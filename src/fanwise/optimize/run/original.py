"""The original: what its tests say, what it does, how steadily it runs. All else is held to that.

What it was seen to do is large, and is kept as a file of the run; the journal has its digest. A
file that has vanished is made anew.
"""

from __future__ import annotations

import hashlib
import re
from ast import AsyncFunctionDef
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from fanwise.errors import NotComparable, UntestedOriginal
from fanwise.kernel.in_thread import in_thread
from fanwise.optimize.benchmark.noise import Noise, measure_noise
from fanwise.optimize.benchmark.profile import profile, profile_text
from fanwise.optimize.benchmark.sequential import Accept
from fanwise.optimize.benchmark.stopwatch import Bench, BenchCall, BenchCommand, RecordedCalls
from fanwise.optimize.candidates.target import Target
from fanwise.optimize.checking.report import TestReport, unusable
from fanwise.optimize.checking.run_tests import baseline_report
from fanwise.optimize.differential.baseline import Baseline, study
from fanwise.optimize.differential.recording import CallRecording, record
from fanwise.optimize.run.workbench import Workbench
from fanwise.optimize.state.item import OptimizeItem
from fanwise.workspaces import Workspace
from fanwise.workspaces.folders import remove_tree

FILE = "original.json"


class Studied(msgspec.Struct, frozen=True, kw_only=True):
    """Identifies the file with the observed behaviour of the original."""

    digest: str
    notes: tuple[str, ...] = ()


class Original:
    """The stages of the original, and their results."""

    def __init__(self, workbench: Workbench) -> None:
        self._workbench = workbench
        self.tests: TestReport | None = None
        self.behaviour: Baseline | None = None
        self.line_profile = ""
        self.pair_s = 0.0
        """What it takes to measure a pair; 0: unknown."""
        self._stored: tuple[str, Baseline] | None = None
        """The content of the file, with its digest."""

    async def perform(self, item: OptimizeItem) -> Any:
        if item.stage == "tests":
            return await self._test()
        if item.stage == "recording":
            return await self._study()
        if item.stage == "profile":
            return await self.profile(self._workbench.original)
        return await self._measure()

    def learn(self, stage: str, value: Any) -> None:
        """Take in the result of a stage, new or recorded."""
        if stage == "tests":
            self.tests = msgspec.convert(value, TestReport)
        elif stage == "recording":
            self.behaviour = self._read(value)
        elif stage == "profile":
            self.line_profile = value
        elif stage == "noise":
            self.pair_s = msgspec.convert(value, Noise).pair_s

    def kept(self, item: OptimizeItem, value: Any) -> bool:
        """Whether the files of what was recorded are there, as they were."""
        return item.stage != "recording" or self._read(value) is not None

    async def _test(self) -> TestReport:
        workbench, line = self._workbench, self._workbench.case.spec.test
        async with workbench.workspace() as workspace:
            found = await baseline_report(workspace, line, workbench.settings)
        if why := unusable(found):
            said = first_error(found)
            raise UntestedOriginal(line, why, said, str(workbench.case.python))
        return found

    async def _study(self) -> Studied:
        workbench, spec = self._workbench, self._workbench.case.spec
        assert workbench.case.target is not None
        async with workbench.workspace() as workspace:
            found = await study(
                workspace,
                workbench.case.target,
                spec.test,
                workbench.settings,
                self._folder,
                seed=spec.seed,
            )
            found = await self._with_timed_calls(found, workspace)
            unseen = await in_thread(not_compared, workspace, workbench.case.target)
        if found.problem:
            raise NotComparable(workbench.case.target.text(), found.problem)
        found = replace(found, notes=(*found.notes, unseen))
        data = msgspec.json.encode(found)
        await in_thread(self._file.write_bytes, data)
        self._stored = _digest(data), found
        return Studied(digest=_digest(data), notes=found.notes)

    async def _with_timed_calls(self, found: Baseline, workspace: Workspace) -> Baseline:
        """Also the calls that a benchmark of the user's own makes: a cache may be for them."""
        if not self._bench_line or found.problem:
            return found
        timed = await self._bench_calls(workspace, "timed")
        path = tuple(dict.fromkeys((*timed.path, *found.recording.path)))
        return replace(found, timed=replace(timed, path=path))

    async def _bench_calls(self, workspace: Workspace, name: str) -> CallRecording:
        target, settings = self._workbench.case.target, self._workbench.settings
        assert target is not None
        return await record(workspace, target, self._bench_line, settings, self._folder / name)

    @property
    def _bench_line(self) -> str:
        """A benchmark of the user's own as a command; empty: there is none."""
        bench = self._workbench.case.spec.benched
        if bench.call is not None:
            module, _, name = bench.call.partition(":")
            return f"python -c \"import importlib; importlib.import_module('{module}').{name}()\""
        return bench.command or ""

    async def other_calls(self, workspace: Workspace) -> str:
        """How the benchmark of a candidate's calls differs in number; empty: it does not.

        One that leaves early, or is not called as often, is fast whatever it does.
        """
        if self.behaviour is None or self.behaviour.timed is None:
            return ""
        name = f"counted-{workspace.root.name}"
        found = await self._bench_calls(workspace, name)
        await in_thread(remove_tree, self._folder / name)
        ours, theirs = self.behaviour.timed.from_outside, found.from_outside
        if ours == theirs:
            return ""
        return f"its benchmark makes {theirs} calls of the target, and the original's {ours}"

    async def _measure(self) -> Noise:
        spec = self._workbench.case.spec
        return await measure_noise(
            await self._workbench.renew(),
            self.bench,
            self._workbench.settings,
            accept=self.accept,
            budget_s=spec.benched.budget,
            seed=spec.seed,
            pin=spec.benched.pin,
        )

    async def profile(self, where: Workspace) -> str:
        """Where the time of the target goes, as it stands there. `UsageError` if nobody can say."""
        target, settings = self._workbench.case.target, self._workbench.settings
        assert target is not None
        assert self.behaviour is not None
        return profile_text(
            await profile(where, self.bench, target, self.behaviour.recording, settings)
        )

    @property
    def accept(self) -> Accept:
        spec = self._workbench.case.spec
        given, slower = spec.accept, spec.allow_slower
        return Accept(
            speedup=given.speedup,
            confidence=given.confidence,
            allow_slower=slower,
            allow_repeated=spec.allow_repeated,
        )

    @property
    def bench(self) -> Bench:
        given, target = self._workbench.case.spec.benched, self._workbench.case.target
        if given.command is not None:
            return BenchCommand(line=given.command)
        if given.call is not None:
            return BenchCall.parse(given.call)
        assert target is not None
        assert self.behaviour is not None
        return RecordedCalls(recording=self.behaviour.recording, target=target)

    @property
    def is_varied(self) -> bool:
        """Whether what is timed tells a cache from work by itself, or need not."""
        calls, _ = self.timed_calls
        recorded = self._workbench.case.spec.benched.calls is not None
        varied = calls is not None and not calls.recording.repeats
        return recorded or varied or self.accept.allow_repeated

    @property
    def timed_calls(self) -> tuple[RecordedCalls | None, str]:
        """The target's calls in a benchmark of the user's own, each once; or why there are none."""
        target, behaviour = self._workbench.case.target, self.behaviour
        if target is None or behaviour is None or behaviour.timed is None:
            return None, "there is no target of which other calls could be made"
        if not behaviour.timed.calls:
            why = "; ".join(behaviour.timed.notes()).replace("the tests do", "the benchmark does")
            return None, f"{target.name} in the benchmark: {why}"
        return RecordedCalls(recording=behaviour.timed, target=target), ""

    @property
    def _folder(self) -> Path:
        return self._workbench.folder / "recording"

    @property
    def _file(self) -> Path:
        return self._folder / FILE

    def load(self) -> None:
        """Read what an earlier execution has left in files, if it is as it was."""
        try:
            data = self._file.read_bytes()
            found = msgspec.json.decode(data, type=Baseline)
            self._stored = (_digest(data), found) if found.intact() else None
        except (OSError, msgspec.DecodeError):
            self._stored = None

    def _read(self, value: Any) -> Baseline | None:
        digest, found = self._stored or ("", None)
        return found if digest == msgspec.convert(value, Studied).digest else None


def not_compared(workspace: Workspace, target: Target) -> str:
    """What the check does not see of a function, whatever its calls."""
    is_async = isinstance(target.find(target.read(workspace.root).text).node, AsyncFunctionDef)
    tasks = ", and when it lets other tasks run" if is_async else ""
    return f"not compared: what it writes to files{tasks}"


def first_error(report: TestReport) -> str:
    """Where the first error of a test run is, and what it says; else the end of its output."""
    for text in (*report.details.values(), report.output):
        by_pytest = re.findall(r"^E +(\S.*)", text, re.M)
        errors = by_pytest or re.findall(r"^((?:\w+\.)*\w+(?:Error|Exception): .*)", text, re.M)
        places = re.findall(r"^(\S+?\.py:\d+): ", text, re.M)
        places = places or [
            ":".join(each) for each in re.findall(r'File "(.+?)", line (\d+)', text)
        ]
        if errors:
            return f"{places[-1]}: {errors[0]}" if places else str(errors[0])
    return report.output.strip().rpartition("\n")[2]


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
