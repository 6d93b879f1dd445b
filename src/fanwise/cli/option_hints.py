"""What to use instead of an option that fanwise does not have.

People know xargs, GNU parallel and make, so the hint goes by what an option means there. The
nearest spelling is suggested only for what is clearly a typo.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

TYPO = "Did you mean"
ALIKE = 0.74
"""How similar two spellings must be to count as a typo; `--dry-run` and `--run` are not."""

MAP: dict[str, str] = {
    "--jobs --max-procs --workers --concurrency --parallel --threads --max-parallel -w": (
        "Write -j N, or --cap N"
    ),
    "-L -N --max-lines --max-args --max-replace-args": "Write -n N",
    "-I -i --replace": "{} already stands for the line",
    "-a --arg-file": "Give the file on stdin: fanwise map ... < FILE",
    "-d --delimiter": "Lines end with a newline, or with NUL if you pass -0; convert with `tr`",
    "-C --colsep --csv --header": "A line is one value: split it in the command, with cut or awk",
    "-S --sshlogin --sshloginfile --slf": "Other machines are workers of Ray: --on ray://HOST:PORT",
    "-X -m --xargs --pipe": "Write -n N for several lines in one command",
    "-r --no-run-if-empty": "Not needed: without lines nothing runs",
    "-t --verbose -v": "--dry-run prints the commands, --tag shows which line an output belongs to",
    "-p --interactive --confirm": "--dry-run prints the commands without running them",
    "--dryrun --simulate": "Write --dry-run",
    "-k --keep-order": "Not needed: outputs are in the order of the lines",
    "-u --ungroup --group --lb --line-buffer --linebuffer": (
        "Not needed: each output is printed in one piece, as soon as the order allows"
    ),
    "--retries": "Write --retry N",
    "-e --fail-fast --exit-on-error --stop-on-error --halt-on-error": "Write --halt failure",
    "--tagstring": "Write --tag",
    "--silent": "Write --quiet",
    "--bar --progress --eta": "Not needed: a terminal shows the progress",
    "--results --files --output -o --outdir": "Redirect stdout, or use: fanwise export RUN",
    "--resume --resume-failed --retry-failed": "Use: fanwise resume RUN",
}
ANY: dict[str, str] = {
    "--dry-run --dryrun": "Use: fanwise check FILE",
    "--verbose -v": "Use: fanwise show RUN --items",
    "--quiet -q --silent": "Redirect stderr: 2> /dev/null",
    "--id --name --run-id": "Write --run ID",
    "--db --database --store --state": "Write --journal URL",
    "--output-format --format": "Write --json",
    "--no-color --no-colour --color --colour": "Set NO_COLOR=1 to disable colours",
    "--force -f": "To resume a run that another machine may own: fanwise resume RUN --take-over",
    "--cap --jobs -j -P --workers --concurrency --parallel --threads": (
        "Caps are set in the file; for fanwise map: --cap N"
    ),
    "--resume": "Use: fanwise resume RUN",
}


def option_hint(command: str, option: str, known: Iterable[str]) -> str | None:
    """What to do instead, if that is known. `known`: the options of the command."""
    for table in (MAP, ANY) if command == "map" else (ANY,):
        for words, answer in table.items():
            if option in words.split():
                return answer
    for near in get_close_matches(option, list(known), 1, ALIKE):
        return f"{TYPO} {near}?"
    return None
