"""The options that a workflow takes on the command line."""

from fanwise.system_options import Option

OPTIONS = (
    Option(
        name="input",
        commands=("run", "resume"),
        many=True,
        metavar="NAME=VALUE",
        help="Set or change an input; NAME=@FILE reads a file.",
    ),
    Option(
        name="answer",
        commands=("resume",),
        many=True,
        metavar="STEP=CHOICE",
        help="Answer a gate.",
    ),
    Option(
        name="start",
        commands=("resume",),
        flags=("--from",),
        metavar="STEP",
        help="Run again from this step on.",
    ),
    Option(
        name="stop_after",
        commands=("run", "resume"),
        metavar="STEP",
        help="Pause after this step.",
    ),
    Option(
        name="lenient",
        commands=("run",),
        type=bool,
        help="Unknown keys and names are warnings, not errors.",
    ),
    Option(
        name="compat",
        commands=("run",),
        metavar="spec-kit",
        help="Insert values into shell lines unquoted, as spec-kit does. Values can then run "
        "anything.",
    ),
    Option(
        name="trust_project",
        commands=("run", "resume", "check"),
        type=bool,
        help="Import custom step types from .fanwise/steps.",
    ),
    Option(name="project", commands=(), help="The folder in which commands run."),
)
