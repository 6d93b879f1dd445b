"""What a file comes to when it meets the repository: all that can be found before anything runs."""

from __future__ import annotations

import shlex
from collections.abc import Container, Sequence
from pathlib import Path

import msgspec

from fanwise.core.caps import Caps, Exclusive, Limit
from fanwise.models.ask import MODEL_RETRY, worth_a_retry
from fanwise.models.connect import connect
from fanwise.models.port import Model
from fanwise.optimize.candidates.candidate import Candidate
from fanwise.optimize.candidates.collect import from_branches, from_files
from fanwise.optimize.candidates.imports_of_tests import judges_by_import
from fanwise.optimize.candidates.judges import files_named
from fanwise.optimize.candidates.target import Target
from fanwise.optimize.propose.by_command import CommandProposer
from fanwise.optimize.propose.by_model import ModelProposer
from fanwise.optimize.propose.port import Proposer
from fanwise.optimize.spec.optimize_spec import OptimizeSpec, ProposeSpec
from fanwise.specs import Where
from fanwise.workspaces import ProjectPython, interpreter_of
from fanwise.workspaces.copies import matching
from fanwise.workspaces.interpreter import UV_RUN
from fanwise.workspaces.source import Place, find

WORKSPACES, CPU, PROPOSE = "workspaces", "cpu", "propose"
"""The caps that every run has."""
AT_ONCE = 8
"""Proposals that are awaited at once, if the file does not say."""


class ResolvedSpec(msgspec.Struct, frozen=True):
    """The spec with everything that was found in the repository."""

    spec: OptimizeSpec
    repo: Path
    place: Place
    target: Target | None
    given: Sequence[Candidate]
    python: ProjectPython
    proposer: Proposer | None = None

    @property
    def readable(self) -> tuple[str, ...]:
        """What the sandbox shows of what lies elsewhere; relative to the folder of the code."""
        return tuple(str(self.repo / Path(each).expanduser()) for each in self.spec.readable)

    @property
    def recorded(self) -> bool:
        """Whether calls of the target are recorded: they are compared, and may be timed."""
        return self.target is not None

    @property
    def judges(self) -> list[str]:
        """The files that the test command and the benchmark name, and that tests alone import.

        No candidate changes them.
        """
        bench = self.spec.benched
        lines = [line for line in (self.spec.test, bench.command, bench.call) if line]
        found = (files_named(line, self.repo, self.place.top) for line in lines)
        names = dict.fromkeys(name for names in found for name in names)
        if self.target is None:
            return list(names)
        return [*names, *judges_by_import(self.place.top, self.target.file, self.spec.test)]

    @property
    def profiled(self) -> bool:
        """Whether what is accepted is profiled: if that was asked for, or it may be refined."""
        can = self.recorded and self.spec.benched.command is None
        return can and (self.spec.profile or self.spec.rounds.refine > 0)

    def caps(self, slots: int, declared: Container[str] = ()) -> Caps:
        """The run's own caps, except those that are `declared` already."""
        own: dict[str, Limit] = {WORKSPACES: slots, CPU: Exclusive(slots)}
        return Caps(own if PROPOSE in declared else {**own, PROPOSE: AT_ONCE})


def resolve_spec(
    spec: OptimizeSpec, where: Where, given: Sequence[Candidate] | None
) -> ResolvedSpec:
    """Look at the repository. `given`: the candidates, if they are known. `BadSpec`."""
    spec.check_together(where)
    spec = _without_uv(spec)
    repo = where.document.folder / spec.repo
    place = where.at("repo").making(lambda: find(repo))
    target = where.at("target").making(lambda: _target(spec, place))
    if given is None:
        given = _collect(spec, where.at("candidates"), place, target)
        where.at("copy").making(lambda: matching(place.top, spec.copy_, ()))
    python = where.at("python").making(lambda: interpreter_of(place.top, spec.python))
    return ResolvedSpec(spec, repo, place, target, given, python, _proposer(spec, where, repo))


def _without_uv(spec: OptimizeSpec) -> OptimizeSpec:
    """The lines without `uv run`: the interpreter of the project is used anyway."""
    bench = spec.bench
    if bench is not None and bench.command is not None:
        bench = bench.model_copy(update={"command": UV_RUN.sub("", bench.command)})
    return spec.model_copy(update={"test": UV_RUN.sub("", spec.test), "bench": bench})


def _proposer(spec: OptimizeSpec, where: Where, repo: Path) -> Proposer | None:
    propose = spec.candidates.propose
    if propose is None:
        return None
    there = where.at("candidates", "propose")
    return there.making(lambda: proposer_of(propose, where, str(repo)))


def _target(spec: OptimizeSpec, place: Place) -> Target | None:
    if spec.target is None:
        return None
    target = Target.parse(spec.target, inside=place.inside)
    target.find(target.read(place.top).text)
    return target


def _collect(
    spec: OptimizeSpec, where: Where, place: Place, target: Target | None
) -> list[Candidate]:
    found: list[Candidate] = []
    given = spec.candidates
    if given.files:
        folder = where.document.folder
        found += where.at("files").making(
            lambda: from_files(given.files, folder=folder, target=target, top=place.top),
        )
    if given.branches:
        found += where.at("branches").making(lambda: from_branches(given.branches, repo=place.top))
    return found


def proposer_of(spec: ProposeSpec, where: Where, cwd: str) -> Proposer:
    """Who answers, ready to be asked. `FanwiseError` if a key is missing."""
    if spec.command is not None:
        return CommandProposer(shlex.split(spec.command), cwd=cwd, timeout=spec.timeout)
    assert spec.model is not None
    own: Model | None = where.document.objects.get(spec.model.name)
    return ModelProposer(
        connect(spec.model.spec()) if own is None else own,
        options=spec.options.options(),
        retry=MODEL_RETRY if spec.retry is None else spec.retry.retry(worth_a_retry),
        timeout=spec.timeout,
    )
