"""What a benchmark of the user's own is worth, if it may make the same call again and again. PURE.

A cache gains there whatever it costs at new calls. So the calls that the benchmark makes are
recorded once, and a gain counts only if these calls show it too, each made for the first time.
"""

from __future__ import annotations

from msgspec.structs import replace

from fanwise.optimize.benchmark.compare import ONLY_REPEATED
from fanwise.optimize.benchmark.sequential import Speed


def only_repeated(speed: Speed, why: str) -> Speed:
    """A gain that may be that of a cache, and nobody can tell."""
    step = "name a target that the benchmark calls, or allow repeated calls"
    reason = f"{ONLY_REPEATED}: {why}; {step}. There it is {speed.reason}"
    return replace(speed, decision="undecided", reason=reason)


def by_new_calls(speed: Speed, new: Speed) -> Speed:
    """The verdict of the benchmark, if its calls show a gain when they are new."""
    spent = speed.spent_s + new.spent_s
    if new.decision == "accept":
        reason = f"{speed.reason}; at its new calls {new.reason}"
        return replace(speed, reason=reason, spent_s=spent)
    told = f"the benchmark repeats calls, and its new ones do not show a gain: {new.reason}"
    return replace(speed, decision=new.decision, reason=told, spent_s=spent)
