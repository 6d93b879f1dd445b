"""`init`: sets a project up for spec-kit, with spec-kit's own program."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fanwise.errors import StepFailed
from fanwise.workflow.expressions import truth
from fanwise.workflow.expressions.values import shown
from fanwise.workflow.spec.steps import InitStep
from fanwise.workflow.state.frame import Frame
from fanwise.workflow.state.step_result import StepResult
from fanwise.workflow.steps.child import run_child
from fanwise.workflow.steps.port import Leaf, Resolved, StepPlace

PROGRAM = "specify"
OWN_FOLDERS = {".fanwise", ".specify"}
"""What may be in a folder that counts as empty."""
TEXTS = ("integration", "integration_options", "script", "preset")


class InitLeaf(Leaf[InitStep]):
    """Runs `specify init`."""

    bounds_itself = True

    def resolve(self, step: InitStep, frame: Frame) -> Resolved:
        roots = frame.roots()
        names = ("project", "here", "force", "ignore_agent_tools", *TEXTS)
        given = {name: getattr(step, name) for name in names}
        found = {name: None if text is None else text.render(roots) for name, text in given.items()}
        found["integration"] = found["integration"] or frame.home.integration
        if found["ignore_agent_tools"] is None:
            found["ignore_agent_tools"] = True  # nobody is there to be told
        return found

    async def perform(self, step: InitStep, resolved: Resolved, place: StepPlace) -> StepResult:
        words = argv(resolved)
        target = words[2]
        if target in (".", "--here") and not truth(resolved["force"]):
            if not _is_empty(place.project):
                raise StepFailed(f"{place.project} is not empty. Set `force: true` to add to it")
            words.append("--force")
        output = await run_child(*words, place=place, timeout=step.timeout, around={})
        return StepResult("completed", {**resolved, "argv": words[1:], **output})


def argv(fields: Mapping[str, Any]) -> list[str]:
    """The command line of `specify init` for the fields of a step."""
    target = "--here" if truth(fields["here"]) else shown(fields["project"]) or "."
    words = [PROGRAM, "init", target]
    for name in TEXTS:
        if fields[name]:
            words += [f"--{name.replace('_', '-')}", shown(fields[name])]
    flags = ("ignore_agent_tools", "force")
    return words + [f"--{name.replace('_', '-')}" for name in flags if truth(fields[name])]


def _is_empty(folder: Path) -> bool:
    return all(entry.name in OWN_FOLDERS for entry in folder.iterdir())
