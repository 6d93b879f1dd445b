"""What a leaf can be in, in one word, for all who show it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

State = Literal[
    "queued", "running", "verifying", "done", "unchanged", "split", "failed", "skipped",
    "conflict", "merging", "given up", "left out",
]  # fmt: skip
"""`conflict`: its changes do not go with those of others, and it waits to be run again on the
merged ones; `merging`: it is; `given up`: that failed too. `left out`: it is done, and its changes
are not in the result. `skipped`: one that it comes after has failed."""

ORDER: tuple[State, ...] = (
    "running", "verifying", "merging", "conflict", "failed", "given up", "skipped", "left out",
    "done", "unchanged", "split", "queued",
)  # fmt: skip
"""In which they are counted for people: what goes on, what is wrong, what is over, the rest."""

ACTIVE: frozenset[State] = frozenset({"running", "verifying", "merging"})
WRONG: frozenset[State] = frozenset({"conflict", "failed", "given up", "skipped", "left out"})

MARKS: Mapping[State, str] = {
    "queued": "·", "running": "▸", "verifying": "◆", "done": "✓", "unchanged": "=",
    "split": "+", "failed": "✗", "skipped": "/", "conflict": "!", "merging": "▸",
    "given up": "✗", "left out": "○",
}  # fmt: skip


def counts_text(counts: Mapping[State, int]) -> str:
    """`2 running, 1 failed, 57 done`; those of which there are none are not named."""
    return ", ".join(f"{counts[state]:,} {state}" for state in ORDER if counts.get(state))
