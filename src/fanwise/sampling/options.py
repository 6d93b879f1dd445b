"""The options of `fanwise sample`."""

from fanwise.system_options import declare

OPTIONS = (
    declare("sample", "--model -m PROVIDER:MODEL", "The model to ask. Required.", required=True),
    declare(
        "sample", "--require -r TEXT …", "A requirement in words, judged by the model. Repeatable."
    ),
    declare("sample", "--regex PATTERN …", "A pattern the answer must contain. Repeatable."),
    declare("sample", "--schema FILE", "A JSON schema the answer must match."),
    declare(
        "sample", "--command CMD …", "Must exit with 0, given the answer on stdin. Repeatable."
    ),
    declare("sample", "--loop N", "Most samples per chain. Default: 3."),
    declare(
        "sample",
        "--wide N",
        "How many chains run at once. Default: 4, or 1 if nothing is required.",
    ),
    declare(
        "sample",
        "--strategy NAME",
        "rejection, repair (default), multi_turn, best_of, budget_forcing, majority or "
        "minimum_bayes_risk.",
    ),
    declare(
        "sample",
        "--winner fastest|first",
        "`first` wins by order instead of speed: the same result every time. Default: fastest.",
    ),
    declare("sample", "--seed N", "A different seed gives different samples. Default: 0."),
    declare("sample", "--temperature NUMBER", "Default: the provider's."),
    declare("sample", "--max-tokens N", "Longest answer. Set it if you have a budget."),
    declare("sample", "--usd DOLLARS", "Spend no more than this."),
    declare("sample", "--deadline SECONDS", "Stop after this time with the best sample so far."),
    declare("sample", "--record FILE", "Record every call in FILE, to use as --model replay:FILE."),
)
