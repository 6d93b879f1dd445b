"""The options that a matrix takes on the command line."""

from fanwise.system_options import declare

OPTIONS = (
    declare("run", "--only AXIS=VALUE …", "Run only these cells; * matches anything."),
    declare("run", "--rerun WHICH", "Run these cells again: failed, all, or a cell's id."),
    declare("run", "--new", "Start from nothing: reuse no cell of earlier versions."),
    declare("run resume", "--junit FILE", "Write the verdicts on `expect:` as JUnit XML."),
    declare("run", "--stop-when-decided", "Skip repeats once a comparison is settled."),
    declare(
        "report export show score",
        "--failed-as 0|missing",
        "The score of cells whose strategy failed. Default: as the file says, or 0.",
    ),
)
