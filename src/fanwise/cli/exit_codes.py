"""The exit codes of the command line."""

DONE = 0
SOME_FAILED = 1
BAD_USAGE = 2
PAUSED = 3
"""At a gate, until someone answers it."""
REFUTED = 4
"""The results are proven to miss what their file expects."""
INTERRUPTED = 130
BROKEN_PIPE = 141
"""128 + SIGPIPE, as for any program whose output `| head` no longer reads."""
