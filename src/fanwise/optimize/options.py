"""The options of `fanwise optimize`, and of `run` and `resume` for optimize."""

from fanwise.system_options import Option

OPTIMIZE = ("optimize",)

OPTIONS = (
    Option(
        "test",
        OPTIMIZE,
        flags=("--test", "-t"),
        metavar="LINE",
        required=True,
        help="The test command, like `pytest -q tests`. Required.",
    ),
    Option(
        "candidates",
        OPTIMIZE,
        many=True,
        flags=("--candidates", "-c"),
        metavar="GLOB",
        help="Candidate files. Repeatable.",
    ),
    Option("branches", OPTIMIZE, "Candidate branches. Repeatable.", many=True, metavar="GLOB"),
    Option("propose", OPTIMIZE, "Ask a model for candidates.", metavar="PROVIDER:MODEL"),
    Option("propose_command", OPTIMIZE, "Ask a command for candidates.", metavar="LINE"),
    Option(
        "n",
        OPTIMIZE,
        type=int,
        flags=("-n",),
        metavar="N",
        help="Number of first proposals. Default: 4.",
    ),
    Option(
        "repair",
        OPTIMIZE,
        type=int,
        metavar="N",
        help="Rounds of repairing failed candidates. Default: 0.",
    ),
    Option(
        "refine",
        OPTIMIZE,
        type=int,
        metavar="N",
        help="Rounds of refining the best candidates. Default: 0.",
    ),
    Option(
        "bench",
        OPTIMIZE,
        metavar="LINE",
        help="Time this command. Default: the recorded calls of TARGET.",
    ),
    Option("bench_call", OPTIMIZE, "Time this function.", metavar="MODULE:FUNCTION"),
    Option(
        "bench_budget",
        OPTIMIZE,
        type=float,
        metavar="SECONDS",
        help="Longest timing of a candidate. Default: 60.",
    ),
    Option(
        "accept",
        OPTIMIZE,
        type=float,
        metavar="RATIO",
        help="The smallest speed-up that counts. Default: 1.05.",
    ),
    Option("slots", OPTIMIZE, "Workspaces at once. Default: 4.", type=int, metavar="N"),
    Option("repo", OPTIMIZE, "The repository. Default: the working directory.", metavar="FOLDER"),
    Option("dirty", OPTIMIZE, "Start from the work tree instead of HEAD.", type=bool),
    Option(
        "copy",
        OPTIMIZE,
        many=True,
        metavar="GLOB",
        help="Ignored files that the tests need. Repeatable.",
    ),
    Option(
        "timeout",
        OPTIMIZE,
        type=float,
        metavar="SECONDS",
        help="Time-out of a command. Default: based on the original.",
    ),
    Option("no_sandbox", OPTIMIZE, "Run candidates with your permissions and network.", type=bool),
    Option("profile", OPTIMIZE, "Profile the original and the winner line by line.", type=bool),
    Option("usd", OPTIMIZE, "Spend no more than this.", type=float, metavar="DOLLARS"),
    Option("seed", OPTIMIZE, "Seed for varied calls and their order.", type=int, metavar="N"),
    Option("apply", ("run", "resume", "optimize"), "Write the winner to the work tree.", type=bool),
    Option(
        "branch",
        ("run", "resume", "optimize"),
        metavar="NAME",
        help="Commit the winner on a new branch.",
    ),
)
