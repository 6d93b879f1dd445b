"""The options that a matrix takes on the command line."""

from fanwise.system_options import Option

OPTIONS = (
    Option(
        name="only",
        commands=("run",),
        many=True,
        metavar="AXIS=VALUE",
        help="Run only these cells; * matches anything.",
    ),
    Option(
        name="rerun",
        commands=("run",),
        metavar="WHICH",
        help="Run these cells again: failed, all, or a cell's id.",
    ),
    Option(
        name="stop_when_decided",
        commands=("run",),
        type=bool,
        help="Skip repeats once a comparison is settled.",
    ),
)
