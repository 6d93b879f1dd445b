"""What people mean by an option that fanwise does not have.

They know xargs, GNU parallel or make, so the answer goes by meaning: the nearest spelling of
`--retries` may be anything. Only what is clearly a typing error is answered by its spelling.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

ALIKE = 0.74
"""From here on two spellings are a typing error: `--dry-run` and `--run` are not."""

MAP: dict[str, str] = {
    "--jobs --max-procs --workers --concurrency --parallel --threads --max-parallel -w": (
        "Write -j N, or --cap N"
    ),
    "-L -N --max-lines --max-args --max-replace-args": "Write -n N",
    "-I -i --replace": "{} stands for the line already",
    "-a --arg-file": "Give the file on stdin: fanwise map ... < FILE",
    "-d --delimiter": "A line ends with a newline, or with -0 with NUL; `tr` makes either",
    "-r --no-run-if-empty": "Leave it out: without lines nothing runs",
    "-t --verbose -v": "--dry-run prints the commands, --tag says which line an output is of",
    "-p --interactive --confirm": "--dry-run prints the commands, and runs nothing",
    "--dryrun --simulate": "Write --dry-run",
    "-k --keep-order": "Leave it out: outputs are in the order of the lines",
    "-u --ungroup --group --lb --line-buffer --linebuffer": (
        "Leave it out: each output is whole, and comes as soon as the order allows"
    ),
    "--retries": "Write --retry N",
    "-e --fail-fast --exit-on-error --stop-on-error --halt-on-error": "Write --halt failure",
    "--tagstring": "Write --tag",
    "--silent": "Write --quiet",
    "--bar --progress --eta": "Leave it out: a terminal shows a line of progress",
    "--results --files --output -o --outdir": "Redirect stdout, or later: fanwise export RUN",
    "--resume --resume-failed --retry-failed": "fanwise resume RUN goes on with a run",
}
ANY: dict[str, str] = {
    "--dry-run --dryrun": "fanwise check FILE says what would run",
    "--verbose -v": "fanwise show RUN --items tells more of a run",
    "--quiet -q --silent": "Redirect stderr: 2> /dev/null",
    "--id --name --run-id": "Write --run ID",
    "--db --database --store --state": "Write --journal URL",
    "--output-format --format": "Write --json",
    "--no-color --no-colour --color --colour": "Set NO_COLOR=1 to have no colours",
    "--force -f": "A run whose owner cannot be seen: fanwise resume RUN --take-over",
    "--cap --jobs -j -P --workers --concurrency --parallel --threads": (
        "Caps are in the file; of fanwise map: --cap N"
    ),
    "--resume": "fanwise resume RUN goes on with a run",
}


def meaning(command: str, option: str, known: Iterable[str]) -> str | None:
    """What to do instead; None: nobody knows. `known`: the options that the command has."""
    for table in (MAP, ANY) if command == "map" else (ANY,):
        for words, answer in table.items():
            if option in words.split():
                return answer
    for near in get_close_matches(option, list(known), 1, ALIKE):
        return f"Did you mean {near}?"
    return None
