"""`fanwise optimize`: a target and options become the fields of a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fanwise.errors import UsageError

AS_THEY_ARE = (
    "test", "slots", "repo", "dirty", "copy", "readable", "python", "hot", "hot_run", "timeout",
    "profile", "seed", "allow_slower", "allow_repeated", "strict", "allow",
)  # fmt: skip
"""Options that have the name of their field."""


def fields_of(target: str | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """What stands under `optimize:`, from the options that were given. `UsageError`."""
    fields: dict[str, Any] = {
        "repo": ".",
        "candidates": _candidates(given),
        "bench": _bench(target, given),
        **{name: given[name] for name in AS_THEY_ARE if name in given},
    }
    if target is not None:
        fields["target"] = target
    rounds = _renamed(given, repair="repair", refine="refine")
    if any(rounds.values()):
        fields["rounds"] = rounds
    if "accept" in given:
        fields["accept"] = {"speedup": given["accept"]}
    if "no_sandbox" in given:
        fields["sandbox"] = False
    if "usd" in given:
        fields["budget"] = {"usd": given["usd"]}
    return {name: [*each] if isinstance(each, tuple) else each for name, each in fields.items()}


def _candidates(given: Mapping[str, Any]) -> dict[str, Any]:
    found = {
        field: [*given[name]]
        for name, field in (("candidates", "files"), ("branches", "branches"))
        if name in given
    }
    proposed = _renamed(given, propose="model", propose_command="command", n="n")
    return {**found, "propose": proposed} if proposed else found


def _bench(target: str | None, given: Mapping[str, Any]) -> dict[str, Any]:
    if "bench" in given and "bench_call" in given:
        raise UsageError("--bench and --bench-call are both given", "Leave one out")
    bench = _renamed(given, bench="command", bench_call="call", bench_budget="budget")
    if "bench" in given or "bench_call" in given:
        return bench
    if target is None and "hot" not in given:
        raise UsageError(
            "without TARGET there are no calls to time", "Give --bench LINE or --bench-call"
        )
    return {**bench, "calls": "recorded"}


def _renamed(given: Mapping[str, Any], **names: str) -> dict[str, Any]:
    return {field: given[name] for name, field in names.items() if name in given}
