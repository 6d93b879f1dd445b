"""The options that a workflow takes on the command line."""

from fanwise.system_options import Option

OPTIONS = (
    Option(
        "input",
        ("run", "resume"),
        many=True,
        metavar="NAME=VALUE",
        help="Set or change an input; NAME=@FILE reads a file, NAME=@@TEXT is @TEXT.",
    ),
    Option("answer", ("resume",), "Answer a gate.", many=True, metavar="STEP=CHOICE"),
    Option("start", ("resume",), "Run again from this step on.", flags=("--from",), metavar="STEP"),
    Option("stop_after", ("run", "resume"), "Pause after this step.", metavar="STEP"),
    Option("lenient", ("run",), "Unknown keys and names are warnings, not errors.", type=bool),
    Option(
        "compat",
        ("run",),
        metavar="spec-kit",
        help="Insert values into shell lines unquoted, as spec-kit does. Values can "
        "then run anything.",
    ),
    Option(
        "trust_project",
        ("run", "resume", "check"),
        type=bool,
        help="Import custom step types from .fanwise/steps.",
    ),
    Option("project", (), "The folder in which commands run."),
)
