"""What the commit of a winner says."""

from __future__ import annotations

from fanwise.optimize.verdicts.verdict import Verdict
from fanwise.optimize.verdicts.winner import DIGITS


def message_of(winner: Verdict, target: str) -> str:
    """What the commit says: what is faster, and how that is known."""
    speed = winner.speed
    assert speed is not None
    low, ratio, high = (f"{each:.{DIGITS}g}" for each in (speed.low, speed.ratio, speed.high))
    name = " ".join(winner.candidate.name.split())
    return (
        f"Make {target or 'it'} {low} times as fast\n\n"
        f"Candidate: {name}\n"
        f"Measured: {ratio} times ({low} to {high}) in {speed.rounds} pairs of runs\n"
    )
