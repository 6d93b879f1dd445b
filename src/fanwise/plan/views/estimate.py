"""What a plan would do and spend, in words: for `fanwise check`, and before it is approved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from fanwise.models.port import Tokens
from fanwise.models.prices import dollars
from fanwise.plan.model.node import Node
from fanwise.plan.spec.resolved_plan import ResolvedPlan
from fanwise.plan.views.text import plural
from fanwise.plan.work.by_model import SYSTEM
from fanwise.plan.work.context import BYTES_A_TOKEN, files_imported_by
from fanwise.plan.work.port import LeafSettings
from fanwise.plan.work.prompt import prompt
from fanwise.plan.work.sparse_folders import is_sparse
from fanwise.processes.sandbox import unusable

MOST_SHOWN = 5
DECLARED = 0.2
"""The share of a file that its declarations are, about."""


class PlanEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """For so many sub-plans, each done at the first try."""

    leaves: int
    files: int
    tokens: int
    """Of these files."""
    requests: int = 0
    """To a model."""
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = None
    """None: the price is unknown, or no model is asked by fanwise itself."""
    tries: int = 1
    """The most that each sub-plan is tried."""


def estimate_of(resolved: ResolvedPlan, leaves: Sequence[Node]) -> PlanEstimate:
    """Assumes that each answer is as long as the files that it is about."""
    tokens = sum(leaf.tokens for leaf in leaves)
    found = PlanEstimate(
        leaves=len(leaves),
        files=sum(len(leaf.files) for leaf in leaves),
        tokens=tokens,
        tries=resolved.spec.retry + 1,
    )
    each = resolved.spec.each
    if each.model is None:
        return found
    most = each.options.max_tokens
    sent = tokens + sum(_prompt_tokens(resolved, leaf) for leaf in leaves)
    said = sum(leaf.tokens if most is None else min(most, leaf.tokens) for leaf in leaves)
    spec = each.model.spec()
    provider, _, name = spec.name.partition(":")
    usd = dollars(provider, name, Tokens(sent, said), spec.price)
    return replace(found, requests=len(leaves), input_tokens=sent, output_tokens=said, usd=usd)


def _prompt_tokens(resolved: ResolvedPlan, leaf: Node) -> int:
    """What a sub-plan is told beside its files: rules, goal, and what the files import."""
    spec, base = resolved.spec, resolved.base
    said = prompt(
        goal=leaf.goal or spec.goal, files=leaf.files, shared=spec.shared, verify=spec.verify or ""
    )
    used = files_imported_by(leaf.files, base.split.imports)
    declared = DECLARED * sum(base.tokens.get(path, 0) for path in used)
    room = LeafSettings(kept=resolved.repo).context_tokens
    return round((len(SYSTEM) + len(said)) / BYTES_A_TOKEN + min(room, declared))


def facts_of(resolved: ResolvedPlan, estimate: PlanEstimate) -> dict[str, Any]:
    """The same as plain data."""
    base = resolved.base
    return {
        "base": base.commit,
        "scorecard": msgspec.to_builtins(base.split.scorecard),
        "estimate": msgspec.to_builtins(estimate),
        "uncommitted": base.uncommitted,
        "unmatched": list(base.unmatched),
        "left_out": [each._asdict() for each in base.split.left_out],
        "irreducible": {
            leaf.id: leaf.irreducible for leaf in resolved.tree.leaves if leaf.irreducible
        },
    }


def plan_lines(resolved: ResolvedPlan, estimate: PlanEstimate) -> list[str]:
    """What it is, how good the split is, what it would spend, and what to look out for."""
    parts = (
        _goal_lines(resolved),
        _split_lines(resolved),
        _cost_lines(resolved, estimate),
        _start_lines(resolved),
    )
    return [line for part in parts for line in part]


def _goal_lines(resolved: ResolvedPlan) -> Iterator[str]:
    spec = resolved.spec
    if spec.goal:
        yield f"goal: {_one_line(spec.goal)}"
    each = spec.each
    who = each.model.name if each.model is not None else resolved.worker.name
    tries = f", at most {spec.retry + 1} tries" if spec.retry else ", one try"
    yield f"each sub-plan by {each.kind} {_one_line(who)}{tries}"
    if spec.verify is not None:
        yield f"verified by: {_one_line(spec.verify)}"
    if spec.check_ is not None:
        yield f"checked when merged, by: {_one_line(spec.check_)}"


def _one_line(text: str) -> str:
    """All of it in one line: it is shown to be approved."""
    return " ".join(text.split())


def _split_lines(resolved: ResolvedPlan) -> Iterator[str]:
    card, split = resolved.base.split.scorecard, resolved.base.split
    if resolved.spec.tasks is not None:
        yield f"{plural(card.leaves, 'task')}, {card.max_parallel} at once"
        return
    uneven = f"; the biggest is {card.balance:.2g} times the mean" if card.balance >= 1.1 else ""
    yield (
        f"{plural(card.leaves, 'sub-plan')} of {plural(card.files, 'file')} "
        f"({plural(card.tokens, 'token')}), {card.depth} deep, by {split.mode}{uneven}"
    )
    if card.edges and card.cut is not None:
        hubs = (
            "" if card.cut_without_hubs is None else f", {card.cut_without_hubs:.0%} without hubs"
        )
        yield f"{card.edges:,} imports, {card.cut:.0%} of them between sub-plans{hubs}"
    yield f"{card.max_parallel} at once: about {card.speedup:.3g} times as fast as one at a time"
    big = [leaf for leaf in resolved.tree.leaves if leaf.irreducible]
    for leaf in big[:MOST_SHOWN]:
        yield f"beyond the limits: {leaf.title}: {leaf.irreducible}"
    if len(big) > MOST_SHOWN:
        yield f"beyond the limits: {len(big) - MOST_SHOWN} more"


def _cost_lines(resolved: ResolvedPlan, estimate: PlanEstimate) -> Iterator[str]:
    kept = len(resolved.tree.leaves) - estimate.leaves
    known = f"; {kept} of {len(resolved.tree.leaves)} are known from before" if kept else ""
    if resolved.spec.each.model is None:
        kind = resolved.spec.each.kind
        what = kind if kind in ("command", "agent") else "call"
        yield f"{plural(estimate.leaves, what)} to run{known}; what they spend is not known"
    else:
        usd = "an unknown price" if estimate.usd is None else f"${estimate.usd:.4g}"
        yield (
            f"{plural(estimate.requests, 'request')}, about {estimate.input_tokens:,} tokens "
            f"in and {estimate.output_tokens:,} out, {usd}, if none is tried again{known}"
        )
    limits = {} if (budget := resolved.spec.make_budget()) is None else budget.limits
    if limits:
        yield f"budget: {', '.join(f'{most:g} {kind}' for kind, most in limits.items())}"


def _start_lines(resolved: ResolvedPlan) -> Iterator[str]:
    spec, base = resolved.spec, resolved.base
    start = "the dirty state" if spec.dirty else "HEAD"
    yield f"{plural(resolved.slots, 'workspace')}, from {start} ({base.commit[:12]})"
    if is_sparse(spec.sparse, base.files):
        yield f"sparse: each has the folders that its sub-plan needs, of {base.files:,} files"
    if spec.verify is not None or spec.check_ is not None:
        if not spec.sandbox:
            yield "verify and check run without a sandbox: the file turns it off"
        elif problem := unusable():
            yield f"verify and check will not run: there is no sandbox here ({problem})"
    if base.uncommitted:
        yield _uncommitted_text(base.uncommitted)
    yield from (f"no file matches {pattern!r}" for pattern in base.unmatched)
    left_out = [f"{each.path} ({each.why})" for each in base.split.left_out]
    for title, names in (
        ("left out", left_out),
        ("not UTF-8", [each.path for each in base.split.unparsed]),
    ):
        more = f" and {len(names) - MOST_SHOWN} more" if len(names) > MOST_SHOWN else ""
        yield from [f"{title}: {', '.join(names[:MOST_SHOWN])}{more}"] if names else []


def start_notes(resolved: ResolvedPlan) -> list[str]:
    """What the user may not expect of the state that the sub-plans start from."""
    notes = []
    base = resolved.base
    if base.uncommitted:
        notes.append(_uncommitted_text(base.uncommitted))
    if is_sparse(resolved.spec.sparse, base.files):
        notes.append(
            f"workspaces had only the folders that a sub-plan needs, of {base.files:,} files; "
            "`sparse: [folders]` names more, `sparse: false` checks out all"
        )
    return notes


def _uncommitted_text(count: int) -> str:
    files, them = ("file is", "it") if count == 1 else ("files are", "them")
    return f"{count} {files} not committed: left out; --dirty includes {them}"
