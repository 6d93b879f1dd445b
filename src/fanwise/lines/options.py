"""The options that `fanwise map` and its resume take on the command line."""

from fanwise.system_options import Option

MAP = ("map",)

OPTIONS = (
    Option(
        "cap",
        MAP,
        type=int,
        flags=("--cap", "-c", "-j", "-P"),
        metavar="N",
        help="How many commands run at once. Default: 10.",
    ),
    Option(
        "lines",
        MAP,
        type=int,
        flags=("-n",),
        metavar="N",
        help="How many lines each command gets. Default: 1.",
    ),
    Option(
        "halt",
        MAP,
        metavar="WHEN",
        help="never (default); failure: stop at the first line that fails, like a loop; "
        "soon,fail=N: start nothing more after N failures; now,fail=N: also end what is in flight. "
        "Also success=N and done=N.",
    ),
    Option("retry", MAP, "Extra attempts after a failure. Default: 0.", type=int, metavar="N"),
    Option("timeout", MAP, "Kill an attempt after this time.", type=float, metavar="SECONDS"),
    Option(
        "key",
        MAP,
        type=bool,
        help="Identify lines by content, so that a resume can use an edited input. Every line must "
        "be different.",
    ),
    Option(
        "null",
        MAP,
        type=bool,
        flags=("--null", "-0"),
        help="Input lines end with NUL instead of newline.",
    ),
    Option("shell", MAP, "Run CMD with /bin/sh; {} is quoted as one word.", type=bool),
    Option("tag", MAP, "Prefix each line of output with its input line.", type=bool),
    Option("joblog", MAP, "Write a job log in GNU parallel's format.", metavar="FILE"),
    Option(
        "quiet",
        MAP,
        type=bool,
        flags=("--quiet", "-q"),
        help="No progress line and no list of failures.",
    ),
    Option(
        "input",
        ("resume",),
        many=True,
        metavar="FILE",
        help="The whole input again, if it was not read to its end; - is stdin.",
    ),
)
