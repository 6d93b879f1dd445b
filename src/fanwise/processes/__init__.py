"""Child processes: started, bounded in time and memory, and ended with all that they started."""

from fanwise.processes.command import Command
from fanwise.processes.result import Capture, CommandResult, require_success
from fanwise.processes.run import run_command

__all__ = ["Capture", "Command", "CommandResult", "require_success", "run_command"]
