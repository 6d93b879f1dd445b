"""The options of `fanwise split`, and of `run` and `resume` for a plan."""

from fanwise.system_options import Option

SPLIT = ("split",)

OPTIONS = (
    Option(
        "mode",
        SPLIT,
        metavar="MODE",
        help="How to split: independent (default), dependency or directory.",
    ),
    Option("max_files", SPLIT, "Most files in a leaf. Default: 25.", type=int, metavar="N"),
    Option(
        "max_tokens",
        SPLIT,
        type=int,
        metavar="N",
        help="Most tokens in a leaf, roughly. Default: 60,000.",
    ),
    Option(
        "min_files",
        SPLIT,
        type=int,
        metavar="N",
        help="Merge leaves that are smaller than this. Default: 2.",
    ),
    Option("max_depth", SPLIT, "Most levels of the tree. Default: 4.", type=int, metavar="N"),
    Option(
        "files",
        SPLIT,
        many=True,
        metavar="GLOB",
        help="Only these files. !GLOB excludes; - reads stdin. Repeatable.",
    ),
    Option("history", SPLIT, "Keep files together that past commits changed together.", type=bool),
    Option("spine", SPLIT, "Work on widely imported files first.", type=bool),
    Option(
        "parallel",
        SPLIT,
        type=int,
        metavar="N",
        help="Predict the speed-up with N at once. Default: 10.",
    ),
    Option("goal", SPLIT, "The goal, which is part of the ids.", metavar="TEXT"),
    Option("yes", ("run",), "Approve the plan without asking.", type=bool, flags=("--yes", "-y")),
    Option("dirty", ("run",), "Start from the work tree instead of HEAD.", type=bool),
    Option("rerun", ("run",), "Run failed sub-plans again.", metavar="failed"),
    Option("apply", ("run", "resume"), "Write the result to the work tree.", type=bool),
    Option(
        "bisect",
        ("run", "resume"),
        type=bool,
        help="If the check fails, find the sub-plans to leave out.",
    ),
    Option("branches", ("run", "resume"), "Leave one branch for each sub-plan, too.", type=bool),
    Option(
        "retry",
        ("resume",),
        metavar="LEAF",
        help="Try one sub-plan again: its title, or the start of its id.",
    ),
    Option("tell", ("resume",), "What to tell the sub-plan of --retry.", metavar="TEXT"),
    Option("rollback", ("resume",), "Undo --apply and remove the branches.", type=bool),
)
