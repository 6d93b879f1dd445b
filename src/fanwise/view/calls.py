"""Tokens and dollars of a run's or an item's calls, as text and as data.

A sum with an unknown part is unknown. The known part is shown next to the number of attempts that
are missing from it, and never as if it were the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from fanwise.core.lag import describe_lag
from fanwise.journal.port import CallTotals, Sum
from fanwise.view.table import Kind

COLUMNS: dict[str, Kind] = {
    "calls": "integer", "input_tokens": "integer", "output_tokens": "integer",
    "cached_tokens": "integer", "usd": "number", "usd_unknown": "integer",
}  # fmt: skip
"""Columns of an item with calls. `calls` counts attempts; a sum is empty if part is unknown."""


def call_detail(totals: CallTotals) -> dict[str, Any]:
    """As data. `total` is None if `unknown` attempts are missing from the `known` sum."""
    detail: dict[str, Any] = {"attempts": totals.attempts, "failed": totals.failed}
    for name in ("tokens", "input_tokens", "output_tokens", "cached_tokens", "usd"):
        part: Sum = getattr(totals, name)
        detail[name] = {"total": part.total, "known": part.known, "unknown": part.unknown}
    detail["first_token_s"] = {"p50": totals.first_token_p50, "p95": totals.first_token_p95}
    slowed = {"attempts": totals.slowed, "lag_s": totals.lag_s, "in_flight": totals.in_flight}
    detail["slowed"] = slowed
    return detail


def call_columns(totals: CallTotals) -> dict[str, Any]:
    """As columns of an item's row; empty if it made no calls."""
    if not totals.attempts:
        return {}
    return {
        "calls": totals.attempts,
        "input_tokens": totals.input_tokens.total,
        "output_tokens": totals.output_tokens.total,
        "cached_tokens": totals.cached_tokens.total,
        "usd": totals.usd.total,
        "usd_unknown": totals.usd.unknown,
    }


def call_lines(calls: dict[str, Any]) -> Iterator[str]:
    """Lines for `fanwise show`; empty if there were no calls."""
    if not calls["attempts"]:
        return
    failed = f", {calls['failed']} failed or cancelled" if calls["failed"] else ""
    yield f"calls     {_attempts(calls['attempts'])}{failed}"
    names = ("tokens", "input_tokens", "output_tokens")
    every, sent, given = (_amount(calls["attempts"], calls[name], _number) for name in names)
    yield f"tokens    {every}; in: {sent}; out: {given}"
    yield f"dollars   {_amount(calls['attempts'], calls['usd'], dollars)}"
    first = calls["first_token_s"]
    if first["p50"] is not None:
        yield f"answers   first token {first['p50']:.3f} s (median), {first['p95']:.3f} s (p95)"
    slowed = calls["slowed"]
    if slowed["attempts"]:
        share = f"{slowed['attempts']:,} of {_attempts(calls['attempts'])}"
        yield f"late      {share}: {describe_lag(slowed['lag_s'], slowed['in_flight'])}"


def item_calls(row: dict[str, Any]) -> str:
    """The calls of an item, at the end of its line."""
    if "calls" not in row:
        return ""
    tokens = [row["input_tokens"], row["output_tokens"]]
    sent, given = ("?" if each is None else _number(each) for each in tokens)
    cost = "unknown" if row["usd"] is None else dollars(row["usd"])
    return f"calls {row['calls']}  tokens {sent} in {given} out  dollars {cost}"


def dollars(usd: float) -> str:
    """With enough digits for a cheap call."""
    return f"{usd:,.6f}".rstrip("0").rstrip(".")


def _number(number: float) -> str:
    return f"{number:,.0f}"


def _amount(attempts: int, part: dict[str, Any], shown: Callable[[float], str]) -> str:
    if not part["unknown"]:
        return shown(part["known"])
    if part["unknown"] == attempts:
        return "unknown"
    return f"unknown for {_attempts(part['unknown'])}, {shown(part['known'])} for the others"


def _attempts(number: int) -> str:
    return f"{number:,} attempt{'' if number == 1 else 's'}"
