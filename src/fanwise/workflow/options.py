"""The options that a workflow takes on the command line."""

from fanwise.system_options import Option, declare

OPTIONS = (
    declare(
        "run resume simulate",
        "--input NAME=VALUE …",
        "Set or change an input; NAME=@FILE reads a file, NAME=@@TEXT is @TEXT.",
    ),
    declare("simulate", "--items STEP=N …", "How many items a fan-out has."),
    declare("resume", "--answer STEP=CHOICE …", "Answer a gate."),
    declare("resume", "--from STEP", "Run again from this step on.", name="start"),
    declare("run resume", "--stop-after STEP", "Pause after this step."),
    declare("run", "--lenient", "Unknown keys and names are warnings, not errors."),
    declare(
        "run",
        "--compat spec-kit",
        "Insert values into shell lines unquoted, as spec-kit does. Values can then run anything.",
    ),
    declare("run resume check", "--trust-project", "Import custom step types from .fanwise/steps."),
    Option("project", (), "The folder in which commands run."),
    Option("workspace", (), "The variables of the workspace that this folder is."),
    Option("retry", (), "Of steps that have no `retry` of their own."),
)
