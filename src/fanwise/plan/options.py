"""The options of `fanwise split`, and of `run` and `resume` for a plan."""

from fanwise.system_options import Option

SPLIT = ("split",)

OPTIONS = (
    Option(
        name="mode",
        commands=SPLIT,
        metavar="MODE",
        help="How to split: independent (default), dependency or directory.",
    ),
    Option(
        name="max_files",
        commands=SPLIT,
        type=int,
        metavar="N",
        help="Most files in a leaf. Default: 25.",
    ),
    Option(
        name="max_tokens",
        commands=SPLIT,
        type=int,
        metavar="N",
        help="Most tokens in a leaf, roughly. Default: 60,000.",
    ),
    Option(
        name="min_files",
        commands=SPLIT,
        type=int,
        metavar="N",
        help="Merge leaves that are smaller than this. Default: 2.",
    ),
    Option(
        name="max_depth",
        commands=SPLIT,
        type=int,
        metavar="N",
        help="Most levels of the tree. Default: 4.",
    ),
    Option(
        name="files",
        commands=SPLIT,
        many=True,
        metavar="GLOB",
        help="Only these files. !GLOB excludes; - reads stdin. Repeatable.",
    ),
    Option(
        name="history",
        commands=SPLIT,
        type=bool,
        help="Keep files together that past commits changed together.",
    ),
    Option(
        name="spine",
        commands=SPLIT,
        type=bool,
        help="Work on widely imported files first.",
    ),
    Option(
        name="parallel",
        commands=SPLIT,
        type=int,
        metavar="N",
        help="Predict the speed-up with N at once. Default: 10.",
    ),
    Option(
        name="goal",
        commands=SPLIT,
        metavar="TEXT",
        help="The goal, which is part of the ids.",
    ),
    Option(
        name="yes",
        commands=("run",),
        flags=("--yes", "-y"),
        type=bool,
        help="Approve the plan without asking.",
    ),
    Option(
        name="dirty",
        commands=("run",),
        type=bool,
        help="Start from the work tree instead of HEAD.",
    ),
    Option(
        name="rerun",
        commands=("run",),
        metavar="failed",
        help="Run failed sub-plans again.",
    ),
    Option(
        name="apply",
        commands=("run", "resume"),
        type=bool,
        help="Write the result to the work tree.",
    ),
    Option(
        name="bisect",
        commands=("run", "resume"),
        type=bool,
        help="If the check fails, find the sub-plans to leave out.",
    ),
    Option(
        name="rollback",
        commands=("resume",),
        type=bool,
        help="Undo --apply and remove the branch.",
    ),
)
