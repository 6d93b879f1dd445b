"""The options that a matrix takes on the command line."""

from fanwise.system_options import Option

OPTIONS = (
    Option(
        "only",
        ("run",),
        many=True,
        metavar="AXIS=VALUE",
        help="Run only these cells; * matches anything.",
    ),
    Option(
        "rerun", ("run",), "Run these cells again: failed, all, or a cell's id.", metavar="WHICH"
    ),
    Option("stop_when_decided", ("run",), "Skip repeats once a comparison is settled.", type=bool),
    Option(
        "failed_as",
        ("report", "export", "show", "score"),
        "The score of cells whose strategy failed. Default: as the file says, or 0.",
        choices=("0", "missing"),
    ),
)
