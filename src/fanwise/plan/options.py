"""The options of `fanwise split`, and of `run` and `resume` for a plan."""

from fanwise.system_options import declare

OPTIONS = (
    declare(
        "split", "--mode MODE", "How to split: independent (default), dependency or directory."
    ),
    declare("split", "--max-files N", "Most files in a leaf. Default: 25."),
    declare("split", "--max-tokens N", "Most tokens in a leaf, roughly. Default: 60,000."),
    declare("split", "--min-files N", "Merge leaves that are smaller than this. Default: 2."),
    declare("split", "--max-depth N", "Most levels of the tree. Default: 4."),
    declare(
        "split", "--files GLOB …", "Only these files. !GLOB excludes; - reads stdin. Repeatable."
    ),
    declare("split", "--parallel N", "Predict the speed-up with N at once. Default: 10."),
    declare("split", "--goal TEXT", "The goal, which is part of the ids."),
    declare("run", "--yes -y", "Approve the plan without asking."),
    declare("run", "--dirty", "Start from the work tree instead of HEAD."),
    declare("run", "--rerun failed", "Run failed sub-plans again."),
    declare("run resume", "--apply", "Write the result to the work tree."),
    declare("run resume", "--bisect", "If the check fails, find the sub-plans to leave out."),
    declare("run resume", "--branches", "Leave one branch for each sub-plan, too."),
    declare("resume", "--retry LEAF", "Try one sub-plan again: its title, or the start of its id."),
    declare("resume", "--tell TEXT", "What to tell the sub-plan of --retry."),
    declare("resume", "--rollback", "Undo --apply and remove the branches."),
)
