"""Leaves that are too small joined with others; those beyond the limits explained. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from fanwise.plan.split.imports.paths import shared
from fanwise.plan.split.part import Sizes, SplitPart, leaf, whole
from fanwise.plan.split.rules import Rules


def without_small(part: SplitPart, tokens: Sizes, rules: Rules) -> SplitPart:
    """The part, its small leaves put into the nearest that have room."""
    leaves = [list(each.files) for each in part.leaves()]
    sizes = [sum(tokens[path] for path in files) for files in leaves]
    for place, files in enumerate(leaves):
        if not files or len(files) >= rules.min_files:
            continue
        others = [
            n for n, each in enumerate(leaves)
            if n != place and each and rules.fits(len(each) + len(files), sizes[n] + sizes[place])
        ]  # fmt: skip
        if others:
            near = min(others, key=lambda n: (-shared(leaves[n][0], files[0]), len(leaves[n]), n))
            leaves[near] += files
            sizes[near] += sizes[place]
            leaves[place], sizes[place] = [], 0
    return _rebuilt(part, iter(leaves))


def _rebuilt(part: SplitPart, leaves: Iterator[list[str]]) -> SplitPart:
    """The same shape with other files; what has none is gone."""
    if not part.parts:
        return leaf(next(leaves))
    parts = [_rebuilt(each, leaves) for each in part.parts]
    return whole(each for each in parts if each.parts or each.files)


def explained(part: SplitPart, tokens: Sizes, rules: Rules, *, alone: bool = True) -> SplitPart:
    """The part, with a reason at each leaf that is not within the limits."""
    if part.parts:
        below = (explained(each, tokens, rules, alone=False) for each in part.parts)
        return replace(part, parts=tuple(below))
    return replace(part, why=_why(part.files, tokens, rules, alone=alone))


def _why(files: tuple[str, ...], tokens: Sizes, rules: Rules, *, alone: bool) -> str:
    count, total = len(files), sum(tokens[path] for path in files)
    if rules.fits(count, total):
        if alone or count >= rules.min_files:
            return ""
        return f"{count} of at least {rules.min_files} files, and no other leaf can take them"
    if count == 1:
        return f"one file of {total:,} tokens; a leaf has at most {rules.max_tokens:,}"
    return (
        f"{count} files ({total:,} tokens) import one another in a circle; a leaf has at most "
        f"{rules.max_files} files and {rules.max_tokens:,} tokens"
    )
