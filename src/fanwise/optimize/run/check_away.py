"""The checks of a candidate, made by a worker of the run in workspaces of its machine.

There go the candidate, and what its original was seen to do; back comes what was found. All that is
measured stays with the driver: noise, original and candidates on one machine, alone.
"""

from __future__ import annotations

import tarfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from fanwise.kernel.in_thread import in_thread
from fanwise.kernel.parcels import parcel, unpacked
from fanwise.kernel.sent_calls import anywhere
from fanwise.kernel.sent_workspaces import SentRepository, workspaces_there
from fanwise.optimize.candidates.candidate import Candidate
from fanwise.optimize.checking.report import TestReport
from fanwise.optimize.differential.baseline import Baseline
from fanwise.optimize.differential.smallest import KnownFailures
from fanwise.optimize.run.original import Original
from fanwise.optimize.run.trial import Trial
from fanwise.optimize.run.workbench import Workbench
from fanwise.optimize.spec.resolved_spec import ResolvedSpec
from fanwise.optimize.state.item import CheckResult

SLOTS = 2
"""For the candidate, and for the original that it is compared with."""
FOLDER = "recording"
_known: dict[str, KnownFailures] = {}
"""On a worker: by the original's behaviour."""


class CheckRequest(NamedTuple):
    """What a check depends on."""

    sent: SentRepository
    case: ResolvedSpec
    judges: Sequence[str]
    candidate: Candidate
    tests: TestReport
    behaviour: str
    """The parcel with the original's behaviour; empty: there is none to compare."""


async def check_away(
    sent: SentRepository, workbench: Workbench, original: Original, candidate: Candidate
) -> CheckResult:
    """As `Trial.check`."""
    case = msgspec.structs.replace(workbench.case, given=(), proposer=None)
    judges = await in_thread(lambda: workbench.judges)
    assert original.tests is not None
    request = CheckRequest(sent, case, judges, candidate, original.tests, "")
    if original.behaviour is None:
        return await anywhere(_check_there, request)
    async with parcel(partial(_write, original.behaviour)) as name:
        return await anywhere(_check_there, request._replace(behaviour=name))


def _write(behaviour: Baseline, target: Path) -> None:
    """The behaviour, with the files that it names."""
    folder = Path(behaviour.recording.folder)
    files = [behaviour.recording.file, behaviour.plan.file]
    files += [] if behaviour.timed is None else [behaviour.timed.file]
    with tarfile.open(target, "w") as archive:
        for each in dict.fromkeys(map(Path, files)):
            archive.add(each, f"{FOLDER}/{each.relative_to(folder)}")
        file = target.with_name("behaviour")
        file.write_bytes(msgspec.json.encode((str(folder), behaviour)))
        file.chmod(0o600)
        entry = archive.gettarinfo(file, "behaviour.json")
        entry.mtime = 0  # so that the same behaviour is the same parcel
        with file.open("rb") as content:
            archive.addfile(entry, content)


def _read(folder: Path) -> Baseline:
    data = (folder / "behaviour.json").read_bytes()
    (before, _) = msgspec.json.decode(data, type=tuple[str, msgspec.Raw])
    old, new = (msgspec.json.encode(str(each))[1:-1] for each in (before, folder / FOLDER))
    return msgspec.json.decode(data.replace(old, new), type=tuple[str, Baseline])[1]


async def _check_there(request: CheckRequest) -> CheckResult:
    """On the worker."""
    sparse = request.case.spec.sparse
    async with workspaces_there(request.sent, slots=SLOTS, sparse=sparse) as pool:
        bench = Workbench(request.case, pool, Path(), judges=request.judges)
        async with bench:
            original = Original(bench)
            original.tests = request.tests
            if request.behaviour:
                folder = await unpacked(request.behaviour)
                original.behaviour = await in_thread(_read, folder)
            known = _known.setdefault(request.behaviour, KnownFailures())
            return await Trial(bench, original, known=known).check(request.candidate)
