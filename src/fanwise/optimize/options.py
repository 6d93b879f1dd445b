"""The options of `fanwise optimize`, and of `run` and `resume` for optimize."""

from fanwise.system_options import declare

OPTIONS = (
    declare(
        "optimize",
        "--test -t LINE",
        "The test command, like `pytest -q tests`. Required.",
        required=True,
    ),
    declare("optimize", "--candidates -c GLOB …", "Candidate files. Repeatable."),
    declare("optimize", "--branches GLOB …", "Candidate branches. Repeatable."),
    declare("optimize", "--propose PROVIDER:MODEL", "Ask a model for candidates."),
    declare("optimize", "--propose-command LINE", "Ask a command for candidates."),
    declare("optimize", "-n N", "Number of first proposals. Default: 4."),
    declare("optimize", "--repair N", "Rounds of repairing failed candidates. Default: 0."),
    declare("optimize", "--refine N", "Rounds of refining the best candidates. Default: 0."),
    declare(
        "optimize", "--bench LINE", "Time this command. Default: the recorded calls of TARGET."
    ),
    declare("optimize", "--bench-call MODULE:FUNCTION", "Time this function."),
    declare("optimize", "--bench-budget SECONDS", "Longest timing of a candidate. Default: 60."),
    declare("optimize", "--accept RATIO", "The smallest speed-up that counts. Default: 1.05."),
    declare("optimize", "--allow-slower", "Accept what is slower for calls of some sizes, too."),
    declare("optimize", "--allow-repeated", "Accept what --bench shows for repeated calls only."),
    declare("optimize", "--strict", "Let differences in calls that nobody makes reject, too."),
    declare("optimize", "--allow NAME …", "Allow a difference, as a verdict names it. Repeatable."),
    declare("optimize", "--slots N", "Workspaces at once. Default: 4."),
    declare("optimize", "--repo FOLDER", "The repository. Default: the working directory."),
    declare("optimize", "--dirty", "Start from the work tree instead of HEAD."),
    declare("optimize", "--copy GLOB …", "Ignored files that the tests need. Repeatable."),
    declare(
        "optimize", "--timeout SECONDS", "Time-out of a command. Default: based on the original."
    ),
    declare("optimize", "--hot N", "Find the N most costly functions, and make each faster."),
    declare("optimize", "--hot-run LINE", "With --hot: profile this command instead of the tests."),
    declare(
        "optimize",
        "--python PATH",
        "The tests' interpreter or environment. Default: the active one, or .venv.",
    ),
    declare(
        "optimize", "--readable PATH …", "What the sandbox shows as well, by name. Repeatable."
    ),
    declare("optimize", "--no-sandbox", "Run candidates with your permissions and network."),
    declare("optimize", "--profile", "Profile the original and the winner line by line."),
    declare("optimize", "--usd DOLLARS", "Spend no more than this."),
    declare("optimize", "--seed N", "Seed for varied calls and their order."),
    declare("run resume optimize", "--apply", "Write the winner to the work tree."),
    declare("run resume optimize", "--branch NAME", "Commit the winner on a new branch."),
)
