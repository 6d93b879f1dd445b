"""fanwise fans agent work out, within limits, and brings every result back.

In order, on disk, with nothing lost, leaked or hidden.
"""

# Each name is imported when it is first asked for. The command line is inside this package, so
# what is imported here runs before its first line: a Ctrl-C in that time would be a traceback.
# Type checkers and editors read the imports; a test sees that both say the same.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from fanwise.cluster import Ray
    from fanwise.core.budget import Budget
    from fanwise.core.caps import Adaptive, Caps, Exclusive, Rate, Shared
    from fanwise.core.halt import Halt
    from fanwise.core.outcome import Attempt, Outcome, Outcomes, Usage
    from fanwise.core.result import RunResult
    from fanwise.core.retry import Retry
    from fanwise.core.stats import Stats
    from fanwise.errors import FanwiseError, RateLimited
    from fanwise.kernel.call import call
    from fanwise.kernel.fan_out import fan_out, fan_out_sync
    from fanwise.kernel.feed import Feed
    from fanwise.kernel.run import Run, open_run
    from fanwise.kernel.stream import fan_out_stream
    from fanwise.kernel.threads import cancelled
    from fanwise.matrix import Matrix, run_matrix, run_matrix_sync
    from fanwise.optimize import optimize, optimize_sync
    from fanwise.plan import run_plan, run_plan_sync
    from fanwise.processes import Command, CommandResult, Limits, Sandbox
    from fanwise.sampling import sample, sample_sync
    from fanwise.specs.run_file import run_file, run_file_sync
    from fanwise.workflow import run_workflow, run_workflow_sync

__version__ = "0.1.0"

__all__ = [
    "Adaptive",
    "Attempt",
    "Budget",
    "Caps",
    "Command",
    "CommandResult",
    "Exclusive",
    "FanwiseError",
    "Feed",
    "Halt",
    "Limits",
    "Matrix",
    "Outcome",
    "Outcomes",
    "Rate",
    "RateLimited",
    "Ray",
    "Retry",
    "Run",
    "RunResult",
    "Sandbox",
    "Shared",
    "Stats",
    "Usage",
    "call",
    "cancelled",
    "fan_out",
    "fan_out_stream",
    "fan_out_sync",
    "open_run",
    "optimize",
    "optimize_sync",
    "run_file",
    "run_file_sync",
    "run_matrix",
    "run_matrix_sync",
    "run_plan",
    "run_plan_sync",
    "run_workflow",
    "run_workflow_sync",
    "sample",
    "sample_sync",
]

_HOMES = {
    "Adaptive": "fanwise.core.caps",
    "Attempt": "fanwise.core.outcome",
    "Budget": "fanwise.core.budget",
    "Caps": "fanwise.core.caps",
    "Command": "fanwise.processes",
    "CommandResult": "fanwise.processes",
    "Exclusive": "fanwise.core.caps",
    "FanwiseError": "fanwise.errors",
    "Feed": "fanwise.kernel.feed",
    "Halt": "fanwise.core.halt",
    "Limits": "fanwise.processes",
    "Matrix": "fanwise.matrix",
    "Outcome": "fanwise.core.outcome",
    "Outcomes": "fanwise.core.outcome",
    "Rate": "fanwise.core.caps",
    "RateLimited": "fanwise.errors",
    "Ray": "fanwise.cluster",
    "Retry": "fanwise.core.retry",
    "Run": "fanwise.kernel.run",
    "RunResult": "fanwise.core.result",
    "Shared": "fanwise.core.caps",
    "Sandbox": "fanwise.processes",
    "Stats": "fanwise.core.stats",
    "Usage": "fanwise.core.outcome",
    "call": "fanwise.kernel.call",
    "cancelled": "fanwise.kernel.threads",
    "fan_out": "fanwise.kernel.fan_out",
    "fan_out_stream": "fanwise.kernel.stream",
    "fan_out_sync": "fanwise.kernel.fan_out",
    "open_run": "fanwise.kernel.run",
    "optimize": "fanwise.optimize",
    "optimize_sync": "fanwise.optimize",
    "run_file": "fanwise.specs.run_file",
    "run_file_sync": "fanwise.specs.run_file",
    "run_matrix": "fanwise.matrix",
    "run_matrix_sync": "fanwise.matrix",
    "run_plan": "fanwise.plan",
    "run_plan_sync": "fanwise.plan",
    "run_workflow": "fanwise.workflow",
    "run_workflow_sync": "fanwise.workflow",
    "sample": "fanwise.sampling",
    "sample_sync": "fanwise.sampling",
}


if not TYPE_CHECKING:  # else every name that is misspelt would be an `object` to mypy

    def __getattr__(name: str) -> object:
        """A public name, from where it lives."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        home = import_module(_HOMES[name])
        value: object = getattr(home, name)
        if home.__name__ == f"{__name__}.{name}":
            value = home  # `fanwise.optimize` is a package too, and can be called: see there
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """What there is, whether it was asked for or not."""
    return sorted({*globals(), *__all__})
