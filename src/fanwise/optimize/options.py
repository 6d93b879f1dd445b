"""The options that optimize takes on the command line."""

from fanwise.system_options import Option

OPTIONS = (
    Option(
        name="apply",
        commands=("run", "resume", "optimize"),
        type=bool,
        help="Write the winner to the work tree.",
    ),
    Option(
        name="branch",
        commands=("run", "resume", "optimize"),
        metavar="NAME",
        help="Commit the winner on a new branch.",
    ),
)
