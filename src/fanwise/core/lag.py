"""When a latency is partly this process's own, and what to do about it.

The kernel measures how late its event loop is (`fanwise.kernel.loop_lag`); everything that shows
latencies uses the same rule for when that is worth a word.
"""

from __future__ import annotations

NOTABLE_SHARE = 0.1
NOTABLE_S = 0.005


def is_notable(lag_s: float, ran_s: float) -> bool:
    """Whether a lag is a part of a latency that readers have to know about."""
    return lag_s > NOTABLE_S and lag_s > NOTABLE_SHARE * ran_s


def describe_lag(lag_s: float, in_flight: int) -> str:
    """That this process is the bottleneck, and what helps."""
    crowded = in_flight > 1
    advice = "lower the cap or use more workers" if crowded else "it or the machine is busy"
    return f"at {in_flight:,} in flight this process adds {1000 * lag_s:,.0f} ms: {advice}"
