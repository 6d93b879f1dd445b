"""Where the command line begins: before anything that takes time to import.

A Ctrl-C in the first tenths of a second is one like any other: a line and an exit code. So this
imports only what Python has loaded by itself.
"""

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
    try:  # noqa: SIM105 - `contextlib` would be another import
        os.write(2, b"fanwise: interrupted\n")
    except OSError:  # nobody is there to read it
        pass
    return 130
