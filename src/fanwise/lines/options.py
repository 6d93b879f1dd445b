"""The options that `fanwise map` and its resume take on the command line."""

from fanwise.system_options import declare

OPTIONS = (
    declare("map", "--cap -c -j -P N", "How many commands run at once. Default: 10."),
    declare("map", "-n N", "How many lines each command gets. Default: 1.", name="lines"),
    declare(
        "map",
        "--halt WHEN",
        "never (default); failure: stop at the first line that fails, like a loop; soon,fail=N: "
        "start nothing more after N failures; now,fail=N: also end what is in flight. Also "
        "success=N and done=N.",
    ),
    declare("map", "--retry N", "Extra attempts after a failure. Default: 0."),
    declare("map", "--timeout SECONDS", "Kill an attempt after this time."),
    declare(
        "map",
        "--key",
        "Identify lines by content, so that a resume can use an edited input. Every line must be "
        "different.",
    ),
    declare("map", "--null -0", "Input lines end with NUL instead of newline."),
    declare("map", "--shell", "Run CMD with /bin/sh; {} is quoted as one word."),
    declare("map", "--tag", "Prefix each line of output with its input line."),
    declare("map", "--joblog FILE", "Write a job log in GNU parallel's format."),
    declare("map", "--quiet -q", "No progress line and no list of failures."),
    declare(
        "resume",
        "--input FILE …",
        "The whole input again, if it was not read to its end; - is stdin.",
    ),
)
