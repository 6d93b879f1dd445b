"""The options of `fanwise sample`."""

from fanwise.system_options import Option

SAMPLE = ("sample",)

OPTIONS = (
    Option(
        "model",
        SAMPLE,
        flags=("--model", "-m"),
        metavar="PROVIDER:MODEL",
        required=True,
        help="The model to ask. Required.",
    ),
    Option(
        "require",
        SAMPLE,
        many=True,
        flags=("--require", "-r"),
        metavar="TEXT",
        help="A requirement in words, judged by the model. Repeatable.",
    ),
    Option(
        "regex",
        SAMPLE,
        many=True,
        metavar="PATTERN",
        help="A pattern the answer must contain. Repeatable.",
    ),
    Option("schema", SAMPLE, "A JSON schema the answer must match.", metavar="FILE"),
    Option(
        "command",
        SAMPLE,
        many=True,
        metavar="CMD",
        help="Must exit with 0, given the answer on stdin. Repeatable.",
    ),
    Option("loop", SAMPLE, "Most samples per chain. Default: 3.", type=int, metavar="N"),
    Option(
        "wide",
        SAMPLE,
        type=int,
        metavar="N",
        help="How many chains run at once. Default: 4, or 1 if nothing is required.",
    ),
    Option(
        "strategy",
        SAMPLE,
        metavar="NAME",
        help="rejection, repair (default), multi_turn, advice, best_of, majority or "
        "minimum_bayes_risk.",
    ),
    Option(
        "winner",
        SAMPLE,
        choices=("fastest", "first"),
        help="`first` wins by order instead of speed: the same result every time. Default: "
        "fastest.",
    ),
    Option(
        "seed",
        SAMPLE,
        type=int,
        metavar="N",
        help="A different seed gives different samples. Default: 0.",
    ),
    Option("temperature", SAMPLE, "Default: the provider's.", type=float, metavar="NUMBER"),
    Option(
        "max_tokens", SAMPLE, "Longest answer. Set it if you have a budget.", type=int, metavar="N"
    ),
    Option("usd", SAMPLE, "Spend no more than this.", type=float, metavar="DOLLARS"),
    Option(
        "deadline",
        SAMPLE,
        type=float,
        metavar="SECONDS",
        help="Stop after this time with the best sample so far.",
    ),
    Option(
        "record",
        SAMPLE,
        metavar="FILE",
        help="Record every call in FILE, to use as --model replay:FILE.",
    ),
)
