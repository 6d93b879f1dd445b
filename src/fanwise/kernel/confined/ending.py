"""Explains in words why a program did not end normally.

Time-outs, limits and signals are certain. That a sandbox refused something shows only in the
program's output, so that is a guess and is worded as one. It explains a failure but never causes
one.
"""

from __future__ import annotations

from fanwise.kernel.confined.settings import Settings
from fanwise.processes import CommandResult, Limits
from fanwise.processes.result import signal_name

_SAYS = {
    "Read-only file system": "it seems to write outside of its workspace, which it may not",
    "Network is unreachable": "it seems to use the network, which it may not",
    "Connection refused": "it seems to use the network, which it may not",
    "Name or service not known": "it seems to use the network, which it may not",
    "Temporary failure in name resolution": "it seems to use the network, which it may not",
    "File too large": "it seems to write a file larger than it may",
    "MemoryError": "it seems to want more memory than there is",
    "Cannot allocate memory": "it seems to want more memory than there is",
    "No space left on device": "it seems to fill the disk",
}


def ending_of(result: CommandResult, settings: Settings, timeout: float | None = None) -> str:
    """Why a program was ended; empty if it exited by itself, with whatever code."""
    if result.timed_out:
        return (
            f"it did not end within {min(timeout or settings.timeout_s, settings.timeout_s):.3g} s"
        )
    if result.exceeded is not None:
        return _exceeded(result.exceeded, settings.limits)
    if result.signal is not None:
        return f"it was killed by {signal_name(result.signal)}"
    if result.exit_code is None:
        return "it ended, and how was lost"
    return ""


def hint_of(said: str) -> str:
    """What a failed program seems to have tried, judging by its output; empty: unknown."""
    return next((hint for words, hint in _SAYS.items() if words in said), "")


def _exceeded(what: str, limits: Limits) -> str:
    if what == "memory":
        most = limits.memory or limits.address_space
        return "it ran out of memory" + (f": it may have {_size(most)}" if most else "")
    if what == "processes":
        return f"it had more processes than the {limits.processes} that it may have"
    if what == "cpu":
        return f"it used up the {limits.cpu_s} s of CPU time that it may have"
    if what == "output":
        return f"it wrote more output than the {_size(limits.output or 0)} that it may"
    return f"it wrote a file larger than the {_size(limits.file_size or 0)} that it may"


def _size(count: int) -> str:
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:g} {unit}"
        count = round(count / 1000, 1)  # type: ignore[assignment]
    return f"{count:g} GB"
