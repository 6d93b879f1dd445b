"""A case of the compatibility suite: a workflow file, and what shall come of it.

One YAML file holds both. Up to the line `---` it is the workflow, and is run as it stands; behind
that line is what is expected:

    shows: what the case is about, as a sentence
    differs: {in_spec_kit: what it does, because: why fanwise does not; here: if not what it shows}
    given: {notes.md: text}          files of the project; those under bin/ are programs on PATH
    command_line: true               also in processes of its own, as a user would
    acts:
      - run: {input: {n: "3"}, stop_after: STEP, flags: [--lenient]}
        exit_code: 1                 0 unless it is said
        status: failed               `at`, `index`, `gate`, `error`: the other keys of `--json`
        steps: {a: completed, b: {status: failed, output: {exit_code: 2}}}
        only: [a, b]                 there are no other steps
        files: {log: "a\n"}          what the steps have written by now
        says: text                   in what the person is told
      - resume: {answer: {gate: approve}, input: {n: "4"}, from: STEP}

Of mappings the expected keys are compared, of lists all entries; 1 is not true, nor 1.0. With exit
code 2 nothing may have been started or written.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import yaml

CASES = Path(__file__).parent / "compat"
RUN = "r"
KEYS = {"run_id", "workflow_id", "status", "current_step_id", "current_step_index"}
KEYS |= {"gate", "error"}
KNOWN = {"run", "resume", "exit_code", "status", "at", "index", "gate", "error", "steps", "only"}
KNOWN |= {"files", "says"}


class Answered(NamedTuple):
    """What the command line came to."""

    exit_code: int
    out: bytes
    err: bytes


CommandLine = Callable[..., Answered]
"""With arguments, in the project's folder."""


class Case(NamedTuple):
    """One of them."""

    name: str
    workflow: str
    shows: str
    acts: list[dict[str, Any]]
    given: dict[str, str]
    command_line: bool
    differs: dict[str, str]

    def set_up(self, project: Path) -> None:
        """The files of the project."""
        for name, text in {**self.given, "w.yaml": self.workflow}.items():
            file = project / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            if name.startswith("bin/"):
                file.chmod(0o755)

    def play(self, project: Path, fanwise: CommandLine) -> None:
        """Act after act."""
        for number, act in enumerate(self.acts):
            told = f"act {number} of {self.name}: {self.shows}"
            before = _files(project)
            answered = fanwise(*_arguments(act))
            told += f"\n{answered.err.decode()}{answered.out.decode()}"
            assert answered.exit_code == act.get("exit_code", 0), told
            if answered.exit_code == 2:
                assert act["says"] in answered.out.decode(), told
                assert _files(project) == before, told
            else:
                _compare(act, json.loads(answered.out), project, told)


def read_case(file: Path) -> Case:
    """A file of the suite."""
    workflow, rest = file.read_text().split("\n---\n")
    given = yaml.safe_load(rest)
    assert set(given) <= {"shows", "given", "command_line", "acts", "differs"}, file
    for act in given["acts"]:
        assert set(act) <= KNOWN, (file, set(act) - KNOWN)
    return Case(
        str(file.relative_to(CASES).with_suffix("")),
        f"{workflow}\n",
        given["shows"],
        given["acts"],
        given.get("given", {}),
        given.get("command_line", False),
        given.get("differs", {}),
    )


def difference(case: Case) -> str:
    """A row of the table in the guide."""
    told = case.differs
    return f"| {told.get('here', case.shows)} | {told['in_spec_kit']} | {told['because']} |"


def all_cases() -> list[Case]:
    """The suite."""
    return [read_case(file) for file in sorted(CASES.rglob("*.yaml"))]


def search_path(project: Path) -> str:
    """The PATH, with the project's programs first."""
    return f"{project / 'bin'}{os.pathsep}{os.environ['PATH']}"


# -- what is asked --------------------------------------------------------------------------------


def _arguments(act: dict[str, Any]) -> list[str]:
    resumes = "resume" in act
    asked = (act["resume"] if resumes else act["run"]) or {}
    first = ["resume", RUN] if resumes else ["run", "w.yaml", "--run", RUN]
    return [*first, "--json", *_options(asked)]


def _options(asked: dict[str, Any]) -> list[str]:
    words: list[str] = list(asked.get("flags", ()))
    for name in ("input", "answer"):
        for key, value in asked.get(name, {}).items():
            assert isinstance(value, str), "a command line has texts"
            words += [f"--{name}", f"{key}={value}"]
    for name in ("from", "stop_after"):
        if name in asked:
            words += [f"--{name.replace('_', '-')}", asked[name]]
    return words


# -- what came of it ------------------------------------------------------------------------------


def _compare(act: dict[str, Any], document: dict[str, Any], project: Path, told: str) -> None:
    assert set(document) >= KEYS, told
    assert document["run_id"] == RUN, told
    exit_code = act.get("exit_code", 0)
    status = act.get("status", {0: "completed", 1: "failed", 3: "paused"}[exit_code])
    assert document["status"] == status, told
    for key, name in (("at", "current_step_id"), ("index", "current_step_index"), ("gate", "gate")):
        if key in act:
            assert holds(act[key], document[name]), (name, act[key], document[name], told)
    assert (document["error"] is None) == (exit_code != 1), told
    assert act.get("error", "") in (document["error"] or ""), told
    assert act.get("says", "") in "\n".join(document["notes"]), told
    steps = document["result"]["steps"]
    for path, wanted in act.get("steps", {}).items():
        wanted = {"status": wanted} if isinstance(wanted, str) else wanted
        assert holds({"status": "completed", **wanted}, steps.get(path)), (path, wanted, told)
    if "only" in act:
        assert sorted(steps) == sorted(act["only"]), told
    for name, text in act.get("files", {}).items():
        file = project / name
        assert (file.read_text() if file.exists() else None) == text, (name, told)


def holds(wanted: Any, found: Any) -> bool:
    """Whether all that is wanted is there."""
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(
            key in found and holds(value, found[key]) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return (
            isinstance(found, list) and len(wanted) == len(found) and all(map(holds, wanted, found))
        )
    return type(wanted) is type(found) and bool(wanted == found)


def _files(project: Path) -> set[str]:
    """All but what SQLite has beside a journal that was read."""
    found = {str(file.relative_to(project)) for file in project.rglob("*")}
    return {name for name in found if not name.endswith(("-wal", "-shm"))}
