"""Where the command line begins: before anything that takes time to import.

A Ctrl-C in the first tenths of a second is one like any other: a line and an exit code.
"""

import contextlib
import os
import sys


def main() -> None:
    """Run the command line, and exit."""
    try:
        from fanwise.cli.app import run_and_flush

        code = run_and_flush(sys.argv[1:])
    except KeyboardInterrupt:
        code = _interrupted()
    sys.exit(code)


def _interrupted() -> int:
    with contextlib.suppress(OSError):  # nobody is there to read it
        os.write(2, b"fanwise: interrupted\n")
    return 130
