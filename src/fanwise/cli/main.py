"""Where the command line starts, before anything that takes time to import.

Ctrl-C in the first tenths of a second gives a message and an exit code too, not a traceback. So
this module imports only what Python has loaded already.
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
    except OSError:  # nobody reads stderr
        pass
    return 130
