"""What the command line tells the shell."""

DONE = 0
SOME_FAILED = 1
BAD_USAGE = 2
PAUSED = 3
"""At a gate: somebody has to decide."""
INTERRUPTED = 130
BROKEN_PIPE = 141
"""128 + SIGPIPE, as the shell shows a program that `| head` has cut off."""
