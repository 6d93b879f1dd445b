"""The options that a plan takes on the command line."""

from fanwise.system_options import Option

OPTIONS = (
    Option(
        name="yes",
        commands=("run",),
        flags=("--yes", "-y"),
        type=bool,
        help="Approve the plan without asking.",
    ),
    Option(
        name="dirty",
        commands=("run",),
        type=bool,
        help="Start from the work tree instead of HEAD.",
    ),
    Option(
        name="rerun",
        commands=("run",),
        metavar="failed",
        help="Run failed sub-plans again.",
    ),
    Option(
        name="apply",
        commands=("run", "resume"),
        type=bool,
        help="Write the result to the work tree.",
    ),
    Option(
        name="bisect",
        commands=("run", "resume"),
        type=bool,
        help="If the check fails, find the sub-plans to leave out.",
    ),
    Option(
        name="rollback",
        commands=("resume",),
        type=bool,
        help="Undo --apply and remove the branch.",
    ),
)
