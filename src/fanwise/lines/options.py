"""The options that `fanwise map` and its resume take on the command line."""

from fanwise.system_options import Option

MAP = ("map",)

OPTIONS = (
    Option(
        name="cap",
        commands=MAP,
        type=int,
        flags=("--cap", "-c", "-j", "-P"),
        metavar="N",
        help="How many commands run at once. Default: 10.",
    ),
    Option(
        name="lines",
        commands=MAP,
        type=int,
        flags=("-n",),
        metavar="N",
        help="How many lines each command gets. Default: 1.",
    ),
    Option(
        name="halt",
        commands=MAP,
        metavar="WHEN",
        help="never (default); failure: stop at the first line that fails, like a loop; "
        "soon,fail=N: start nothing more after N failures; now,fail=N: also end what is in flight. "
        "Also success=N and done=N.",
    ),
    Option(
        name="retry",
        commands=MAP,
        type=int,
        metavar="N",
        help="Extra attempts after a failure. Default: 0.",
    ),
    Option(
        name="timeout",
        commands=MAP,
        type=float,
        metavar="SECONDS",
        help="Kill an attempt after this time.",
    ),
    Option(
        name="key",
        commands=MAP,
        type=bool,
        help="Identify lines by content, so that a resume can use an edited input. Every line must "
        "be different.",
    ),
    Option(
        name="null",
        commands=MAP,
        type=bool,
        flags=("--null", "-0"),
        help="Input lines end with NUL instead of newline.",
    ),
    Option(
        name="shell",
        commands=MAP,
        type=bool,
        help="Run CMD with /bin/sh; {} is quoted as one word.",
    ),
    Option(
        name="tag",
        commands=MAP,
        type=bool,
        help="Prefix each line of output with its input line.",
    ),
    Option(
        name="joblog",
        commands=MAP,
        metavar="FILE",
        help="Write a job log in GNU parallel's format.",
    ),
    Option(
        name="quiet",
        commands=MAP,
        type=bool,
        flags=("--quiet", "-q"),
        help="No progress line and no list of failures.",
    ),
    Option(
        name="input",
        commands=("resume",),
        many=True,
        metavar="FILE",
        help="The whole input again, if it was not read to its end; - is stdin.",
    ),
)
