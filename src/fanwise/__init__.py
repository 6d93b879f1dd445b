"""fanwise fans agent work out, within limits, and brings every result back.

In order, on disk, with nothing lost, leaked or hidden.
"""

from fanwise.core.budget import Budget
from fanwise.core.caps import Adaptive, Caps, Rate
from fanwise.core.halt import Halt
from fanwise.core.outcome import Attempt, Outcome, Outcomes, Usage
from fanwise.core.retry import Retry
from fanwise.core.stats import Stats
from fanwise.errors import FanwiseError, RateLimited
from fanwise.kernel.call import call
from fanwise.kernel.fan_out import fan_out, fan_out_sync
from fanwise.kernel.feed import Feed
from fanwise.kernel.run import Run, open_run
from fanwise.kernel.stream import fan_out_stream
from fanwise.kernel.threads import cancelled
from fanwise.processes import Command, CommandResult

__version__ = "0.1.0"

__all__ = [
    "Adaptive",
    "Attempt",
    "Budget",
    "Caps",
    "Command",
    "CommandResult",
    "FanwiseError",
    "Feed",
    "Halt",
    "Outcome",
    "Outcomes",
    "Rate",
    "RateLimited",
    "Retry",
    "Run",
    "Stats",
    "Usage",
    "call",
    "cancelled",
    "fan_out",
    "fan_out_stream",
    "fan_out_sync",
    "open_run",
]
