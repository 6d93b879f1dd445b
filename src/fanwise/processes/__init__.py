"""Child processes: started, bounded in time and memory, and ended with all that they started."""

from fanwise.processes.command import Command
from fanwise.processes.environment import PLAIN
from fanwise.processes.limits import Limits
from fanwise.processes.result import Capture, CommandResult, require_success
from fanwise.processes.run import run_command
from fanwise.processes.sandbox import Sandbox

__all__ = [
    "PLAIN",
    "Capture",
    "Command",
    "CommandResult",
    "Limits",
    "Sandbox",
    "require_success",
    "run_command",
]
