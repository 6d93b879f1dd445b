"""Who does the sub-plans, as the file says; and whether the lines in it can be filled."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from fanwise.errors import UsageError
from fanwise.models.port import Model
from fanwise.plan.spec.plan_spec import PlanSpec
from fanwise.plan.work.by_agent import AgentWorker
from fanwise.plan.work.by_call import CallWorker
from fanwise.plan.work.by_command import CommandWorker
from fanwise.plan.work.port import LeafWorker
from fanwise.plan.work.words import VERIFY, WORK, check_line
from fanwise.specs import Document, Where, function, read
from fanwise.specs.agents import named, of_project

PLACE = re.compile(r"(?<![$\w{])\{([a-z_]+)\}(?![\w}])")
ALONE = re.compile(r"(?:^|(?<=[\s=]))\{([a-z_]+)\}(?=\s|$)")


def workflow_of(spec: PlanSpec, where: Where) -> dict[str, Any] | None:
    """The file of a workflow as it is now, as the journal keeps it; None: it is none."""
    if spec.each.workflow is None:
        return None
    return read(where.document.folder / spec.each.workflow).keep()


def worker_of(spec: PlanSpec, where: Where, workflow: Mapping[str, Any] | None) -> LeafWorker:
    each = spec.each
    if each.command is not None:
        return CommandWorker(each.command)
    if each.agent is not None:
        return agent_of(each.agent, where, each.args)
    if each.call is not None:
        own = where.document.objects.get(each.call)
        return CallWorker(own or function(each.call, where.at("each", "call")), each.call)
    if workflow is not None:
        from fanwise.plan.work.by_workflow import WorkflowWorker

        return WorkflowWorker(Document.again(workflow))
    return _model(spec, where)


def agent_of(name: str, where: Where, args: Sequence[str] = ()) -> LeafWorker:
    return AgentWorker(name, named(name, of_project(where.document.folder)), args)


def _model(spec: PlanSpec, where: Where) -> LeafWorker:
    from fanwise.models.ask import MODEL_RETRY, worth_a_retry
    from fanwise.models.connect import connect
    from fanwise.plan.work.by_model import ModelWorker

    each = spec.each
    assert each.model is not None
    own: Model | None = where.document.objects.get(each.model.name)
    return ModelWorker(
        connect(each.model.spec()) if own is None else own,
        options=each.options.options(),
        retry=MODEL_RETRY if each.retry is None else each.retry.retry(worth_a_retry),
    )


def check_words(spec: PlanSpec, where: Where) -> None:
    """Refuse lines that name something that nobody fills in. `BadSpec`."""
    if spec.each.command is not None:
        _check(spec.each.command, WORK, where.at("each", "command"))
    if spec.verify is not None:
        _check(spec.verify, VERIFY, where.at("verify"))
    if spec.check_ is not None:
        _check(spec.check_, (), where.at("check"))


def _check(line: str, names: Sequence[str], where: Where) -> None:
    alone = {found.start() for found in ALONE.finditer(line)}
    for found in PLACE.finditer(line):
        name = found[1]
        # Lines are full of braces, of awk and of the shell's own: only what is meant for us.
        meant = found.start() in alone or get_close_matches(name, names, n=1)
        if name not in names and meant:
            raise where.bad(f"{{{name}}} has no meaning here{_instead(name, names)}")
    try:
        if names:
            check_line(line, names)
    except UsageError as error:
        raise where.bad(str(error)) from error


def _instead(name: str, names: Sequence[str]) -> str:
    close = get_close_matches(name, names, n=1)
    if close:
        return f"; did you mean {{{close[0]}}}?"
    return f"; known: {', '.join(f'{{{each}}}' for each in names)}" if names else ""
