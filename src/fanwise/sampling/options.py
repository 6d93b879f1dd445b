"""The options of `fanwise sample`."""

from fanwise.system_options import Option

SAMPLE = ("sample",)

OPTIONS = (
    Option(
        name="model",
        commands=SAMPLE,
        flags=("--model", "-m"),
        metavar="PROVIDER:MODEL",
        required=True,
        help="The model to ask. Required.",
    ),
    Option(
        name="require",
        commands=SAMPLE,
        many=True,
        flags=("--require", "-r"),
        metavar="TEXT",
        help="A requirement in words, judged by the model. Repeatable.",
    ),
    Option(
        name="regex",
        commands=SAMPLE,
        many=True,
        metavar="PATTERN",
        help="A pattern the answer must contain. Repeatable.",
    ),
    Option(
        name="schema",
        commands=SAMPLE,
        metavar="FILE",
        help="A JSON schema the answer must match.",
    ),
    Option(
        name="command",
        commands=SAMPLE,
        many=True,
        metavar="CMD",
        help="Must exit with 0, given the answer on stdin. Repeatable.",
    ),
    Option(
        name="loop",
        commands=SAMPLE,
        type=int,
        metavar="N",
        help="Most samples per chain. Default: 3.",
    ),
    Option(
        name="wide",
        commands=SAMPLE,
        type=int,
        metavar="N",
        help="How many chains run at once. Default: 4, or 1 if nothing is required.",
    ),
    Option(
        name="strategy",
        commands=SAMPLE,
        metavar="NAME",
        help="rejection, repair (default), multi_turn, advice, best_of, majority or "
        "minimum_bayes_risk.",
    ),
    Option(
        name="winner",
        commands=SAMPLE,
        choices=("fastest", "first"),
        help="`first` wins by order instead of speed: the same result every time. Default: "
        "fastest.",
    ),
    Option(
        name="seed",
        commands=SAMPLE,
        type=int,
        metavar="N",
        help="A different seed gives different samples. Default: 0.",
    ),
    Option(
        name="temperature",
        commands=SAMPLE,
        type=float,
        metavar="NUMBER",
        help="Default: the provider's.",
    ),
    Option(
        name="max_tokens",
        commands=SAMPLE,
        type=int,
        metavar="N",
        help="Longest answer. Set it if you have a budget.",
    ),
    Option(
        name="usd",
        commands=SAMPLE,
        type=float,
        metavar="DOLLARS",
        help="Spend no more than this.",
    ),
    Option(
        name="deadline",
        commands=SAMPLE,
        type=float,
        metavar="SECONDS",
        help="Stop after this time with the best sample so far.",
    ),
    Option(
        name="record",
        commands=SAMPLE,
        metavar="FILE",
        help="Record every call in FILE, to use as --model replay:FILE.",
    ),
)
